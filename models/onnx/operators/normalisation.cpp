// Norms of layers, groups and batches.
#include <algorithm>

#include "graph/functions/convolving/windows.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/reducing/norms.h"
#include "graph/functions/reducing/reductions.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace normalisation_rows {
namespace {

// Per channel, which is axis 1.
Tensor by_channel(const Tensor& values, int rank) {
  Shape along(static_cast<std::size_t>(rank), 1);
  along[1] = values.count();
  return values.reshape(along);
}

// Where it trains, by the statistics of this batch, with which the running ones are mixed.
// Parameters may be wider than x; all is computed in the wider type and rounded once. A list is a
// batch of one channel.
Results batch_normalised(const Call& call) {
  const Tensor given = call.tensor(0), weight = call.tensor(1), bias = call.tensor(2),
               mean_ = call.tensor(3), variance = call.tensor(4);
  double eps = call.number("epsilon", 1e-5), momentum = call.number("momentum", 0.9);
  require(given.rank() >= 1, "[onnx] [] has no channels; at least one axis is wanted");
  const Tensor x = given.rank() == 1 ? given.reshape({given.count(), 1}) : given;
  if (call.opset() < 9 && !call.flag("spatial", true)) call.refuse("spatial", "is not supported");
  if (!call.flag("training_mode", false))
    return {batch_norm_inference(x, mean_, variance, weight, bias, eps).reshape(given.shape())};
  std::vector<int> axes = {0};
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  auto [spread, centre] = var_mean(x.to(accumulator(x.dtype())), axes, 0);
  Tensor y = (x - by_channel(centre, x.rank())) / sqrt(by_channel(spread, x.rank()) + eps);
  y = y * by_channel(weight, x.rank()) + by_channel(bias, x.rank());
  auto mixed = [&](const Tensor& running, const Tensor& now) {
    return (running * momentum + now * (1 - momentum)).to(running.dtype());
  };
  return {y.to(x.dtype()).reshape(given.shape()), mixed(mean_, centre), mixed(variance, spread)};
}

Results layer_normalised(const Call& call) {
  Tensor x = call.tensor(0), weight = call.tensor(1), bias = call.optional_tensor(2);
  int axis = call.axis_within("axis", -1, x.rank());
  double eps = call.number("epsilon", 1e-5);
  call.integer("stash_type", 1);
  Shape last(x.shape().begin() + axis, x.shape().end());
  bool has_shape = weight.shape() == last && (!bias.defined() || bias.shape() == last);
  bool wants_statistics = call.wants(1) || call.wants(2);
  if (has_shape && !wants_statistics) return {layer_norm(x, last, weight, bias, eps)};
  std::vector<int> axes;
  for (int i = axis; i < x.rank(); ++i) axes.push_back(i);
  Tensor wide = x.to(accumulator(x.dtype()));
  auto [spread, centre] = var_mean(wide, axes, 0, true);
  Tensor rstd = rsqrt(spread + eps);
  Tensor y = (wide - centre) * rstd * weight;
  if (bias.defined()) y = y + bias;
  return {y.to(x.dtype()), centre, rstd};
}

// In the type of the weight, which may be another than that of x.
Tensor normalised_by_squares(const Call& call) {
  const Tensor x = call.tensor(0), weight = call.tensor(1);
  const int axis = call.axis_within("axis", -1, x.rank());
  const double eps = call.number("epsilon", 1e-5);
  const DType stash = call.dtype("stash_type", f32);
  if (!is_floating(stash) || size_bytes(stash) < 2)
    call.refuse("stash_type", "is no type of floats");
  const Shape last(x.shape().begin() + axis, x.shape().end());
  if (stash == f32 && weight.shape() == last && weight.dtype() == x.dtype())
    return rms_norm(x, last, weight, eps);
  std::vector<int> axes;
  for (int i = axis; i < x.rank(); ++i) axes.push_back(i);
  const Tensor wide = x.to(stash);
  const Tensor y = wide * rsqrt(mean(wide * wide, axes, true) + eps);
  return (y.to(x.dtype()) * weight).to(weight.dtype());
}

// Weights are one a group, or from operator set 21 on one a channel.
template <bool are_by_channel>
Tensor group_normalised(const Call& call) {
  Tensor x = call.tensor(0), weight = call.tensor(1), bias = call.tensor(2);
  std::int64_t groups = call.integer("num_groups");
  double eps = call.number("epsilon", 1e-5);
  call.integer("stash_type", 1);
  require(x.rank() >= 2 && groups > 0 && x.size(1) % groups == 0, "[onnx] ", groups,
          " groups of the channels of [", x.shape(), "]; axis 1 must be a multiple of the groups");
  if (are_by_channel) return group_norm(x, groups, weight, bias, eps);
  auto spread = [&](const Tensor& t) {
    return t.reshape({groups, 1}).expand({groups, x.size(1) / groups}).reshape({x.size(1)});
  };
  return group_norm(x, groups, spread(weight), spread(bias), eps);
}

// Over `size` channels around each, of which the odd one lies behind.
Tensor by_neighbours(const Call& call) {
  Tensor x = call.tensor(0);
  std::int64_t size = call.integer("size");
  double alpha = call.number("alpha", 1e-4), beta = call.number("beta", 0.75),
         bias = call.number("bias", 1);
  require(x.rank() >= 2 && size > 0 && size <= 4096, "[onnx] ", size, " channels of [", x.shape(),
          "]; a size from 1 to 4096, and channels as axis 1, are wanted");
  Shape before(static_cast<std::size_t>(x.rank()) - 1, 0), after = before;
  before[0] = (size - 1) / 2;
  after[0] = size / 2;
  const Tensor wide = x.to(accumulator(x.dtype())),
               around = graph::padded(wide * wide, graph::pads(before, after), 0.0);
  Tensor total;
  for (std::int64_t i = 0; i < size; ++i) {
    Tensor part = around.slice(1, i, i + x.size(1));
    total = total.defined() ? total + part : part;
  }
  return (wide / pow(total * (alpha / static_cast<double>(size)) + bias, beta)).to(x.dtype());
}

Tensor centred_and_scaled(const Call& call) {
  const Tensor x = call.tensor(0), wide = x.to(accumulator(x.dtype()));
  std::vector<int> axes = call.has("axes") ? call.axes("axes") : std::vector<int>{0, 2, 3};
  auto [spread, centre] = var_mean(wide, axes, 0, true);
  return ((wide - centre) / (sqrt(spread) + 1e-9)).to(x.dtype());
}
Tensor length_one(const Call& call) {
  const Tensor x = call.tensor(0), wide = x.to(accumulator(x.dtype()));
  int axis = call.axis_within("axis", -1, x.rank());
  const Tensor norm =
      linalg_vector_norm(wide, static_cast<double>(call.integer("p", 2)), {axis}, true);
  return where(norm == 0, 0, wide / norm).to(x.dtype());  // zeros alone stay such
}

constexpr Operator rows[] = {
    {"BatchNormalization", 7, by<batch_normalised>},
    {"GroupNormalization", 18, by<group_normalised<false>>},
    {"GroupNormalization", 21, by<group_normalised<true>>},
    {"InstanceNormalization", 6,
     [](const Call& c) {
       return instance_norm(c.tensor(0), c.tensor(1), c.tensor(2), c.number("epsilon", 1e-5));
     }},
    {"LRN", 1, by<by_neighbours>},
    {"LayerNormalization", 17, by<layer_normalised>},
    {"LpNormalization", 1, by<length_one>},
    {"MeanVarianceNormalization", 9, by<centred_and_scaled>},
    {"RMSNormalization", 23, by<normalised_by_squares>},
};

}  // namespace
}  // namespace normalisation_rows

std::span<const Operator> normalisation_operators() { return normalisation_rows::rows; }

}  // namespace tilewright::onnx
