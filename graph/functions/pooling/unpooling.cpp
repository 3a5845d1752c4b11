#include "graph/functions/pooling/unpooling.h"

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

namespace {

// The shape without its last axes, and then these.
Shape with_last(const Shape& shape, int axes, const Shape& last) {
  Shape sizes(shape.begin(), shape.end() - axes);
  sizes.insert(sizes.end(), last.begin(), last.end());
  return sizes;
}

Tensor put_back(const TensorOperand& operand, const Tensor& indices, const Shape& sizes, int axes,
                const char* name) {
  const Tensor& x = graph::tensor_of(operand, name);
  require(sizes.rank() == axes && x.rank() >= axes && indices.shape() == x.shape(), "[", name,
          "] the sizes are [", sizes, "], x [", x.shape(), "] and the indices [", indices.shape(),
          "] (at ", At{operand.where}, "); ", axes, " sizes and an index for each element are ",
          "wanted");
  const Tensor all = zeros(with_last(x.shape(), axes, {element_count(sizes)}), x.dtype());
  const Shape places(x.shape().end() - axes, x.shape().end());
  const Shape flat = with_last(x.shape(), axes, {element_count(places)});
  return scatter(all, -1, indices.reshape(flat), x.reshape(flat))
      .reshape(with_last(x.shape(), axes, sizes));
}

// Where windows along an axis begin, by a random number between 0 and 1: [.., count]. The last one
// ends where the axis does.
Tensor starts(const Tensor& sample, std::int64_t size, std::int64_t window, std::int64_t count) {
  const Tensor last = full(with_last(sample.shape(), 0, {1}), size - window, DType::i64);
  if (count == 1) return last;
  const double step = static_cast<double>(size - window) / static_cast<double>(count - 1);
  const Tensor one = sample.unsqueeze(-1);
  const Tensor numbers = arange(0, count - 1).to(sample.dtype());
  const Tensor from = ((numbers + one) * step).to(DType::i64) - (one * step).to(DType::i64);
  return cat({from, last}, -1);
}

std::pair<Tensor, Tensor> greatest_at_random(const TensorOperand& operand, const Shape& kernel,
                                             const Shape& sizes, const Tensor& samples, int axes,
                                             const char* name) {
  const Tensor& given = graph::tensor_of(operand, name);
  require(kernel.rank() == axes && sizes.rank() == axes && given.rank() >= axes + 1 &&
              given.rank() <= axes + 2 && samples.rank() == 3 && samples.size(2) == axes,
          "[", name, "] the random samples are [", samples.shape(), "], x [", given.shape(),
          "], the windows [", kernel, "] and the results [", sizes, "] (at ", At{operand.where},
          "); numbers [N, C, ", axes, "] and ", axes, " sizes each are wanted");
  const Tensor x = given.rank() == axes + 2 ? given : given.unsqueeze(0);
  Tensor places =
      zeros({1, 1, 1, 1}, DType::i64);  // [N, C, results so far, elements of a window so far]
  for (int i = 0; i < axes; ++i) {
    const std::int64_t size = x.size(2 + i);
    require(kernel[i] >= 1 && sizes[i] >= 1 && kernel[i] + sizes[i] - 1 <= size, "[", name, "] ",
            sizes[i], " windows of ", kernel[i], " along an axis of ", size, " (at ",
            At{operand.where}, "); they must fit with a step of 1");
    const Tensor sample = samples.select(2, axes == 2 ? 1 - i : i);
    const Tensor along =
        starts(sample, size, kernel[i], sizes[i]).unsqueeze(3) + arange(0, kernel[i]);
    const Tensor both = (places * size).unsqueeze(3).unsqueeze(5) + along.unsqueeze(2).unsqueeze(4);
    places = both.reshape({both.size(0), both.size(1), both.size(2) * both.size(3), -1});
  }
  Shape found = places.shape();
  found[0] = x.size(0);
  found[1] = x.size(1);
  const Tensor flat = x.reshape({x.size(0), x.size(1), -1});
  places = places.expand(found).reshape({found[0], found[1], found[2] * found[3]});
  auto [values, numbers] = max(gather(flat, 2, places).reshape(found), 3, true);
  const Tensor indices = gather(places.reshape(found), 3, numbers);
  const Shape result = with_last(given.shape(), axes, sizes);
  return {values.reshape(result), indices.reshape(result)};
}

}  // namespace

Tensor max_unpool1d(const TensorOperand& x, const Tensor& indices, const Shape& sizes) {
  return put_back(x, indices, sizes, 1, "max_unpool1d");
}
Tensor max_unpool2d(const TensorOperand& x, const Tensor& indices, const Shape& sizes) {
  if (const graph::AutocastCall cast("max_unpool2d", x.where); cast.is_listed())
    return max_unpool2d(cast(x), indices, sizes);
  return put_back(x, indices, sizes, 2, "max_unpool2d");
}
Tensor max_unpool3d(const TensorOperand& x, const Tensor& indices, const Shape& sizes) {
  if (const graph::AutocastCall cast("max_unpool3d", x.where); cast.is_listed())
    return max_unpool3d(cast(x), indices, sizes);
  return put_back(x, indices, sizes, 3, "max_unpool3d");
}
std::pair<Tensor, Tensor> fractional_max_pool2d(const TensorOperand& x, const Shape& kernel,
                                                const Shape& sizes, const Tensor& random_samples) {
  if (const graph::AutocastCall cast("fractional_max_pool2d", x.where); cast.is_listed())
    return fractional_max_pool2d(cast(x), kernel, sizes, random_samples);
  return greatest_at_random(x, kernel, sizes, random_samples, 2, "fractional_max_pool2d");
}
std::pair<Tensor, Tensor> fractional_max_pool3d(const TensorOperand& x, const Shape& kernel,
                                                const Shape& sizes, const Tensor& random_samples) {
  if (const graph::AutocastCall cast("fractional_max_pool3d", x.where); cast.is_listed())
    return fractional_max_pool3d(cast(x), kernel, sizes, random_samples);
  return greatest_at_random(x, kernel, sizes, random_samples, 3, "fractional_max_pool3d");
}

}  // namespace tilewright
