// Linear layers with quantised weights: each weight is an integer of 8 or 4 bits, and groups of
// neighbours along a row share a scale and, if wanted, a zero point:
//
//   weight = (integer - zero) * scale
//
// A step of decoding reads every weight once for a row or a few of activations, so the bytes of the
// weights determine its cost. They are never in memory in another form: `quantized_linear` is an op
// whose decomposition turns integers into numbers by pointwise ops, and these fuse into the product
// as its second operand (graph/regions/region.h).
//
// Two weights of 4 bits share a byte. A row is packed in blocks of 32 weights, 16 bytes: byte j of
// a block has weight j in its low half and weight 16 + j in its high half. So 16 bytes, which a
// thread of a GPU loads at once, become 32 neighbours along the row, and a vector of 16 bytes
// becomes two vectors of weights by a mask and a shift, without any exchange of lanes.
//
// Products of many rows, of prompts, cost multiplications rather than bytes. `Activations::int8`
// lets these multiply integers (dynamic quantisation): each row of x is rounded to 8 bits by its
// largest element as it comes, a row of weights to 8 bits with one scale, and sums are exact
// integers. Weights of 8 bits with a scale a row are multiplied as they are; those with groups, or
// of 4 bits, as multiples of a step that all groups of a row share, a fraction of the largest
// group's: nothing is lost where groups have one scale.
#pragma once

#include "graph/ir/options/weight_packing.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

enum class WeightFormat : std::uint8_t {
  int8,  // -127 to 127, zero point 0
  int4,  // 0 to 15, zero point 8, or one a group
};

// The treatment of x by a product of many rows.
enum class Activations : std::uint8_t {
  floating,  // multiplied in its dtype
  int8,      // rounded to 8 bits, row by row
};

// A weight [N, K] as `quantized_linear` takes it.
struct QuantizedWeight {
  Tensor values;  // i8 [N, K], or u8 [N, K / 2]
  Tensor scales;  // [N, K / group size]
  Tensor zeros;   // as the scales; undefined: 8 of 4 bits, 0 of 8 bits
  Activations activations = Activations::floating;
};

struct QuantizeOptions {
  WeightFormat format = WeightFormat::int8;
  std::int64_t group_size = 0;     // weights along a row that share a scale; 0: the row
  bool zero_points = false;        // one a group, of 4 bits only: for groups that are not about 0
  DType scale_dtype = DType::f32;  // or bf16, f16; an Error where it cannot hold a scale
  Activations activations = Activations::floating;
};

// The nearest integers by the largest weight of each group (by the least and the largest, where
// there are zero points). `weight` is concrete, floating, [N, K], and finite.
QuantizedWeight quantize(const Tensor& weight, const QuantizeOptions& options = {},
                         std::source_location w = std::source_location::current());

// x [.., K] and a weight [N, K] give [.., N], in the dtype of x. Sums are f32. For more than four
// rows weights are rounded to the dtype of x, which tensor cores take, or, with
// `Activations::int8`, both to integers of 8 bits: K must be at most 131,072 then.
Tensor quantized_linear(const TensorOperand& x, const QuantizedWeight& weight);

}  // namespace tilewright
