#include "graph/functions/derivatives/norms.h"

#include <algorithm>
#include <vector>

#include "graph/functions/named/rules.h"
#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

std::vector<int> axes_between(int begin, int end) {
  std::vector<int> axes;
  for (int axis = begin; axis < end; ++axis) axes.push_back(axis);
  return axes;
}

// The gradient of x where it was normalised along `axes`; `gradient` with the weight.
Tensor through_norm(const Tensor& gradient, const Tensor& normalised, const Tensor& rstd,
                    const std::vector<int>& axes) {
  return rstd * (gradient - mean(gradient, axes, true) -
                 normalised * mean(gradient * normalised, axes, true));
}

DType dtype_of(const Tensor& weight, const Tensor& x) {
  return weight.defined() ? weight.dtype() : x.dtype();
}
void require_as_many(const char* name, const Tensor& gradient, const Tensor& x, source_location w) {
  require(gradient.count() == x.count() && is_floating(x.dtype()), "[", name, "] the gradient is [",
          gradient.shape(), "], x ", x.dtype(), " [", x.shape(), "] (at ", At{w},
          "); both must be floating and of as many elements");
}

// Along the axis, of which a tensor without axes has one of one element.
template <typename Gradient>
Tensor along_axis(const char* name, const Tensor& gradient, const Tensor& y,
                  std::optional<DType> dtype, source_location w, const Gradient& gradient_of) {
  require_as_many(name, gradient, y, w);
  const DType wide = accumulator(y.dtype());
  const Shape& shape = y.shape();
  auto open = [&](const Tensor& t) { return (shape.rank() == 0 ? t.reshape({1}) : t).to(wide); };
  return gradient_of(open(gradient), open(y)).reshape(shape).to(dtype.value_or(gradient.dtype()));
}

}  // namespace

OperandGradients layer_norm_backward(const Tensor& gradient, const LayerNormOperands& o,
                                     const WantedGradients& wanted, source_location w) {
  require_as_many("layer_norm_backward", gradient, o.x, w);
  const Shape& last = o.normalized_shape;
  const int outer = o.x.rank() - last.rank();
  require(outer >= 0 && std::equal(last.begin(), last.end(), o.x.shape().begin() + outer),
          "[layer_norm_backward] the normalized shape is [", last, "], of a tensor [", o.x.shape(),
          "] (at ", At{w}, "); it must be that of the last axes");
  const DType wide = accumulator(o.x.dtype());
  Shape of_rows(o.x.shape().begin(), o.x.shape().begin() + outer);
  of_rows.resize(o.x.shape().size(), 1);
  const Tensor rstd = o.rstd.to(wide).reshape(of_rows), given = gradient.to(wide),
               normalised = (o.x.to(wide) - o.mean.to(wide).reshape(of_rows)) * rstd;
  const std::vector<int> rows = axes_between(0, outer);
  auto over_rows = [&](const Tensor& all, DType dtype) {
    return (rows.empty() ? all : sum(all, rows)).to(dtype);
  };
  OperandGradients result;
  if (wanted.x) {
    const Tensor weighted = o.weight.defined() ? given * o.weight.to(wide) : given;
    result.x =
        through_norm(weighted, normalised, rstd, axes_between(outer, o.x.rank())).to(o.x.dtype());
  }
  if (wanted.weight) result.weight = over_rows(given * normalised, dtype_of(o.weight, o.x));
  if (wanted.bias)
    result.bias = over_rows(given, dtype_of(o.bias.defined() ? o.bias : o.weight, o.x));
  return result;
}

OperandGradients group_norm_backward(const Tensor& gradient, const GroupNormOperands& o,
                                     const WantedGradients& wanted, source_location w) {
  require_as_many("group_norm_backward", gradient, o.x, w);
  require(o.x.rank() >= 2 && o.groups >= 1 && o.x.size(1) % o.groups == 0, "[group_norm_backward] ",
          o.groups, " groups of a tensor [", o.x.shape(), "] (at ", At{w},
          "); they must divide the channels, its axis 1");
  const std::int64_t batch = o.x.size(0), channels = o.x.size(1), each = channels / o.groups;
  const DType wide = accumulator(o.x.dtype());
  const std::int64_t places = o.x.count() / std::max<std::int64_t>(batch * channels, 1);
  const Shape parts = {batch, o.groups, each, places};
  auto apart = [&](const Tensor& all) { return all.to(wide).reshape(parts); };
  auto of_groups = [&](const Tensor& t) { return t.to(wide).reshape({batch, o.groups, 1, 1}); };
  const Tensor given = apart(gradient), rstd = of_groups(o.rstd),
               normalised = (apart(o.x) - of_groups(o.mean)) * rstd;
  auto of_channels = [&](const Tensor& all) {
    return sum(all, {0, 3}).reshape({channels}).to(dtype_of(o.weight, o.x));
  };
  OperandGradients result;
  if (wanted.x) {
    const Tensor weighted =
        o.weight.defined() ? given * o.weight.to(wide).reshape({o.groups, each, 1}) : given;
    result.x =
        through_norm(weighted, normalised, rstd, {2, 3}).reshape(o.x.shape()).to(o.x.dtype());
  }
  if (wanted.weight) result.weight = of_channels(given * normalised);
  if (wanted.bias) result.bias = of_channels(given);
  return result;
}

OperandGradients batch_norm_backward(const Tensor& gradient, const BatchNormOperands& o,
                                     const WantedGradients& wanted, source_location w) {
  require_as_many("batch_norm_backward", gradient, o.x, w);
  require(o.x.rank() >= 2, "[batch_norm_backward] x is [", o.x.shape(), "] (at ", At{w},
          "); channels are its axis 1");
  const DType wide = accumulator(o.x.dtype());
  Shape of_channels(o.x.shape().size(), 1);
  of_channels[1] = o.x.size(1);
  auto channel = [&](const Tensor& t) { return t.to(wide).reshape(of_channels); };
  std::vector<int> others = axes_between(2, o.x.rank());
  others.insert(others.begin(), 0);
  require(o.training ? o.rstd.defined() : o.variance.defined(), "[batch_norm_backward] ",
          o.training ? "the inverse deviation" : "the variance", " is undefined (at ", At{w},
          "); it is wanted ", o.training ? "in training" : "outside of training");
  const Tensor given = gradient.to(wide),
               rstd = o.training ? channel(o.rstd) : rsqrt(channel(o.variance) + o.eps),
               normalised = (o.x.to(wide) - channel(o.mean)) * rstd;
  // The sums of each channel, in one pass over x for both.
  const Tensor of_bias = sum(given, others, true),
               of_weight = sum(given * normalised, others, true);
  auto parameter = [&](const Tensor& all) {
    return all.reshape({o.x.size(1)}).to(dtype_of(o.weight, o.x));
  };
  OperandGradients result;
  if (wanted.x) {
    const double part = 1.0 / static_cast<double>(o.x.count() / o.x.size(1));
    const Tensor scale = o.weight.defined() ? channel(o.weight) * rstd : rstd;
    const Tensor through =
        o.training ? given - of_bias * part - normalised * (of_weight * part) : given;
    result.x = (scale * through).to(o.x.dtype());
  }
  if (wanted.weight) result.weight = parameter(of_weight);
  if (wanted.bias) result.bias = parameter(of_bias);
  return result;
}

namespace graph::named {

// The statistics are results too, from which the running ones come; most often neither have
// cotangents.
std::vector<Tensor> batch_norm_training_derivative(const DerivativeCall& call) {
  const Tensor &x = call[0], &mean = call.results[1], &rstd = call.results[2];
  const DType wide = accumulator(x.dtype());
  Shape of_channels(x.shape().size(), 1);
  of_channels[1] = x.size(1);
  auto channel = [&](const Tensor& t) { return t.to(wide).reshape(of_channels); };
  const auto count = static_cast<double>(x.count() / std::max<std::int64_t>(x.size(1), 1));
  OperandGradients found;
  if (call.cotangents[0].defined())
    found = batch_norm_backward(
        call.cotangents[0], {.x = x, .mean = mean, .rstd = rstd, .weight = call[1]},
        {.x = call.wants(0), .weight = call.wants(1), .bias = call.wants(2)}, call.where);
  std::vector<Tensor> all = {found.x, found.weight, found.bias, {}, {}};
  auto add_to_x = [&](const Tensor& more) {
    all[0] = all[0].defined() ? all[0] + more.to(x.dtype()) : more.to(x.dtype());
  };
  const Tensor centred = x.to(wide) - channel(mean);
  if (call.cotangents[1].defined())
    add_to_x((channel(call.cotangents[1]) / count).expand(x.shape()));
  if (call.cotangents[2].defined())
    add_to_x(centred * (channel(call.cotangents[2] * rstd * rstd * rstd) / -count));
  const double momentum = call.settings.number("momentum");
  std::size_t next = 3;
  for (std::size_t i : {3, 4}) {
    if (!call[i].defined()) continue;
    const Tensor& given = call.cotangents[next++];
    if (!given.defined()) continue;
    all[i] = given * (1 - momentum);
    if (i == 3)
      add_to_x((channel(given) * (momentum / count)).expand(x.shape()));
    else
      add_to_x(centred * (channel(given) * (2 * momentum / (count - 1))));
  }
  return all;
}

}  // namespace graph::named

Tensor softmax_backward(const Tensor& gradient, const Tensor& y, int axis,
                        std::optional<DType> dtype, source_location w) {
  return along_axis("softmax_backward", gradient, y, dtype, w,
                    [&](const Tensor& given, const Tensor& result) {
                      return (given - sum(given * result, {axis}, true)) * result;
                    });
}
Tensor log_softmax_backward(const Tensor& gradient, const Tensor& y, int axis,
                            std::optional<DType> dtype, source_location w) {
  return along_axis("log_softmax_backward", gradient, y, dtype, w,
                    [&](const Tensor& given, const Tensor& result) {
                      return given - exp(result) * sum(given, {axis}, true);
                    });
}

}  // namespace tilewright
