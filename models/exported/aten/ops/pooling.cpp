// Means and maxima over windows, which lie regularly or divide an axis into a given number of
// parts.
#include "graph/functions/pooling/pooling.h"

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/pooling/adaptive_pooling.h"
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace pooling_rows {
namespace {

using Pair = std::pair<Tensor, Tensor>;

using AveragePool = Tensor (*)(const TensorOperand&, const Shape&, const AveragePoolOptions&);
template <AveragePool pool>
constexpr auto averaged = [](const Call& c) {
  AveragePoolOptions options{.stride = c.integers("stride", Shape{}),
                             .padding = c.integers("padding", Shape{}),
                             .ceil_mode = c.flag("ceil_mode", false),
                             .count_include_pad = c.flag("count_include_pad", true)};
  if (c.has("divisor_override")) options.divisor_override = c.integer("divisor_override");
  return pool(c.tensor("self"), c.integers("kernel_size"), options);
};

MaxPoolOptions max_options(const Call& call) {
  return {.stride = call.integers("stride", Shape{}),
          .padding = call.integers("padding", Shape{}),
          .dilation = call.integers("dilation", Shape{}),
          .ceil_mode = call.flag("ceil_mode", false)};
}
using MaxPool = Tensor (*)(const TensorOperand&, const Shape&, const MaxPoolOptions&);
template <MaxPool pool>
constexpr auto greatest =
    [](const Call& c) { return pool(c.tensor("self"), c.integers("kernel_size"), max_options(c)); };
using MaxPoolWithIndices = Pair (*)(const TensorOperand&, const Shape&, const MaxPoolOptions&);
template <MaxPoolWithIndices pool>
constexpr auto greatest_and_indices =
    [](const Call& c) { return pool(c.tensor("self"), c.integers("kernel_size"), max_options(c)); };

template <Tensor (*pool)(const TensorOperand&, const Shape&)>
constexpr auto averaged_parts =
    [](const Call& c) { return pool(c.tensor("self"), c.integers("output_size")); };
template <Pair (*pool)(const TensorOperand&, const Shape&)>
constexpr auto greatest_of_parts =
    [](const Call& c) { return pool(c.tensor("self"), c.integers("output_size")); };

// The shape without its last axes, and then these.
Shape with_last(const Tensor& x, int axes, const Shape& last) {
  Shape sizes(x.shape().begin(), x.shape().end() - axes);
  sizes.insert(sizes.end(), last.begin(), last.end());
  return sizes;
}

// Each element where it was taken from, by its number within an image; zeros elsewhere.
template <int axes>
Tensor put_back(const Call& call) {
  Tensor x = call.tensor("self"), indices = call.tensor("indices");
  const Shape sizes = call.integers("output_size");
  if constexpr (axes == 3) {  // which PyTorch has checked the size by
    call.has("stride");
    call.has("padding");
  }
  if (sizes.rank() != axes || x.rank() < axes || indices.shape() != x.shape())
    call.refuse("output_size", concat("is [", sizes, "], for a tensor [", x.shape(),
                                      "] and indices [", indices.shape(), "]"));
  Tensor all = zeros(with_last(x, axes, {element_count(sizes)}), x.dtype());
  const Shape flat = with_last(x, axes, {-1});
  return scatter(all, -1, indices.reshape(flat), x.reshape(flat))
      .reshape(with_last(x, axes, sizes));
}

// Where windows along an axis begin, by a random number between 0 and 1: [.., count]. The steps
// between them are one of two neighbouring integers, and the last one ends where the axis does.
Tensor starts(const Tensor& sample, std::int64_t size, std::int64_t window, std::int64_t count) {
  Tensor last = full(with_last(sample, 0, {1}), size - window, i64);
  if (count == 1) return last;
  const double step = static_cast<double>(size - window) / static_cast<double>(count - 1);
  Tensor one = sample.unsqueeze(-1);
  Tensor numbers = arange(0, count - 1).to(sample.dtype());
  Tensor from = ((numbers + one) * step).to(i64) - (one * step).to(i64);
  return cat({from, last}, -1);
}

// The greatest of windows that lie at random, and its number within the image.
template <int axes>
Pair greatest_at_random(const Call& call) {
  Tensor x = call.tensor("self"), samples = call.tensor("random_samples");
  const Shape kernel = call.integers("kernel_size"), sizes = call.integers("output_size");
  if (kernel.rank() != axes || sizes.rank() != axes || x.rank() < axes + 1 || samples.rank() != 3 ||
      samples.size(2) != axes)
    call.refuse("random_samples", concat("is [", samples.shape(), "], for a tensor [", x.shape(),
                                         "], windows [", kernel, "] and results [", sizes, "]"));
  const bool has_batch = x.rank() == axes + 2;
  if (!has_batch) x = x.unsqueeze(0);
  Tensor places = zeros({1, 1, 1, 1}, i64);  // [N, C, results so far, elements of a window so far]
  for (int i = 0; i < axes; ++i) {
    const std::int64_t size = x.size(2 + i);
    if (kernel[i] < 1 || sizes[i] < 1 || kernel[i] + sizes[i] - 1 > size)
      call.refuse("kernel_size", concat("is ", kernel[i], ", for ", sizes[i], " of ", size));
    Tensor sample = samples.select(2, axes == 2 ? 1 - i : i);
    Tensor along = starts(sample, size, kernel[i], sizes[i]).unsqueeze(3) + arange(0, kernel[i]);
    Tensor both = (places * size).unsqueeze(3).unsqueeze(5) + along.unsqueeze(2).unsqueeze(4);
    places = both.reshape({both.size(0), both.size(1), both.size(2) * both.size(3), -1});
  }
  Shape found = places.shape();
  found[0] = x.size(0);
  found[1] = x.size(1);
  Tensor flat = x.reshape({x.size(0), x.size(1), -1});
  places = places.expand(found).reshape({found[0], found[1], found[2] * found[3]});
  auto [values, numbers] = max(gather(flat, 2, places).reshape(found), 3, true);
  Tensor indices = gather(places.reshape(found), 3, numbers);
  const Shape result = with_last(has_batch ? x : x.select(0, 0), axes, sizes);
  return {values.reshape(result), indices.reshape(result)};
}

constexpr Operator rows[] = {
    {"aten.max_pool1d_with_indices.default", greatest_and_indices<max_pool1d_with_indices>},
    {"aten.max_unpool2d.default", by<put_back<2>>},
    {"aten.max_unpool3d.default", by<put_back<3>>},
    {"aten.fractional_max_pool2d.default", by<greatest_at_random<2>>},
    {"aten.fractional_max_pool3d.default", by<greatest_at_random<3>>},
    {"aten.avg_pool1d.default", averaged<avg_pool1d>},
    {"aten.avg_pool2d.default", averaged<avg_pool2d>},
    {"aten.avg_pool3d.default", averaged<avg_pool3d>},
    {"aten.adaptive_avg_pool1d.default", averaged_parts<adaptive_avg_pool1d>},
    {"aten.adaptive_avg_pool2d.default", averaged_parts<adaptive_avg_pool2d>},
    {"aten.adaptive_avg_pool3d.default", averaged_parts<adaptive_avg_pool3d>},
    {"aten._adaptive_avg_pool2d.default", averaged_parts<adaptive_avg_pool2d>},
    {"aten._adaptive_avg_pool3d.default", averaged_parts<adaptive_avg_pool3d>},
    {"aten.adaptive_max_pool1d.default", greatest_of_parts<adaptive_max_pool1d>},
    {"aten.adaptive_max_pool2d.default", greatest_of_parts<adaptive_max_pool2d>},
    {"aten.adaptive_max_pool3d.default", greatest_of_parts<adaptive_max_pool3d>},
    {"aten.max_pool1d.default", greatest<max_pool1d>},
    {"aten.max_pool2d.default", greatest<max_pool2d>},
    {"aten.max_pool3d.default", greatest<max_pool3d>},
    {"aten.max_pool2d_with_indices.default", greatest_and_indices<max_pool2d_with_indices>},
    {"aten.max_pool3d_with_indices.default", greatest_and_indices<max_pool3d_with_indices>},
    {"aten.max_pool2d_with_indices_backward.default",
     [](const Call& c) {
       return max_pool2d_with_indices_backward(c.tensor("grad_output"), c.tensor("self"),
                                               c.tensor("indices"), c.integers("kernel_size"),
                                               max_options(c));
     }},
};

}  // namespace
}  // namespace pooling_rows

std::span<const Operator> pooling_operators() { return pooling_rows::rows; }

}  // namespace tilewright::exported
