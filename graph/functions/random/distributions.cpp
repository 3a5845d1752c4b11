#include "graph/functions/random/distributions.h"

#include <cmath>
#include <numbers>

#include "graph/functions/indexing/searching.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/random/random.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// In (0, 1].
Tensor above_zero(const Shape& shape, const Generator& generator, source_location w) {
  return 1.0 - rand(shape, DType::f32, generator, w);
}

}  // namespace

Tensor exponential(const Shape& shape, double rate, DType dtype, const Generator& generator,
                   source_location w) {
  require(rate > 0, "[exponential] the rate is ", rate, " (at ", At{w}, "); it must be positive");
  return (log(above_zero(shape, generator, w)) / -rate).to(dtype);
}
Tensor geometric(const Shape& shape, double p, DType dtype, const Generator& generator,
                 source_location w) {
  require(p > 0 && p < 1, "[geometric] p is ", p, " (at ", At{w}, "); it must be between 0 and 1");
  return maximum(ceil(log(above_zero(shape, generator, w)) / std::log1p(-p)), 1.0).to(dtype);
}
Tensor cauchy(const Shape& shape, double median, double sigma, DType dtype,
              const Generator& generator, source_location w) {
  const Tensor angle = (above_zero(shape, generator, w) - 0.5) * std::numbers::pi;
  return (tan(angle) * sigma + median).to(dtype);
}
Tensor log_normal(const Shape& shape, double mean, double deviation, DType dtype,
                  const Generator& generator, source_location w) {
  return exp(normal(mean, deviation, shape, DType::f32, generator, w)).to(dtype);
}

Tensor multinomial(const TensorOperand& operand, std::int64_t count, bool replacement,
                   const Generator& generator) {
  const Tensor& given = graph::tensor_of(operand, "multinomial");
  require((given.rank() == 1 || given.rank() == 2) && is_floating(given.dtype()),
          "[multinomial] the weights are ", given.dtype(), " [", given.shape(), "] (at ",
          At{operand.where}, "); floats with one axis or two are wanted");
  const std::int64_t size = given.size(-1);
  require(count >= 1 && size >= 1 && (replacement || count <= size), "[multinomial] ", count,
          " draws of ", size, " elements (at ", At{operand.where},
          "); at least one, and without replacement no more than there are, are wanted");
  const Tensor weights = given.to(DType::f32);
  if (!replacement) {
    const Tensor waits =
        maximum(-log(1.0 - rand(weights.shape(), DType::f32, generator, operand.where)), 1e-30);
    return topk(where(weights > 0.0, weights / waits, -1.0), count, -1).second;
  }
  Shape sizes = weights.shape();
  sizes[weights.rank() - 1] = count;
  const Tensor sums = cumsum(weights, -1);
  const Tensor at =
      rand(sizes, DType::f32, generator, operand.where) * sums.slice(-1, size - 1, size);
  return minimum(searchsorted(sums, at, {.right = true}), size - 1);
}

}  // namespace tilewright
