#include "graph/functions/attending/rotary.h"

#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

Tensor rotary_embedding(const TensorOperand& operand, const Tensor& cosines, const Tensor& sines,
                        bool interleaved) {
  const Tensor& x = graph::tensor_of(operand, "rotary_embedding");
  require(x.rank() == 4, "[rotary_embedding] x is [", x.shape(), "] (at ", At{operand.where},
          "); [batch, heads, steps, size] is wanted");
  const std::int64_t half = cosines.rank() == 3 ? cosines.size(2) : 0, size = x.size(3);
  require(sines.shape() == cosines.shape() && half >= 1 && 2 * half <= size &&
              (cosines.size(0) == 1 || cosines.size(0) == x.size(0)) &&
              cosines.size(1) == x.size(2),
          "[rotary_embedding] cosines [", cosines.shape(), "] and sines [", sines.shape(),
          "] for [", x.shape(), "] (at ", At{operand.where},
          "); [batch, steps, half of what is turned] is wanted");
  const Tensor cos = cosines.unsqueeze(1), sin = sines.unsqueeze(1);
  const Tensor turning = x.slice(3, 0, 2 * half);
  Tensor result;
  if (interleaved) {
    const Shape shape = turning.shape();
    const Tensor pairs = turning.reshape({shape[0], shape[1], shape[2], half, 2});
    const Tensor a = pairs.select(4, 0), b = pairs.select(4, 1);
    result =
        cat({(a * cos - b * sin).unsqueeze(4), (b * cos + a * sin).unsqueeze(4)}, 4).reshape(shape);
  } else {
    const Tensor a = turning.slice(3, 0, half), b = turning.slice(3, half, 2 * half);
    result = cat({a * cos - b * sin, b * cos + a * sin}, 3);
  }
  return 2 * half == size ? result : cat({result, x.slice(3, 2 * half, size)}, 3);
}

Tensor rotary_embedding(const TensorOperand& x, const Tensor& places, const Tensor& cos,
                        const Tensor& sin, bool interleaved) {
  require(cos.rank() == 2 && sin.shape() == cos.shape(), "[rotary_embedding] tables of cosines [",
          cos.shape(), "] and sines [", sin.shape(), "] (at ", At{x.where},
          "); matrices of one shape are wanted");
  return rotary_embedding(x, embedding({places, x.where}, cos), embedding({places, x.where}, sin),
                          interleaved);
}

}  // namespace tilewright
