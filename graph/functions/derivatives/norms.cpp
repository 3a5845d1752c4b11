#include "graph/functions/derivatives/norms.h"

#include <algorithm>
#include <vector>

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
  auto summed = [&](const Tensor& all) { return sum(all, others).to(dtype_of(o.weight, o.x)); };
  OperandGradients result;
  if (wanted.x) {
    const Tensor weighted = o.weight.defined() ? given * channel(o.weight) : given;
    result.x = (o.training ? through_norm(weighted, normalised, rstd, others) : weighted * rstd)
                   .to(o.x.dtype());
  }
  if (wanted.weight) result.weight = summed(given * normalised);
  if (wanted.bias) result.bias = summed(given);
  return result;
}

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
