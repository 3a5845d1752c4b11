#include "graph/functions/derivatives/activations.h"

#include <numbers>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

void require_alike(const char* name, const Tensor& gradient, const Tensor& x, source_location w) {
  require(gradient.shape() == x.shape() && is_floating(gradient.dtype()) && is_floating(x.dtype()),
          "[", name, "] the gradient is ", gradient.dtype(), " [", gradient.shape(),
          "], the operand ", x.dtype(), " [", x.shape(), "] (at ", At{w},
          "); both must be floating and of one shape");
}

// The gradient times the slope, a function of the operand in the accumulator's dtype.
template <typename Slope>
Tensor by_slope(const char* name, const Tensor& gradient, const Tensor& x, source_location w,
                const Slope& slope) {
  require_alike(name, gradient, x, w);
  const DType wide = accumulator(x.dtype());
  return (gradient.to(wide) * slope(x.to(wide))).to(gradient.dtype());
}

Tensor slope_of_gelu(const Tensor& x) {
  constexpr double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Tensor below = (erf(x * (1 / std::numbers::sqrt2)) + 1.0) * 0.5;
  return below + x * exp(x * x * -0.5) * (root / 2);
}
Tensor slope_of_tanh_gelu(const Tensor& x) {
  constexpr double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, cubic = 0.044715;
  const Tensor square = x * x, t = tanh((x + square * x * cubic) * root);
  return (t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * ((square * (3 * cubic) + 1.0) * root);
}

}  // namespace

Tensor threshold_backward(const Tensor& gradient, const Tensor& x, const TensorOperand& threshold,
                          source_location w) {
  require_alike("threshold_backward", gradient, x, w);
  return where(logical_not(x <= threshold), gradient, 0);
}
Tensor hardtanh_backward(const Tensor& gradient, const Tensor& x, const TensorOperand& min_val,
                         const TensorOperand& max_val, source_location w) {
  require_alike("hardtanh_backward", gradient, x, w);
  return where(logical_not(logical_or(x <= min_val, x >= max_val)), gradient, 0);
}
Tensor leaky_relu_backward(const Tensor& gradient, const Tensor& x, double negative_slope,
                           source_location w) {
  return by_slope("leaky_relu_backward", gradient, x, w,
                  [&](const Tensor& each) { return where(each > 0.0, 1.0, negative_slope); });
}
Tensor hardsigmoid_backward(const Tensor& gradient, const Tensor& x, source_location w) {
  return by_slope("hardsigmoid_backward", gradient, x, w, [](const Tensor& each) {
    return where(logical_and(each > -3.0, each < 3.0), 1.0 / 6, 0.0);
  });
}
Tensor hardswish_backward(const Tensor& gradient, const Tensor& x, source_location w) {
  return by_slope("hardswish_backward", gradient, x, w, [](const Tensor& each) {
    return where(each <= -3.0, 0.0, where(each < 3.0, each / 3.0 + 0.5, 1.0));
  });
}
Tensor sigmoid_backward(const Tensor& gradient, const Tensor& y, source_location w) {
  return by_slope("sigmoid_backward", gradient, y, w,
                  [](const Tensor& each) { return (1.0 - each) * each; });
}
Tensor tanh_backward(const Tensor& gradient, const Tensor& y, source_location w) {
  return by_slope("tanh_backward", gradient, y, w,
                  [](const Tensor& each) { return 1.0 - each * each; });
}
Tensor silu_backward(const Tensor& gradient, const Tensor& x, source_location w) {
  return by_slope("silu_backward", gradient, x, w, [](const Tensor& each) {
    const Tensor s = sigmoid(each);
    return s * (each * (1.0 - s) + 1.0);
  });
}
Tensor logsigmoid_backward(const Tensor& gradient, const Tensor& x, source_location w) {
  return by_slope("logsigmoid_backward", gradient, x, w,
                  [](const Tensor& each) { return sigmoid(-each); });
}
Tensor gelu_backward(const Tensor& gradient, const Tensor& x, GeluForm form, source_location w) {
  return by_slope("gelu_backward", gradient, x, w,
                  form == GeluForm::tanh ? slope_of_tanh_gelu : slope_of_gelu);
}
Tensor elu_backward(const Tensor& gradient, const Tensor& x_or_result,
                    const EluGradientOptions& options, source_location w) {
  const double negative = options.alpha * options.scale, inner = options.input_scale;
  require(!options.of_result || options.alpha >= 0, "[elu_backward] alpha is ", options.alpha,
          " for a gradient by the result (at ", At{w}, "); it must not be negative");
  return by_slope("elu_backward", gradient, x_or_result, w, [&](const Tensor& each) {
    const Tensor below =
        options.of_result ? (each + negative) * inner : exp(each * inner) * (inner * negative);
    return where(each <= 0.0, below, options.scale);
  });
}
Tensor softplus_backward(const Tensor& gradient, const Tensor& x, double beta, double threshold,
                         source_location w) {
  return by_slope("softplus_backward", gradient, x, w, [&](const Tensor& each) {
    return where(each * beta > threshold, 1.0, sigmoid(each * beta));
  });
}
std::pair<Tensor, Tensor> prelu_backward(const Tensor& gradient, const Tensor& x,
                                         const Tensor& weight, source_location w) {
  require_alike("prelu_backward", gradient, x, w);
  return {where(x > 0.0, gradient, weight * gradient), where(x > 0.0, 0, x * gradient)};
}
Tensor dropout_backward(const Tensor& gradient, const Tensor& mask, double scale,
                        source_location w) {
  require(mask.shape() == gradient.shape(), "[dropout_backward] the gradient is [",
          gradient.shape(), "], the mask [", mask.shape(), "] (at ", At{w},
          "); they must have one shape");
  return (gradient * mask.to(gradient.dtype()) * scale).to(gradient.dtype());
}

}  // namespace tilewright
