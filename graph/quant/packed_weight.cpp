#include "graph/quant/packed_weight.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/ir/options/batch_invariance.h"
#include "graph/ir/options/weight_packing.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright::quant {
namespace {

// Columns by group, equally many in each; none where that cannot be.
std::optional<std::vector<std::int64_t>> column_order(const GroupedCodes& w) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(w.columns));
  std::iota(order.begin(), order.end(), 0);
  if (w.group_of_column.empty()) return order;
  auto group = [&](std::int64_t column) {
    return std::int64_t{w.group_of_column[static_cast<std::size_t>(column)]};
  };
  std::ranges::stable_sort(order, {}, group);
  for (std::int64_t i = 0; i < w.columns; ++i)
    if (group(order[static_cast<std::size_t>(i)]) != i / w.group_columns) return std::nullopt;
  return order;
}

// One for each row and group of columns.
Tensor by_rows(const GroupedCodes& w, const std::vector<float>& values, DType dtype) {
  if (values.empty()) return {};
  const std::int64_t groups = w.groups_of_row();
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(w.rows * groups));
  for (std::int64_t row = 0; row < w.rows; ++row) {
    const auto first = values.begin() + row / w.group_rows * groups;
    all.insert(all.end(), first, first + groups);
  }
  const Tensor tensor = Tensor::from(all, {w.rows, groups});
  return dtype == DType::f32 ? tensor : tensor.to(dtype);
}

std::vector<std::uint8_t> ordered_codes(const GroupedCodes& w,
                                        const std::vector<std::int64_t>& order) {
  if (w.group_of_column.empty()) return w.codes;
  std::vector<std::uint8_t> codes(w.codes.size());
  for (std::int64_t row = 0; row < w.rows; ++row)
    for (std::int64_t i = 0; i < w.columns; ++i)
      codes[static_cast<std::size_t>(row * w.columns + i)] =
          w.codes[static_cast<std::size_t>(row * w.columns + order[static_cast<std::size_t>(i)])];
  return codes;
}

Tensor halves(const std::vector<std::uint8_t>& codes, const GroupedCodes& w) {
  std::vector<std::uint8_t> bytes(codes.size() / 2);
  constexpr std::size_t block = packed_block, half = packed_block / 2;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t low = i / half * block + i % half;
    bytes[i] = static_cast<std::uint8_t>(codes[low] | codes[low + half] << 4);
  }
  return Tensor::from(bytes, {w.rows, w.columns / 2});
}

// Integers of 0 to 255 become -128 to 127, and so do their zero points.
float shift_of(const GroupedCodes& w) {
  return !w.zeros.empty() && std::ranges::max(w.codes) > 127 && w.values[255] > 127 ? 128.0F : 0.0F;
}

// Codes of more than 4 bits, as the integers or the floats that they stand for.
Tensor whole(const std::vector<std::uint8_t>& codes, const GroupedCodes& w) {
  const Shape shape = {w.rows, w.columns};
  const auto count = std::ssize(codes);
  if (facts_of(w.format).values == Values::float8)
    return Tensor::from_bytes(codes.data(), count, shape, DType::f8e4m3);
  std::vector<std::int8_t> integers(codes.size());
  const float shift = shift_of(w);
  for (std::size_t i = 0; i < codes.size(); ++i)
    integers[i] = static_cast<std::int8_t>(w.values[codes[i]] - shift);
  return Tensor::from(integers, shape);
}

int longest_code(const GroupedCodes& w) {
  const std::uint8_t most = w.codes.empty() ? 0 : std::ranges::max(w.codes);
  return most < 16 ? 4 : 8;
}

// True if a code of 8 bits is an integer of 8 bits, or a float of them.
bool has_bytes(const GroupedCodes& w) {
  if (facts_of(w.format).values == Values::float8) return true;
  const float shift = shift_of(w);
  return std::ranges::all_of(w.codes, [&](std::uint8_t code) {
    const float value = w.values[code] - shift;
    return value == std::trunc(value) && value >= -128 && value <= 127;
  });
}

// The number of 16 that the bits of a code choose, by halves.
Tensor chosen(const Tensor& codes, const std::vector<float>& table) {
  std::vector<Tensor> level;
  const Tensor odd = bitwise_and(codes, 1) != 0;
  for (std::size_t i = 0; i < table.size(); i += 2)
    level.push_back(where(odd, static_cast<double>(table[i + 1]), static_cast<double>(table[i])));
  for (std::int64_t bit = 2; level.size() > 1; bit *= 2) {
    const Tensor is_set = bitwise_and(codes, bit) != 0;
    std::vector<Tensor> next;
    for (std::size_t i = 0; i < level.size(); i += 2)
      next.push_back(where(is_set, level[i + 1], level[i]));
    level = std::move(next);
  }
  return level[0];
}

// Codes of 4 bits, u8 [out, in].
Tensor four_bits(const Tensor& bytes) {
  const std::int64_t rows = bytes.size(0), half = packed_block / 2, blocks = bytes.size(1) / half;
  const Tensor shifts = arange(0, 8, 4, DType::u8).reshape({1, 1, 2, 1});
  const Tensor apart = bytes.reshape({rows, blocks, 1, half}).expand({rows, blocks, 2, half});
  return bitwise_and(shift_right(apart, shifts.expand({rows, blocks, 2, half})), 15)
      .reshape({rows, blocks * packed_block});
}

}  // namespace

std::vector<Tensor*> PackedWeight::tensors() {
  std::vector<Tensor*> all;
  for (Tensor* tensor : {&codes, &scales, &zeros, &offsets, &order})
    if (tensor->defined()) all.push_back(tensor);
  return all;
}

std::int64_t PackedWeight::bytes() const {
  std::int64_t sum = 0;
  for (const Tensor& tensor : {codes, scales, zeros, offsets, order})
    if (tensor.defined()) sum += tensor.count() * size_bytes(tensor.dtype());
  return sum;
}

std::optional<PackedWeight> packed(const GroupedCodes& w) {
  const bool fits = w.rows == w.shape[0] && w.columns % w.group_columns == 0;
  const auto order = fits ? column_order(w) : std::nullopt;
  const bool is_short = longest_code(w) == 4 && facts_of(w.format).values != Values::float8;
  if (!order || (is_short ? w.columns % packed_block != 0 : !has_bytes(w))) return std::nullopt;
  PackedWeight result;
  result.format = w.format;
  result.shape = w.shape;
  const std::vector<std::uint8_t> codes = ordered_codes(w, *order);
  result.codes = is_short ? halves(codes, w) : whole(codes, w);
  if (is_short && facts_of(w.format).values == Values::table)
    result.table.assign(w.values.begin(), w.values.begin() + 16);
  else if (is_short)
    result.centre = -w.values[0];
  result.scales = by_rows(w, w.scales, w.scale_dtype);
  std::vector<float> zeros = w.zeros;
  const float shift = is_short ? 0 : shift_of(w);
  for (float& zero : zeros) zero -= shift;
  result.zeros = by_rows(w, zeros, w.scale_dtype);
  result.offsets = by_rows(w, w.offsets, w.scale_dtype);
  if (!w.group_of_column.empty()) result.order = Tensor::from(*order, {w.columns});
  result.rounded = w.rounded;
  result.factor = w.factor;
  return result;
}

Tensor decoded(const PackedWeight& w) {
  const std::int64_t rows = w.shape[0], columns = w.shape[1], groups = w.scales.size(1);
  Tensor values;
  if (w.codes.dtype() != DType::u8)
    values = w.codes.to(DType::f32);
  else if (w.table.empty())
    values = four_bits(w.codes).to(DType::f32) - w.centre;
  else
    values = chosen(four_bits(w.codes), w.table);
  values = values.reshape({rows, groups, columns / groups});
  auto of_groups = [&](const Tensor& t) {
    return (t.dtype() == DType::f32 ? t : t.to(DType::f32)).reshape({rows, groups, 1});
  };
  if (w.zeros.defined()) values = values - of_groups(w.zeros);
  values = values * of_groups(w.scales);
  if (w.offsets.defined()) values = values + of_groups(w.offsets);
  if (w.rounded && *w.rounded != DType::f32) values = values.to(*w.rounded).to(DType::f32);
  if (w.factor != 1) values = values * static_cast<double>(w.factor);
  return values.reshape({rows, columns});
}

Tensor packed_linear(const TensorOperand& x, const PackedWeight& w) {
  const Tensor& given = graph::tensor_of(x, "packed_linear");
  require(given.rank() >= 1 && given.size(-1) == w.shape[1], "[packed_linear] x is ", given.shape(),
          "; its last axis must be ", w.shape[1]);
  const Tensor rows = w.order.defined() ? given.index_select(-1, w.order) : given;
  const DType dtype = given.dtype();
  const bool is_on_gpu = !w.codes.is_symbolic() && w.codes.device().is_cuda();
  const std::int64_t most = streamed_rows(graph::BatchInvariance::is_asked() && !is_on_gpu);
  const bool few = given.count() / given.size(-1) <= most || dtype == DType::f32;
  if (!few) return linear(rows, decoded(w).to(dtype));
  const Tensor y = linear(dtype == DType::f32 ? rows : rows.to(DType::f32), decoded(w));
  return dtype == DType::f32 ? y : y.to(dtype);
}

}  // namespace tilewright::quant
