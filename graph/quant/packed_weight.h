// A quantised weight in memory, a few bits for each element, and products with it.
//
// `packed_linear` decodes it by pointwise operations, which fuse into the loading of a product of
// few rows; for many rows, on the host, the weight is decoded into memory for the time of the
// product. A pair of codes of 4 bits lies in a byte, 32 neighbours of a row in 16 bytes
// (weight_packing.h); longer codes take a byte each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/quant/grouped_codes.h"
#include "graph/tensor/tensor.h"

namespace tilewright::quant {

struct PackedWeight {
  Format format = Format::q8_0;
  Shape shape;                    // [out, in]
  Tensor codes;                   // u8 [out, in / 2]; i8 or a float of 8 bits [out, in]
  Tensor scales, zeros, offsets;  // [out, groups]; undefined where the format has none
  Tensor order;                   // i64 [in], the column of each code; undefined: as they are
  std::vector<float> table;       // the values of 16 codes; empty: integers
  double centre = 0;              // subtracted from integers of 4 bits
  std::optional<DType> rounded;
  float factor = 1;

  std::vector<Tensor*> tensors();  // those that are defined
  std::int64_t bytes() const;
};

// None where columns do not come in whole groups and blocks: such a weight is expanded.
std::optional<PackedWeight> packed(const GroupedCodes& weight);

// The elements, f32 [out, in], in the order of the codes.
Tensor decoded(const PackedWeight& weight);
// x [.., in] -> [.., out], in the dtype of x. Sums are f32. For more than four rows, 16 in a
// function that is batch invariant, elements are rounded to the dtype of x, which tensor cores
// take.
Tensor packed_linear(const TensorOperand& x, const PackedWeight& weight);

}  // namespace tilewright::quant
