// Means and maxima over windows, which lie regularly or divide an axis into a given number of
// parts.
#include "graph/functions/pooling/pooling.h"

#include "graph/functions/pooling/adaptive_pooling.h"
#include "graph/functions/pooling/unpooling.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace pooling_rows {
namespace {

using Pair = std::pair<Tensor, Tensor>;

using AveragePool = Tensor (*)(const TensorOperand&, const Sizes&, const AveragePoolOptions&);
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
using MaxPool = Tensor (*)(const TensorOperand&, const Sizes&, const MaxPoolOptions&);
template <MaxPool pool>
constexpr auto greatest =
    [](const Call& c) { return pool(c.tensor("self"), c.integers("kernel_size"), max_options(c)); };
using MaxPoolWithIndices = Pair (*)(const TensorOperand&, const Sizes&, const MaxPoolOptions&);
template <MaxPoolWithIndices pool>
constexpr auto greatest_and_indices =
    [](const Call& c) { return pool(c.tensor("self"), c.integers("kernel_size"), max_options(c)); };

template <Tensor (*pool)(const TensorOperand&, const Sizes&)>
constexpr auto averaged_parts =
    [](const Call& c) { return pool(c.tensor("self"), c.integers("output_size")); };
template <Pair (*pool)(const TensorOperand&, const Sizes&)>
constexpr auto greatest_of_parts =
    [](const Call& c) { return pool(c.tensor("self"), c.integers("output_size")); };

using Unpool = Tensor (*)(const TensorOperand&, const Tensor&, const Shape&);
template <Unpool unpool>
constexpr auto put_back = [](const Call& c) {
  c.has("stride");  // which PyTorch has checked the size by, of three axes
  c.has("padding");
  return unpool(c.tensor("self"), c.tensor("indices"), c.integers("output_size"));
};
using FractionalPool = Pair (*)(const TensorOperand&, const Shape&, const Shape&, const Tensor&);
template <FractionalPool pool>
constexpr auto greatest_at_random = [](const Call& c) {
  return pool(c.tensor("self"), c.integers("kernel_size"), c.integers("output_size"),
              c.tensor("random_samples"));
};

constexpr Operator rows[] = {
    {"aten.max_pool1d_with_indices.default", greatest_and_indices<max_pool1d_with_indices>},
    {"aten.max_unpool2d.default", put_back<max_unpool2d>},
    {"aten.max_unpool3d.default", put_back<max_unpool3d>},
    {"aten.fractional_max_pool2d.default", greatest_at_random<fractional_max_pool2d>},
    {"aten.fractional_max_pool3d.default", greatest_at_random<fractional_max_pool3d>},
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
};

}  // namespace
}  // namespace pooling_rows

std::span<const Operator> pooling_operators() { return pooling_rows::rows; }

}  // namespace tilewright::exported
