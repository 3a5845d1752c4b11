// Operators of one operand, element by element.
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/special.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace function_rows {
namespace {

using Function = Tensor (*)(const TensorOperand& x);
template <Function function>
constexpr auto of_one = [](const Call& c) { return function(c.tensor("self")); };

Tensor gelu_of(const Call& call) {
  std::string form = call.text("approximate", "none");
  if (form != "none" && form != "tanh") call.refuse("approximate", "is neither none nor tanh");
  return gelu(call.tensor("self"), form == "tanh" ? GeluForm::tanh : GeluForm::erf);
}

Tensor converted(const Call& call) {
  Tensor x = call.tensor(call.has("a") ? "a" : "self");
  return x.to(call.dtype().value_or(x.dtype()));
}

Tensor logit_of(const Call& call) {
  return logit(call.tensor("self"),
               call.has("eps") ? std::optional(call.number("eps")) : std::nullopt);
}

Tensor without_nan(const Call& call) {
  NanToNumOptions options{.nan = call.number("nan", 0)};
  if (call.has("posinf")) options.posinf = call.number("posinf");
  if (call.has("neginf")) options.neginf = call.number("neginf");
  return nan_to_num(call.tensor("self"), options);
}

// The mean of both slopes, as when a model is run and not trained.
Tensor rrelu_of(const Call& call) {
  if (call.flag("training", false)) call.refuse("training", "is true; programs are run");
  const double lower = call.number("lower", 1.0 / 8), upper = call.number("upper", 1.0 / 3);
  return leaky_relu(call.tensor("self"), (lower + upper) / 2);
}

// The noise is what training would multiply by.
Tensor rrelu_with_noise(const Call& call) {
  call.tensor("noise");
  return rrelu_of(call);
}

constexpr Operator rows[] = {
    {"aten.isreal.default",
     [](const Call& c) { return ones(c.tensor("self").shape(), DType::boolean); }},
    {"aten.angle.default", of_one<tilewright::angle>},
    {"aten.frexp.Tensor", [](const Call& c) { return frexp(c.tensor("self")); }},
    {"aten.abs.default", of_one<abs>},
    {"aten.acos.default", of_one<acos>},
    {"aten.acosh.default", of_one<acosh>},
    {"aten.asin.default", of_one<asin>},
    {"aten.asinh.default", of_one<asinh>},
    {"aten.atan.default", of_one<atan>},
    {"aten.atanh.default", of_one<atanh>},
    {"aten.bitwise_not.default", of_one<bitwise_not>},
    {"aten.ceil.default", of_one<ceil>},
    {"aten.cos.default", of_one<cos>},
    {"aten.cosh.default", of_one<cosh>},
    {"aten.elu.default",
     [](const Call& c) {
       return elu(c.tensor("self"), c.number("alpha", 1), c.number("scale", 1),
                  c.number("input_scale", 1));
     }},
    {"aten.erfc.default", of_one<erfc>},
    {"aten.erfinv.default", of_one<erfinv>},
    {"aten.erf.default", of_one<erf>},
    {"aten.exp.default", of_one<exp>},
    {"aten.exp2.default", of_one<exp2>},
    {"aten.expm1.default", of_one<expm1>},
    {"aten.floor.default", of_one<floor>},
    {"aten.gelu.default", by<gelu_of>},
    {"aten.hardtanh.default",
     [](const Call& c) {
       return hardtanh(c.tensor("self"), c.number("min_val", -1), c.number("max_val", 1));
     }},
    {"aten.i0.default", of_one<i0>},
    {"aten.isinf.default", of_one<isinf>},
    {"aten.isnan.default", of_one<isnan>},
    {"aten.leaky_relu.default",
     [](const Call& c) { return leaky_relu(c.tensor("self"), c.number("negative_slope", 0.01)); }},
    {"aten.log10.default", of_one<log10>},
    {"aten.log.default", of_one<log>},
    {"aten.log1p.default", of_one<log1p>},
    {"aten.log2.default", of_one<log2>},
    {"aten.logical_not.default", of_one<logical_not>},
    {"aten.neg.default", [](const Call& c) { return -TensorOperand(c.tensor("self")); }},
    {"aten.reciprocal.default", of_one<tilewright::reciprocal>},
    {"aten.relu.default", of_one<relu>},
    {"aten.round.default", of_one<round>},
    {"aten.round.decimals",
     [](const Call& c) { return round(c.tensor("self"), c.axis("decimals")); }},
    {"aten.rsqrt.default", of_one<rsqrt>},
    {"aten.sigmoid.default", of_one<sigmoid>},
    {"aten.silu.default", of_one<silu>},
    {"aten.sgn.default", of_one<sgn>},
    {"aten.sign.default", of_one<sign>},
    {"aten.signbit.default", of_one<signbit>},
    {"aten.sinh.default", of_one<sinh>},
    {"aten.sin.default", of_one<sin>},
    {"aten.sqrt.default", of_one<sqrt>},
    {"aten.tan.default", of_one<tan>},
    {"aten.tanh.default", of_one<tanh>},
    {"aten.trunc.default", of_one<trunc>},
    {"aten.celu.default",
     [](const Call& c) { return celu(c.tensor("self"), c.number("alpha", 1)); }},
    {"aten.deg2rad.default", of_one<deg2rad>},
    {"aten.frac.default", of_one<frac>},
    {"aten.glu.default", [](const Call& c) { return glu(c.tensor("self"), c.axis("dim", -1)); }},
    {"aten.hardshrink.default",
     [](const Call& c) { return hardshrink(c.tensor("self"), c.number("lambd", 0.5)); }},
    {"aten.isfinite.default", of_one<isfinite>},
    {"aten.isneginf.default", of_one<isneginf>},
    {"aten.isposinf.default", of_one<isposinf>},
    {"aten.log_sigmoid.default", of_one<logsigmoid>},
    {"aten.logit.default", by<logit_of>},
    {"aten.nan_to_num.default", by<without_nan>},
    {"aten.positive.default", of_one<tilewright::positive>},
    {"aten.log_sigmoid_forward.default",
     [](const Call& c) {
       return Results{logsigmoid(c.tensor("self")), Value()};
     }},
    {"aten._prelu_kernel.default",
     [](const Call& c) { return prelu_kernel(c.tensor("self"), c.tensor("weight")); }},
    {"aten.prelu.default",
     [](const Call& c) { return prelu(c.tensor("self"), c.tensor("weight")); }},
    {"aten.rad2deg.default", of_one<rad2deg>},
    {"aten.relu6.default", of_one<relu6>},
    {"aten.rrelu.default", by<rrelu_of>},
    {"aten.rrelu_with_noise.default", by<rrelu_with_noise>},
    {"aten.rrelu_with_noise_functional.default",
     [](const Call& c) { return std::pair(rrelu_with_noise(c), c.tensor("noise")); }},
    {"aten.selu.default", of_one<selu>},
    {"aten.sinc.default", of_one<sinc>},
    {"aten.softshrink.default",
     [](const Call& c) { return softshrink(c.tensor("self"), c.number("lambd", 0.5)); }},
    {"aten.square.default", of_one<square>},
    {"aten.threshold.default",
     [](const Call& c) {
       return threshold(c.tensor("self"), c.number("threshold"), c.number("value"));
     }},
    {"aten._to_copy.default", by<converted>},
    {"prims.convert_element_type.default", by<converted>},
};

}  // namespace
}  // namespace function_rows

std::span<const Operator> function_operators() { return function_rows::rows; }

}  // namespace tilewright::exported
