#include "models/layers/norms.h"

#include <string_view>

#include "graph/functions/creation.h"
#include "graph/functions/reducing/norms.h"
#include "graph/ir/location.h"
#include "models/layers/random.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using std::source_location;

void require_channels(std::string_view name, const std::string& path, const Tensor& x, int rank,
                      std::int64_t channels, source_location w) {
  require(x.defined() && x.rank() >= rank && x.size(1) == channels, "[", name, "] ", path,
          path.empty() ? "" : ": ", "the input is ",
          x.defined() ? to_string(x.shape()) : std::string("an undefined tensor"), " (at ",
          graph::At{w}, "); it must be [N, ", channels, rank == 2 ? ", ..]" : ", sizes..]");
}

Tensor filled(std::int64_t channels, double value, const LayerOptions& options, DType dtype) {
  Tensor tensor = Tensor::empty({channels}, dtype, options.device);
  if (options.init == Init::random) fill_value(tensor, value);
  return tensor;
}

}  // namespace

BatchNorm::BatchNorm(std::int64_t channels, const BatchNormLayerOptions& options, source_location w)
    : channels_(channels), options_(options) {
  require(channels > 0, "[batch_norm] there are ", channels, " channels (at ", describe(w),
          "); there must be one");
  if (options.affine) {
    weight = filled(channels, 1, options.layer, options.layer.dtype);
    bias = filled(channels, 0, options.layer, options.layer.dtype);
    register_parameter("weight", weight);
    register_parameter("bias", bias);
  }
  if (!options.track_running_stats) return;
  running_mean = filled(channels, 0, options.layer, options.layer.dtype);
  running_var = filled(channels, 1, options.layer, options.layer.dtype);
  num_batches_tracked = zeros({}, i64).clone();
  if (options.layer.device != Device::cpu()) num_batches_tracked.move_to(options.layer.device);
  register_buffer("running_mean", running_mean);
  register_buffer("running_var", running_var);
  register_buffer("num_batches_tracked", num_batches_tracked);
}

void BatchNorm::train(bool is_training) {
  is_training_ = is_training;
  Module::train(is_training);
}

Tensor BatchNorm::forward(const Tensor& x, source_location w) const {
  require_channels("batch_norm", path(), x, 2, channels_, w);
  if (is_training_.get(w)) return trained(x, w);
  return batch_norm({x, w}, running_mean, running_var, weight, bias, !running_mean.defined(),
                    {.eps = options_.eps});
}

Tensor BatchNorm::trained(const Tensor& x, source_location w) const {
  const BatchNormOptions all{.momentum = options_.momentum.value_or(1), .eps = options_.eps};
  if (!running_mean.defined()) return batch_norm({x, w}, {}, {}, weight, bias, true, all);
  Tensor count = num_batches_tracked;
  count.copy_from(count + 1);
  if (options_.momentum)
    return batch_norm({x, w}, running_mean, running_var, weight, bias, true, all);
  // With a momentum of 1 the running statistics would become the batch's.
  const BatchNormResult result =
      batch_norm_training({x, w}, weight, bias, running_mean, running_var, all);
  const Tensor share = 1.0 / count.to(running_mean.dtype());
  Tensor mean = running_mean, variance = running_var;
  mean.copy_from(mean + (result.running_mean - mean) * share);
  variance.copy_from(variance + (result.running_variance - variance) * share);
  return result.output;
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, double eps, bool affine,
                     const LayerOptions& options, source_location w)
    : groups_(groups), channels_(channels), eps_(eps) {
  require(groups > 0 && channels > 0 && channels % groups == 0, "[group_norm] ", channels,
          " channels in ", groups, " groups (at ", describe(w),
          "); both are above 0, and the groups divide the channels");
  if (!affine) return;
  weight = filled(channels, 1, options, options.dtype);
  bias = filled(channels, 0, options, options.dtype);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}

Tensor GroupNorm::forward(const Tensor& x, source_location w) const {
  require_channels("group_norm", path(), x, 2, channels_, w);
  return group_norm({x, w}, groups_, weight, bias, eps_);
}

InstanceNorm::InstanceNorm(std::int64_t channels, double eps, bool affine,
                           const LayerOptions& options, source_location w)
    : channels_(channels), eps_(eps) {
  require(channels > 0, "[instance_norm] there are ", channels, " channels (at ", describe(w),
          "); there must be one");
  if (!affine) return;
  weight = filled(channels, 1, options, options.dtype);
  bias = filled(channels, 0, options, options.dtype);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}

Tensor InstanceNorm::forward(const Tensor& x, source_location w) const {
  require_channels("instance_norm", path(), x, 3, channels_, w);
  return instance_norm({x, w}, weight, bias, eps_);
}

}  // namespace tilewright
