// Rows for functions of one complex operand, and for its products, variances and norms along axes.
#include "graph/functions/complex/elementary.h"
#include "graph/functions/complex/reductions.h"
#include "models/exported/aten/complex/rows.h"
#include "models/exported/aten/matrix_norms.h"

namespace tilewright::exported {
namespace complex_function_rows {
namespace {

double correction_of(const Call& call) {
  return call.has("unbiased") ? call.flag("unbiased", true) : call.number("correction", 1);
}
template <typename R>
using Spread = R (*)(const ComplexTensor& z, const std::vector<int>& axes, double correction,
                     bool keep_dims);
template <Spread<Tensor> function>
Tensor spread(const Call& call) {
  return function(call.complex_tensor("self"), call.axes("dim"), correction_of(call),
                  call.flag("keepdim", false));
}
template <Spread<std::pair<Tensor, ComplexTensor>> function>
Results spread_and_mean(const Call& call) {
  const auto [real, mean] = function(call.complex_tensor("self"), call.axes("dim"),
                                     correction_of(call), call.flag("keepdim", false));
  return {real, mean};
}

ComplexTensor self_as_type(const Call& call) {
  const ComplexTensor z = call.complex_tensor("self");
  const auto type = call.complex_type();
  return type ? z.to(type->parts) : z;
}
Value product(const Call& call) {
  const ComplexTensor z = self_as_type(call);
  return call.has("dim") ? prod(z, call.axis("dim"), call.flag("keepdim", false)) : prod(z);
}
Value cumulative_product(const Call& call) { return cumprod(self_as_type(call), call.axis("dim")); }

// Without an order that of all elements, or of vectors; one of matrices where an order is given.
Tensor norm(const Call& call) {
  const ComplexTensor z = call.complex_tensor("self");
  const std::vector<int> axes = call.axes("dim");
  const bool are_vectors = axes.size() == 1 || (axes.empty() && z.rank() == 1);
  if (call.has("ord") && !are_vectors) return norm_of_matrices(call);
  return linalg_vector_norm(z, call.number("ord", 2), axes, call.flag("keepdim", false));
}

constexpr Operator rows[] = {
    {"aten.acos.default", of_self<acos>},
    {"aten.acosh.default", of_self<acosh>},
    {"aten.asin.default", of_self<asin>},
    {"aten.asinh.default", of_self<asinh>},
    {"aten.atan.default", of_self<atan>},
    {"aten.atanh.default", of_self<atanh>},
    {"aten.cos.default", of_self<cos>},
    {"aten.cosh.default", of_self<cosh>},
    {"aten.cumprod.default", by<cumulative_product>},
    {"aten.exp.default", of_self<exp>},
    {"aten.exp2.default", of_self<exp2>},
    {"aten.expm1.default", of_self<expm1>},
    {"aten.linalg_norm.default", by<norm>},
    {"aten.log.default", of_self<log>},
    {"aten.log10.default", of_self<log10>},
    {"aten.log1p.default", of_self<log1p>},
    {"aten.log2.default", of_self<log2>},
    {"aten.prod.default", by<product>},
    {"aten.prod.dim_int", by<product>},
    {"aten.rsqrt.default", of_self<rsqrt>},
    {"aten.sigmoid.default", of_self<sigmoid>},
    {"aten.silu.default", of_self<silu>},
    {"aten.sin.default", of_self<sin>},
    {"aten.sinc.default", of_self<sinc>},
    {"aten.sinh.default", of_self<sinh>},
    {"aten.sqrt.default", of_self<sqrt>},
    {"aten.std.correction", by<spread<stddev>>},
    {"aten.std.default", by<spread<stddev>>},
    {"aten.std.dim", by<spread<stddev>>},
    {"aten.std_mean.correction", by<spread_and_mean<std_mean>>},
    {"aten.std_mean.default", by<spread_and_mean<std_mean>>},
    {"aten.std_mean.dim", by<spread_and_mean<std_mean>>},
    {"aten.tan.default", of_self<tan>},
    {"aten.tanh.default", of_self<tanh>},
    {"aten.var.correction", by<spread<var>>},
    {"aten.var.default", by<spread<var>>},
    {"aten.var.dim", by<spread<var>>},
    {"aten.var_mean.correction", by<spread_and_mean<var_mean>>},
    {"aten.var_mean.default", by<spread_and_mean<var_mean>>},
    {"aten.var_mean.dim", by<spread_and_mean<var_mean>>},
};

}  // namespace
}  // namespace complex_function_rows

std::span<const Operator> complex_function_operators() { return complex_function_rows::rows; }

}  // namespace tilewright::exported
