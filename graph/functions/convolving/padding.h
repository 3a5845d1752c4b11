// torch.nn.functional.pad: elements added around a tensor, or cut off. Misuse raises `Error`; safe
// to call from several threads.
#pragma once

#include <cstdint>

#include "graph/tensor/tensor.h"

namespace tilewright {

enum class PadMode : std::uint8_t {
  constant,   // a number
  reflect,    // those inside, backwards, without the one at the edge: fewer than the axis has
  replicate,  // the one at the edge
  circular,   // those at the other end, as many as the axis has at most
};

// `pad` has the numbers of elements before and after the last axis, then of the one before it and
// so on. Negative ones cut; reflect still mirrors what is cut. The value is for constant ones.
Tensor pad(const TensorOperand& x, const Shape& pad, PadMode mode = PadMode::constant,
           const Number& value = 0);
Tensor pad(const TensorOperand& x, const Shape& pad, const Number& value);

}  // namespace tilewright
