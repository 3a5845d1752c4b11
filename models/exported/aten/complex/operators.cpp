// Rows for operators of complex operands that are not what they are of the parts: arithmetic,
// comparisons, conversions and views.
#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/products.h"
#include "models/exported/aten/complex/rows.h"
#include "models/exported/aten/ops/shapes/reinterpretation.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace complex_rows {
namespace {

Value multiplied(const Call& call) {
  return graph::complex_product(call.complex_operand("self"), call.complex_operand("other"));
}
Value divided(const Call& call) {
  if (call.has("rounding_mode")) call.refuse("rounding_mode", "is given of complex numbers");
  return graph::complex_quotient(call.complex_operand("self"), call.complex_operand("other"));
}
Value raised(const Call& call) {
  return graph::complex_power(call.complex_operand("self"), call.complex_operand("exponent"));
}
Tensor is_equal(const Call& call) {
  return graph::complex_equal(call.complex_operand("self"), call.complex_operand("other"));
}
Tensor is_close(const Call& call) {
  return isclose(
      call.complex_tensor("self"), call.complex_tensor("other"),
      {call.number("rtol", 1e-5), call.number("atol", 1e-8), call.flag("equal_nan", false)});
}
Value interpolated(const Call& call) {
  return lerp(call.complex_tensor("self"), call.complex_tensor("end"),
              call.complex_operand("weight"));
}

using Added = ComplexTensor (*)(const ComplexTensor& z, const ComplexOperand& a,
                                const ComplexOperand& b, const ComplexOperand& value);
template <Added function>
Value added(const Call& call) {
  return function(call.complex_tensor("self"), call.complex_operand("tensor1"),
                  call.complex_operand("tensor2"),
                  call.has("value") ? call.complex_operand("value") : ComplexOperand(1));
}

// To a type, real or complex; without one the value stays.
Value converted_to(const Call& call, std::optional<ComplexType> complex,
                   std::optional<DType> real) {
  const ComplexTensor z = call.complex_tensor("self");
  call.flag("copy", false);
  if (complex) return z.to(complex->parts);
  if (real) return z.real().to(*real);
  return z;
}
Value converted(const Call& call) {
  const auto complex = call.complex_type();
  return converted_to(call, complex, complex ? std::nullopt : call.dtype());
}
Value converted_as_other(const Call& call) {
  if (!call.is_complex("other")) return converted_to(call, {}, call.tensor("other").dtype());
  return converted_to(call, ComplexType{call.complex_tensor("other").dtype()}, {});
}

// The bits as another type: pairs of numbers are complex ones.
Value viewed_as_type(const Call& call) {
  const auto complex = call.complex_type();
  const bool was_complex = call.is_complex("self");
  if (was_complex && complex && complex->parts == call.complex_tensor("self").dtype())
    return call.complex_tensor("self");
  Tensor x = was_complex ? call.complex_tensor("self").pairs() : call.tensor("self");
  if (x.rank() < (was_complex ? 2 : 1)) call.refuse("self", "has no axes");
  Shape sizes = x.shape();
  if (was_complex) {
    sizes.pop_back();
    sizes[sizes.rank() - 1] *= 2;
  }
  x = reinterpreted(x.reshape(sizes), complex ? complex->parts : call.dtype().value());
  if (!complex) return x;
  if (x.size(-1) % 2 != 0)
    call.refuse("self", concat("has an odd number of ", complex->parts,
                               " along the last axis; pairs are wanted"));
  sizes = x.shape();
  sizes[sizes.rank() - 1] /= 2;
  sizes.push_back(2);
  return view_as_complex(x.reshape(sizes));
}

Results checked_type(const Call& call) {
  const DType own = call.complex_tensor("a").dtype();
  const auto complex = call.complex_type();
  require(!call.has("dtype") || (complex && complex->parts == own), "[exported] a tensor is ",
          own == f64 ? "complex128" : "complex64", "; the program was exported for another type");
  return {};
}

constexpr Operator rows[] = {
    {"aten._assert_tensor_metadata.default", by<checked_type>},
    {"aten._conj.default", of_self<conj>},
    {"aten._conj_physical.default", of_self<conj>},
    {"aten._neg_view.default", [](const Call& c) -> Value { return -c.complex_tensor("self"); }},
    {"aten._to_copy.default", by<converted>},
    {"aten.abs.default", real_of_self<abs>},
    {"aten.addcdiv.default", by<added<addcdiv>>},
    {"aten.addcmul.default", by<added<addcmul>>},
    {"aten.adjoint.default", of_self<adjoint>},
    {"aten.angle.default", real_of_self<angle>},
    {"aten.conj.default", of_self<conj>},
    {"aten.conj_physical.default", of_self<conj>},
    {"aten.div.Scalar", by<divided>},
    {"aten.div.Tensor", by<divided>},
    {"aten.eq.Scalar", by<is_equal>},
    {"aten.eq.Tensor", by<is_equal>},
    {"aten.imag.default", [](const Call& c) { return c.complex_tensor("self").imag(); }},
    {"aten.isclose.default", by<is_close>},
    {"aten.isfinite.default", real_of_self<isfinite>},
    {"aten.isinf.default", real_of_self<isinf>},
    {"aten.isnan.default", real_of_self<isnan>},
    {"aten.isreal.default", real_of_self<isreal>},
    {"aten.lerp.Scalar", by<interpolated>},
    {"aten.lerp.Tensor", by<interpolated>},
    {"aten.logical_not.default", real_of_self<logical_not>},
    {"aten.mH.default", of_self<adjoint>},
    {"aten.matrix_H.default", of_self<adjoint>},
    {"aten.mul.Scalar", by<multiplied>},
    {"aten.mul.Tensor", by<multiplied>},
    {"aten.ne.Scalar", [](const Call& c) { return logical_not(is_equal(c)); }},
    {"aten.ne.Tensor", [](const Call& c) { return logical_not(is_equal(c)); }},
    {"aten.pow.Scalar", by<raised>},
    {"aten.pow.Tensor_Scalar", by<raised>},
    {"aten.pow.Tensor_Tensor", by<raised>},
    {"aten.reciprocal.default", of_self<reciprocal>},
    {"aten.sgn.default", of_self<sgn>},
    {"aten.square.default", of_self<square>},
    {"aten.to.device", by<converted>},
    {"aten.to.dtype", by<converted>},
    {"aten.to.dtype_layout", by<converted>},
    {"aten.to.other", by<converted_as_other>},
    {"aten.to.prim_Device", by<converted>},
    {"aten.to.prim_dtype", by<converted>},
    {"aten.type_as.default", by<converted_as_other>},
    {"aten.view.dtype", by<viewed_as_type>},
    {"aten.view_as_real.default", real_of_self<view_as_real>},
    {"prims.conj.default", of_self<conj>},
};

}  // namespace
}  // namespace complex_rows

std::span<const Operator> complex_operators() { return complex_rows::rows; }

}  // namespace tilewright::exported
