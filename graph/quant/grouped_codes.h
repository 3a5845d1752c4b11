// A quantised weight taken apart: a code for each element, the value of each code, and what groups
// of elements share. All formats (formats.def) come to this, whatever their packing:
//
//   element = round((value[code] - zero) * scale + offset) * factor
//
// Each step is one operation of f32, in this order, so that the results are those of the formats'
// own readers to the bit. Packed weights (packed_weight.h) are made from it, and dense ones.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/quant/format.h"
#include "graph/tensor/tensor.h"

namespace tilewright::quant {

using ValueTable = std::array<float, 256>;
ValueTable integers_from(int first);  // first, first + 1, ..
ValueTable signed_bytes();            // 0 to 127, -128 to -1
ValueTable float8_values(DType dtype);
ValueTable table_of(std::span<const float> values);

struct GroupedCodes {
  Format format = Format::q8_0;
  Shape shape;                         // of the weight: [rows, columns]
  std::int64_t rows = 0, columns = 0;  // among which elements are grouped; as many as in the shape
  std::vector<std::uint8_t> codes;     // [rows, columns]
  ValueTable values = {};
  std::int64_t group_rows = 1, group_columns = 0;
  // One for each group, [ceil(rows / group_rows), ceil(columns / group_columns)]. Zeros and offsets
  // are empty where the format has none.
  std::vector<float> scales, zeros, offsets;
  DType scale_dtype = DType::f32;  // holds all scales, zeros and offsets
  // The group of each column, where neighbours are not in one group; else empty.
  std::vector<std::int32_t> group_of_column;
  std::optional<DType> rounded;  // the type to which elements are rounded before the factor
  float factor = 1;

  std::int64_t groups_of_row() const { return (columns + group_columns - 1) / group_columns; }
};

// Matrices one below the other, as one; nothing where they differ in more than codes and scales, or
// do not end with whole groups.
std::optional<GroupedCodes> stacked(const std::vector<GroupedCodes>& matrices);
// Every second row of a matrix whose groups lie in rows, from `first` on.
GroupedCodes alternate_rows(const GroupedCodes& weight, std::int64_t first);

// All elements, f32, of the weight's shape.
Tensor decoded(const GroupedCodes& weight);

}  // namespace tilewright::quant
