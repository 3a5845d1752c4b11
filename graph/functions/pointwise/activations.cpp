#include "graph/functions/pointwise/activations.h"

#include <cmath>

#include "graph/functions/pointwise/formula.h"
#include "graph/functions/pointwise/ruled_formula.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::choice;
using graph::clamped;
using graph::Formula;
using graph::Terms;

namespace {

void require_floating(std::string_view name, const TensorOperand& x) {
  DType dtype = graph::tensor_of(x, name).dtype();
  require(is_floating(dtype), "[", name, "] the operand is ", dtype, " (at ", At{x.where},
          "); it must be floating: convert with to(f32)");
}

// The formula depends on x and on the settings alone.
template <typename F>
Tensor activated(std::string_view name, const TensorOperand& x, F&& formula,
                 const std::vector<Number>& settings = {}) {
  require_floating(name, x);
  Terms terms = graph::widened(name, {&x});
  return graph::computed(
      name, terms, [&](const Terms& t) { return formula(t[0]); }, settings);
}

}  // namespace

Tensor hardtanh(const TensorOperand& x, double min_val, double max_val) {
  if (!is_floating(graph::tensor_of(x, "hardtanh").dtype()))
    return clamp(x, std::int64_t(min_val), std::int64_t(max_val));
  return activated("hardtanh", x, [&](const Formula& t) { return clamped(t, min_val, max_val); },
                   {min_val, max_val});
}
Tensor relu6(const TensorOperand& x) { return hardtanh(x, 0, 6); }

Tensor leaky_relu(const TensorOperand& x, double negative_slope) {
  return activated("leaky_relu", x,
                   [&](const Formula& t) { return choice(t > 0, t, t * negative_slope); },
                   {negative_slope});
}

Tensor prelu(const TensorOperand& x, const Tensor& weight) {
  if (const graph::AutocastCall cast("prelu", x.where); cast.is_listed())
    return prelu(cast(x), cast(weight));
  require_floating("prelu", x);
  TensorOperand slopes(weight, x.where);
  std::int64_t count = graph::tensor_of(slopes, "prelu").count();
  std::int64_t channels = x.tensor.rank() > 1 ? x.tensor.size(1) : 1;
  require(count == channels || count == 1, "[prelu] the weight is ", weight.shape(),
          ", the operand ", x.tensor.shape(), " (at ", At{x.where},
          "); there must be one slope for each index of axis 1, or one for all");
  Shape sizes(x.tensor.shape().size(), 1);
  if (count != 1) sizes[1] = channels;
  TensorOperand spread(graph::reshape_operand(weight, sizes, x.where), x.where);
  Terms terms = graph::widened("prelu", {&x, &spread});
  return graph::computed("prelu", terms,
                         [](const Terms& t) { return choice(t[0] > 0, t[0], t[1] * t[0]); });
}

namespace {

Tensor exponential_unit(std::string_view name, const TensorOperand& x, double alpha, double scale,
                        double input_scale) {
  return activated(name, x,
                   [&](const Formula& t) {
                     return choice(t > 0, t * scale, expm1(t * input_scale) * (alpha * scale));
                   },
                   {alpha, scale, input_scale});
}

}  // namespace

Tensor elu(const TensorOperand& x, double alpha, double scale, double input_scale) {
  return exponential_unit("elu", x, alpha, scale, input_scale);
}
Tensor selu(const TensorOperand& x) {
  return exponential_unit("selu", x, 1.6732632423543772848170429916717,
                          1.0507009873554804934193349852946, 1);
}
Tensor celu(const TensorOperand& x, double alpha) {
  require(alpha != 0, "[celu] alpha is 0 (at ", At{x.where}, "); it must be another number");
  return exponential_unit("celu", x, alpha, 1, 1 / alpha);
}

Tensor hardsigmoid(const TensorOperand& x) {
  return activated("hardsigmoid", x, [](const Formula& t) { return clamped(t + 3, 0, 6) / 6; });
}
Tensor hardswish(const TensorOperand& x) {
  return activated("hardswish", x, [](const Formula& t) { return t * clamped(t + 3, 0, 6) / 6; });
}

Tensor hardshrink(const TensorOperand& x, double lambd) {
  return activated("hardshrink", x,
                   [&](const Formula& t) { return choice((t >= -lambd) & (t <= lambd), 0, t); },
                   {lambd});
}
Tensor softshrink(const TensorOperand& x, double lambd) {
  require(lambd >= 0, "[softshrink] lambd is ", lambd, " (at ", At{x.where},
          "); it must not be negative");
  return activated("softshrink", x,
                   [&](const Formula& t) {
                     return choice(t > lambd, t - lambd, choice(t < -lambd, t + lambd, t * 0));
                   },
                   {lambd});
}

Tensor softsign(const TensorOperand& x) {
  return activated("softsign", x, [](const Formula& t) { return t / (1 + abs(t)); });
}
// With e = exp(x), tanh(log(1 + e)) is n / (n + 2) for n = e (e + 2). Above 20 it is 1.
Tensor mish(const TensorOperand& x) {
  return activated("mish", x, [](const Formula& t) {
    Formula e = exp(t), n = e * (e + 2);
    return choice(t > 20, t, t * (n / (n + 2)));
  });
}
Tensor logsigmoid(const TensorOperand& x) {
  return activated("logsigmoid", x,
                   [](const Formula& t) { return lesser(t, t.number(0)) - log1p(exp(-abs(t))); });
}

Tensor threshold(const TensorOperand& x, double threshold, double value) {
  Formula term(graph::tensor_of(x, "threshold"), x.where);
  return choice(term <= threshold, value, term).tensor();
}

Tensor glu(const TensorOperand& x, int axis) {
  require_floating("glu", x);
  axis = graph::axis_of(axis, x.tensor.shape(), "glu", x.where);
  std::int64_t size = x.tensor.size(axis);
  require(size % 2 == 0, "[glu] axis ", axis, " of shape ", x.tensor.shape(), " has size ", size,
          " (at ", At{x.where}, "); it must be even, as both halves are multiplied");
  auto half = [&](std::int64_t start) {
    return TensorOperand(x.tensor.slice(axis, start, start + size / 2, 1, x.where), x.where);
  };
  TensorOperand values = half(0), gates = half(size / 2);
  Terms terms = graph::widened("glu", {&values, &gates});
  return graph::computed("glu", terms, [](const Terms& t) { return t[0] * sigmoid(t[1]); });
}

Tensor prelu_kernel(const TensorOperand& x, const TensorOperand& weight) {
  return graph::computed("prelu_kernel", graph::promoted("prelu_kernel", {&x, &weight}),
                         [](const Terms& t) { return choice(t[0] > 0, t[0], t[0] * t[1]); });
}
Tensor hardsigmoid(const TensorOperand& x, double alpha, double beta) {
  return activated("hardsigmoid of a slope", x,
                   [&](const Formula& t) { return clamped(t * alpha + beta, 0, 1); },
                   {alpha, beta});
}
Tensor swish(const TensorOperand& x, double alpha) {
  return activated("swish", x, [&](const Formula& t) { return t * sigmoid(t * alpha); }, {alpha});
}
Tensor shrink(const TensorOperand& x, double lambd, double bias) {
  const Tensor& given = graph::tensor_of(x, "shrink");
  if (!is_floating(given.dtype()))
    return shrink({given.to(DType::f64, x.where), x.where}, lambd, bias).to(given.dtype(), x.where);
  return graph::computed("shrink", graph::widened("shrink", {&x}),
                         [&](const Terms& t) {
                           const Formula inner = choice(t[0] > lambd, t[0] - bias, t[0].number(0));
                           return choice(t[0] < -lambd, t[0] + bias, inner);
                         },
                         {lambd, bias});
}
Tensor hardmax(const TensorOperand& x, int axis) {
  const Tensor& given = graph::tensor_of(x, "hardmax");
  const int along = graph::axis_of(axis, given.shape(), "hardmax", x.where);
  Shape sizes(static_cast<std::size_t>(given.rank()), 1);
  sizes[along] = given.size(along);
  return (argmax(x, along, true) == arange(0, given.size(along)).reshape(sizes)).to(given.dtype());
}

}  // namespace tilewright
