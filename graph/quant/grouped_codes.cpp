#include "graph/quant/grouped_codes.h"

#include <algorithm>
#include <cstring>
#include <span>

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

std::optional<GroupedCodes> stacked(const std::vector<GroupedCodes>& matrices) {
  const GroupedCodes& first = matrices.at(0);
  auto fits = [&](const GroupedCodes& w) {
    return w.format == first.format && w.shape == first.shape && w.rows == w.shape[0] &&
           w.columns == w.shape[1] && w.group_rows == first.group_rows &&
           w.rows % w.group_rows == 0 && w.group_columns == first.group_columns &&
           w.scale_dtype == first.scale_dtype && w.rounded == first.rounded &&
           w.factor == first.factor && w.group_of_column.empty() &&
           w.zeros.empty() == first.zeros.empty() && w.offsets.empty() == first.offsets.empty() &&
           std::memcmp(w.values.data(), first.values.data(), sizeof first.values) == 0;
  };
  if (!std::ranges::all_of(matrices, fits)) return std::nullopt;
  GroupedCodes all = first;
  for (const GroupedCodes& w : std::span(matrices).subspan(1)) {
    all.codes.insert(all.codes.end(), w.codes.begin(), w.codes.end());
    all.scales.insert(all.scales.end(), w.scales.begin(), w.scales.end());
    all.zeros.insert(all.zeros.end(), w.zeros.begin(), w.zeros.end());
    all.offsets.insert(all.offsets.end(), w.offsets.begin(), w.offsets.end());
    all.rows += w.rows;
  }
  all.shape[0] = all.rows;
  return all;
}

GroupedCodes alternate_rows(const GroupedCodes& w, std::int64_t first) {
  check(w.group_rows == 1 && w.rows == w.shape[0] && w.rows % 2 == 0, "groups go over rows");
  GroupedCodes half = w;
  half.rows = half.shape[0] = w.rows / 2;
  auto take = [&](auto& values, const auto& all) {
    const std::int64_t width = std::ssize(all) / w.rows;
    values.clear();
    for (std::int64_t row = first; row < w.rows; row += 2)
      values.insert(values.end(), all.begin() + row * width, all.begin() + (row + 1) * width);
  };
  take(half.codes, w.codes);
  take(half.scales, w.scales);
  take(half.zeros, w.zeros);
  take(half.offsets, w.offsets);
  return half;
}

}  // namespace tilewright::quant
