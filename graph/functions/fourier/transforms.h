// The transforms of torch.fft: over one axis, two or more, of other sizes than the operand's.
//
// A size, PyTorch's n or s, is how many elements of an axis go in: zeros are added at the end, or
// elements left out; -1 keeps the axis. Where a result is real the size is that of the result, by
// default 2 (m - 1) for m elements. Without axes, PyTorch's dim, transforms with an n in their name
// are over as many of the last axes as there are sizes, or over all. Operands are complex tensors
// or real ones. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/functions/complex/complex_tensor.h"

namespace tilewright {

// Which transforms are divided by the number of points: the inverse ones, or the forward ones; or
// both by its root.
enum class FourierNorm : std::uint8_t { backward, ortho, forward };

ComplexTensor fft(const ComplexOperand& x, std::optional<std::int64_t> n = {}, int axis = -1,
                  FourierNorm norm = FourierNorm::backward);
ComplexTensor ifft(const ComplexOperand& x, std::optional<std::int64_t> n = {}, int axis = -1,
                   FourierNorm norm = FourierNorm::backward);
// The first n / 2 + 1 results for a real operand; the others are their conjugates.
ComplexTensor rfft(const TensorOperand& x, std::optional<std::int64_t> n = {}, int axis = -1,
                   FourierNorm norm = FourierNorm::backward);
// The real results, of which the operand has the first n / 2 + 1 terms.
Tensor irfft(const ComplexOperand& x, std::optional<std::int64_t> n = {}, int axis = -1,
             FourierNorm norm = FourierNorm::backward);
// irfft and rfft with the signs of the exponents exchanged: to and from a real spectrum.
Tensor hfft(const ComplexOperand& x, std::optional<std::int64_t> n = {}, int axis = -1,
            FourierNorm norm = FourierNorm::backward);
ComplexTensor ihfft(const TensorOperand& x, std::optional<std::int64_t> n = {}, int axis = -1,
                    FourierNorm norm = FourierNorm::backward);

using FourierSizes = std::optional<Shape>;
using FourierAxes = std::optional<std::vector<int>>;
// Over several axes; that of halves is the last one named.
ComplexTensor fftn(const ComplexOperand& x, const FourierSizes& sizes = {},
                   const FourierAxes& axes = {}, FourierNorm norm = FourierNorm::backward);
ComplexTensor ifftn(const ComplexOperand& x, const FourierSizes& sizes = {},
                    const FourierAxes& axes = {}, FourierNorm norm = FourierNorm::backward);
ComplexTensor rfftn(const TensorOperand& x, const FourierSizes& sizes = {},
                    const FourierAxes& axes = {}, FourierNorm norm = FourierNorm::backward);
Tensor irfftn(const ComplexOperand& x, const FourierSizes& sizes = {}, const FourierAxes& axes = {},
              FourierNorm norm = FourierNorm::backward);
Tensor hfftn(const ComplexOperand& x, const FourierSizes& sizes = {}, const FourierAxes& axes = {},
             FourierNorm norm = FourierNorm::backward);
ComplexTensor ihfftn(const TensorOperand& x, const FourierSizes& sizes = {},
                     const FourierAxes& axes = {}, FourierNorm norm = FourierNorm::backward);

// Over the last two axes, unless others are named.
ComplexTensor fft2(const ComplexOperand& x, const FourierSizes& sizes = {},
                   const std::vector<int>& axes = {-2, -1},
                   FourierNorm norm = FourierNorm::backward);
ComplexTensor ifft2(const ComplexOperand& x, const FourierSizes& sizes = {},
                    const std::vector<int>& axes = {-2, -1},
                    FourierNorm norm = FourierNorm::backward);
ComplexTensor rfft2(const TensorOperand& x, const FourierSizes& sizes = {},
                    const std::vector<int>& axes = {-2, -1},
                    FourierNorm norm = FourierNorm::backward);
Tensor irfft2(const ComplexOperand& x, const FourierSizes& sizes = {},
              const std::vector<int>& axes = {-2, -1}, FourierNorm norm = FourierNorm::backward);

}  // namespace tilewright
