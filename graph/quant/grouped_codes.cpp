#include "graph/quant/grouped_codes.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::quant {

ValueTable integers_from(int first) {
  ValueTable values;
  for (int code = 0; code < 256; ++code)
    values[static_cast<std::size_t>(code)] = static_cast<float>(first + code);
  return values;
}

ValueTable signed_bytes() {
  ValueTable values;
  for (int code = 0; code < 256; ++code)
    values[static_cast<std::size_t>(code)] =
        static_cast<float>(static_cast<std::int8_t>(static_cast<std::uint8_t>(code)));
  return values;
}

ValueTable float8_values(DType dtype) {
  ValueTable values;
  for (std::size_t code = 0; code < 256; ++code)
    values[code] = static_cast<float>(value_of_bits(dtype, code));
  return values;
}

ValueTable table_of(std::span<const float> from) {
  check(from.size() <= 256, "a table of more values than a byte has codes");
  ValueTable values = {};
  std::ranges::copy(from, values.begin());
  return values;
}

Tensor decoded(const GroupedCodes& w) {
  check(std::ssize(w.codes) == w.rows * w.columns && element_count(w.shape) == w.rows * w.columns,
        "a weight with another number of codes than of elements");
  Tensor result = Tensor::empty(w.shape, DType::f32);
  auto* to = static_cast<float*>(result.data());
  const std::int64_t groups = w.groups_of_row();
  for (std::int64_t row = 0; row < w.rows; ++row) {
    const std::int64_t first = row / w.group_rows * groups;
    for (std::int64_t column = 0; column < w.columns; ++column, ++to) {
      const std::int64_t of_column = w.group_of_column.empty()
                                         ? column / w.group_columns
                                         : w.group_of_column[static_cast<std::size_t>(column)];
      const auto group = static_cast<std::size_t>(first + of_column);
      float value = w.values[w.codes[static_cast<std::size_t>(row * w.columns + column)]];
      if (!w.zeros.empty()) value -= w.zeros[group];
      value *= w.scales[group];
      if (!w.offsets.empty()) value += w.offsets[group];
      if (w.rounded) value = static_cast<float>(rounded_to(*w.rounded, value));
      *to = w.factor == 1 ? value : value * w.factor;
    }
  }
  return result;
}

}  // namespace tilewright::quant
