#include "graph/functions/normalising/mixed_norms.h"

#include "graph/functions/reducing/reductions.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

const Tensor& floats_of(const TensorOperand& x, std::string_view operation) {
  const Tensor& given = graph::tensor_of(x, operation);
  require(is_floating(given.dtype()), "[", operation, "] x is ", given.dtype(), " (at ",
          At{x.where}, "); it must be floating: convert with to(f32)");
  return given;
}
std::vector<int> axes_from(int first, const Tensor& x, source_location w) {
  require(first >= 0 && first < x.rank(), "[norm] x is ", x.shape(), " and the axis ", first,
          " (at ", At{w}, "); the axis must be one of x");
  std::vector<int> axes;
  for (int axis = first; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace

NormResult mixed_layer_norm(const TensorOperand& x, int axis, const Tensor& weight,
                            const Tensor& bias, double eps) {
  return graph::of_user_call("layer_norm", x.where, [&] {
    const Tensor& given = floats_of(x, "layer_norm");
    const Tensor wide = given.to(accumulator(given.dtype()));
    auto [spread, centre] = var_mean(wide, axes_from(axis, given, x.where), 0, true);
    const Tensor rstd = rsqrt(spread + eps);
    Tensor y = (wide - centre) * rstd * weight;
    if (bias.defined()) y = y + bias;
    return NormResult{y.to(given.dtype()), centre, rstd};
  });
}

RmsNormResult mixed_rms_norm(const TensorOperand& x, int axis, const Tensor& weight,
                             const MixedRmsNormOptions& options) {
  return graph::of_user_call("rms_norm", x.where, [&] {
    const Tensor& given = floats_of(x, "rms_norm");
    const Tensor wide = given.to(options.computed_in.value_or(accumulator(given.dtype()))),
                 rstd =
                     rsqrt(mean(wide * wide, axes_from(axis, given, x.where), true) + options.eps),
                 normal = wide * rstd;
    if (!options.has_dtype_of_weight)
      return RmsNormResult{(normal * weight).to(given.dtype()), rstd};
    return RmsNormResult{(normal.to(given.dtype()) * weight).to(weight.dtype()), rstd};
  });
}

BatchNormResult mixed_batch_norm(const TensorOperand& x, const Tensor& weight, const Tensor& bias,
                                 const Tensor& running_mean, const Tensor& running_variance,
                                 const MixedBatchNormOptions& options) {
  return graph::of_user_call("batch_norm", x.where, [&] {
    const Tensor& given = floats_of(x, "batch_norm");
    require(given.rank() >= 2, "[batch_norm] x is ", given.shape(), " (at ", At{x.where},
            "); it must be [N, C, ..]");
    std::vector<int> axes = {0};
    for (int axis = 2; axis < given.rank(); ++axis) axes.push_back(axis);
    auto by_channel = [&](const Tensor& values) {
      Shape along(static_cast<std::size_t>(given.rank()), 1);
      along[1] = values.count();
      return values.reshape(along);
    };
    auto moved = [&](const Tensor& running, const Tensor& now) {
      return (running * options.kept + now * (1 - options.kept)).to(running.dtype());
    };
    auto [spread, centre] = var_mean(given.to(accumulator(given.dtype())), axes, 0);
    const Tensor normal = (given - by_channel(centre)) / sqrt(by_channel(spread) + options.eps);
    const Tensor y = normal * by_channel(weight) + by_channel(bias);
    return BatchNormResult{y.to(given.dtype()),
                           centre,
                           {},
                           moved(running_mean, centre),
                           moved(running_variance, spread)};
  });
}

Tensor mean_variance_norm(const TensorOperand& x, const std::vector<int>& axes) {
  return graph::of_user_call("mean_variance_norm", x.where, [&] {
    const Tensor& given = floats_of(x, "mean_variance_norm");
    const Tensor wide = given.to(accumulator(given.dtype()));
    auto [spread, centre] = var_mean(wide, axes, 0, true);
    return ((wide - centre) / (sqrt(spread) + 1e-9)).to(given.dtype());
  });
}

Tensor normalize_or_zero(const TensorOperand& x, double order, int axis) {
  return graph::of_user_call("normalize", x.where, [&] {
    const Tensor& given = floats_of(x, "normalize");
    const Tensor wide = given.to(accumulator(given.dtype())),
                 norm = linalg_vector_norm(wide, order, {axis}, true);
    return where(norm == 0, 0, wide / norm).to(given.dtype());
  });
}

}  // namespace tilewright
