// Norms of layers, groups and batches.
#include "graph/functions/normalising/mixed_norms.h"
#include "graph/functions/reducing/norms.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace normalisation_rows {
namespace {

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
  const BatchNormResult y =
      mixed_batch_norm(x, weight, bias, mean_, variance, {.kept = momentum, .eps = eps});
  return {y.output.reshape(given.shape()), y.running_mean, y.running_variance};
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
  const NormResult y = mixed_layer_norm(x, axis, weight, bias, eps);
  return {y.output, y.mean, y.rstd};
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
  return mixed_rms_norm(x, axis, weight,
                        {.eps = eps, .computed_in = stash, .has_dtype_of_weight = true})
      .output;
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
  return local_response_norm(x, size,
                             {.alpha = alpha, .beta = beta, .k = bias, .more_behind = true});
}

Tensor centred_and_scaled(const Call& call) {
  return mean_variance_norm(call.tensor(0),
                            call.has("axes") ? call.axes("axes") : std::vector<int>{0, 2, 3});
}
Tensor length_one(const Call& call) {
  const Tensor x = call.tensor(0);
  const int axis = call.axis_within("axis", -1, x.rank());
  return normalize_or_zero(x, static_cast<double>(call.integer("p", 2)), axis);
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
