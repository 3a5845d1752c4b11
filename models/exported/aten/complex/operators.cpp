// Rows for operators of complex operands that are not what they are of the parts.
#include <cmath>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/reducing/products.h"
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/matrix_norms.h"
#include "models/exported/aten/operators.h"
#include "models/exported/aten/ops/reinterpretation.h"
#include "models/exported/complex/arithmetic.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace complex_rows {
namespace {

using Function = ComplexTensor (*)(const ComplexTensor& z);
template <Function function>
constexpr auto of_one = [](const Call& c) -> Value { return function(c.complex_tensor("self")); };
using RealFunction = Tensor (*)(const ComplexTensor& z);
template <RealFunction function>
constexpr auto real_of_one = [](const Call& c) { return function(c.complex_tensor("self")); };
using OfTwo = ComplexTensor (*)(const ComplexOperand& a, const ComplexOperand& b);
template <OfTwo function>
constexpr auto of_two = [](const Call& c) -> Value {
  return function(c.complex_operand("self"), c.complex_operand("other"));
};

template <typename F>
Value of_each_part(const ComplexTensor& z, const F& function) {
  return ComplexTensor(function(z.real()), function(z.imaginary()));
}

Tensor imaginary_part(const ComplexTensor& z) { return z.imaginary(); }
Tensor pairs_of(const ComplexTensor& z) { return z.pairs(); }
Tensor has_nan(const ComplexTensor& z) { return logical_or(isnan(z.real()), isnan(z.imaginary())); }
Tensor has_infinity(const ComplexTensor& z) {
  return logical_or(isinf(z.real()), isinf(z.imaginary()));
}
Tensor has_finite_parts(const ComplexTensor& z) {
  return logical_and(isfinite(z.real()), isfinite(z.imaginary()));
}
Tensor is_zero(const ComplexTensor& z) {
  return logical_and(z.real() == 0.0, z.imaginary() == 0.0);
}

Tensor has_no_imaginary_part(const ComplexTensor& z) { return z.imaginary() == 0.0; }

Value divided(const Call& call) {
  if (call.has("rounding_mode")) call.refuse("rounding_mode", "is given of complex numbers");
  return quotient(call.complex_operand("self"), call.complex_operand("other"));
}
Value raised(const Call& call) {
  return power(call.complex_operand("self"), call.complex_operand("exponent"));
}
Tensor compared(const Call& call) {
  return is_equal(call.complex_operand("self"), call.complex_operand("other"));
}

// To a type, real or complex; without one the value stays.
Value converted_to(const Call& call, std::optional<ComplexType> complex,
                   std::optional<DType> real) {
  const ComplexTensor z = call.complex_tensor("self");
  call.flag("copy", false);
  if (complex) return of_each_part(z, [&](const Tensor& part) { return part.to(complex->parts); });
  if (real) return z.real().to(*real);
  return z;
}
Value converted(const Call& call) {
  const auto complex = call.complex_type();
  return converted_to(call, complex, complex ? std::nullopt : call.dtype());
}
Value converted_as_other(const Call& call) {
  if (!call.is_complex("other")) return converted_to(call, {}, call.tensor("other").dtype());
  return converted_to(call, ComplexType{call.complex_tensor("other").real().dtype()}, {});
}

// The bits as another type: pairs of numbers are complex ones.
Value viewed_as_type(const Call& call) {
  const auto complex = call.complex_type();
  const bool was_complex = call.is_complex("self");
  if (was_complex && complex && complex->parts == call.complex_tensor("self").real().dtype())
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
  return ComplexTensor::of_pairs(x.reshape(sizes));
}

Value conjugate_transposed(const Call& call) {
  const ComplexTensor z = conjugate(call.complex_tensor("self"));
  return of_each_part(
      z, [](const Tensor& part) { return part.rank() < 2 ? part : part.transpose(-2, -1); });
}

Results checked_type(const Call& call) {
  const DType own = call.complex_tensor("a").real().dtype();
  const auto complex = call.complex_type();
  require(!call.has("dtype") || (complex && complex->parts == own), "[exported] a tensor is ",
          own == f64 ? "complex128" : "complex64", "; the program was exported for another type");
  return {};
}

ComplexTensor matrix_product(const ComplexOperand& a, const ComplexOperand& b) {
  return of_bilinear(a, b, [](const Tensor& x, const Tensor& y) { return matmul(x, y); });
}
template <typename First, typename Second>
ComplexTensor operands_product(const Call& call, First first, Second second) {
  return matrix_product(call.complex_operand(first), call.complex_operand(second));
}
Value product_of_matrices(const Call& call) {
  for (const char* other : {"mat2", "vec", "tensor", "other"})
    if (call.has(other)) return operands_product(call, "self", other);
  call.refuse("self", "has nothing that it is multiplied by");
}
Value product_with_conjugate(const Call& call) {
  return matrix_product(conjugate(call.complex_tensor("self")), call.complex_tensor("other"));
}
ComplexTensor sum_of(const ComplexTensor& a, const ComplexTensor& b) {
  return {a.real() + b.real(), a.imaginary() + b.imaginary()};
}
// beta * self + alpha * a @ b.
Value product_added(const Call& call) {
  const bool are_batches = call.has("batch1"), is_vector = call.has("vec");
  ComplexTensor y = are_batches ? operands_product(call, "batch1", "batch2")
                    : is_vector ? operands_product(call, "mat", "vec")
                                : operands_product(call, "mat1", "mat2");
  if (call.has("alpha")) y = product(y, call.complex_operand("alpha"));
  ComplexTensor x = call.complex_tensor("self");
  if (call.has("beta")) x = product(x, call.complex_operand("beta"));
  return sum_of(x, y);
}
Value with_bias(const Call& call) {
  const ComplexTensor weight = call.complex_tensor("weight");
  const ComplexTensor turned =
      weight.rank() < 2
          ? weight
          : ComplexTensor(weight.real().transpose(0, 1), weight.imaginary().transpose(0, 1));
  const ComplexTensor y = matrix_product(call.complex_operand("input"), turned);
  return call.has("bias") ? sum_of(y, call.complex_tensor("bias")) : y;
}
Value outer_product(const Call& call) {
  const std::string_view other = call.has("vec2") ? "vec2" : "other";
  const ComplexTensor a = call.complex_tensor("self");
  return product(ComplexTensor(a.real().unsqueeze(1), a.imaginary().unsqueeze(1)),
                 call.complex_tensor(other));
}

template <typename F>
Value product_by(const Call& call, const F& function) {
  return of_bilinear(call.complex_tensor("self"), call.complex_tensor("other"), function);
}
Value contraction_of_axes(const Call& call) {
  const std::vector<int> first = call.axes("dims_self"), second = call.axes("dims_other");
  return product_by(
      call, [&](const Tensor& a, const Tensor& b) { return tensordot(a, b, first, second); });
}

// The norm of vectors, or of all elements; norms of matrices by an order are not of magnitudes
// alone.
Tensor norm(const Call& call) {
  const std::vector<int> axes = call.axes("dim");
  const bool are_vectors =
      axes.size() == 1 || (axes.empty() && call.complex_tensor("self").rank() == 1);
  if (call.has("ord") && !are_vectors) return norm_of_matrices(call);
  const Tensor x = magnitude(call.complex_tensor("self"));
  return linalg_vector_norm(x, call.number("ord", 2), axes, call.flag("keepdim", false));
}

// With several complex operands, the result is the sum over the choices of a part of each; i to the
// power of the number of imaginary ones says which part of the result it belongs to.
constexpr std::size_t most_complex_operands = 6;
Value contraction(const Call& call) {
  const std::string equation = call.text("equation", "");
  call.has("path");
  const auto operands = call.complex_operands("tensors");
  if (operands.size() > most_complex_operands)
    call.refuse("tensors", concat("are ", operands.size(), ", some of them complex; at most ",
                                  most_complex_operands, " are supported"));
  std::vector<Tensor> chosen(operands.size());
  Tensor parts[2];
  for (std::size_t choice = 0; choice < std::size_t{1} << operands.size(); ++choice) {
    int imaginary = 0;
    bool exists = true;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const bool is_imaginary = (choice >> i & 1) != 0;
      exists = exists && (!is_imaginary || operands[i].imaginary);
      if (!exists) break;
      imaginary += is_imaginary;
      chosen[i] = is_imaginary ? operands[i].imaginary->tensor : operands[i].real.tensor;
    }
    if (!exists) continue;
    const Tensor term = einsum(equation, chosen);
    Tensor& part = parts[imaginary % 2];
    const bool is_negative = imaginary % 4 >= 2;
    if (!part.defined())
      part = is_negative ? -term : term;
    else
      part = is_negative ? part - term : part + term;
  }
  return ComplexTensor(parts[0], parts[1]);
}

Value multiplied_over(const Call& call) {
  ComplexTensor z = call.complex_tensor("self");
  if (const auto type = call.complex_type())
    z = {z.real().to(type->parts), z.imaginary().to(type->parts)};
  if (call.has("dim")) return product_over(z, call.axis("dim"), call.flag("keepdim", false));
  const std::int64_t count = z.real().count();
  return product_over({z.real().reshape({count}), z.imaginary().reshape({count})}, 0, false);
}

Value multiplied_along(const Call& call) {
  ComplexTensor z = call.complex_tensor("self");
  if (const auto type = call.complex_type())
    z = {z.real().to(type->parts), z.imaginary().to(type->parts)};
  return cumulative_product(z, call.axis("dim"));
}

// By magnitudes; equal infinities are close.
Tensor is_close(const Call& call) {
  const ComplexTensor a = call.complex_tensor("self"), b = call.complex_tensor("other");
  const Tensor distance =
      magnitude(ComplexTensor(a.real() - b.real(), a.imaginary() - b.imaginary()));
  const Tensor allowed = call.number("rtol", 1e-5) * magnitude(b) + call.number("atol", 1e-8);
  const Tensor is_near = logical_and(isfinite(distance), distance <= allowed);
  const Tensor close = logical_or(is_equal(a, b), is_near);
  return call.flag("equal_nan", false) ? logical_or(close, logical_and(has_nan(a), has_nan(b)))
                                       : close;
}

Value interpolated(const Call& call) {
  const ComplexTensor start = call.complex_tensor("self"), end = call.complex_tensor("end");
  const ComplexTensor way{end.real() - start.real(), end.imaginary() - start.imaginary()};
  return sum_of(start, product(way, call.complex_operand("weight")));
}
template <OfTwo function>
Value added_of_two(const Call& call) {
  ComplexTensor y = function(call.complex_operand("tensor1"), call.complex_operand("tensor2"));
  if (call.has("value")) y = product(y, call.complex_operand("value"));
  return sum_of(call.complex_tensor("self"), y);
}

constexpr Operator rows[] = {
    {"aten._assert_tensor_metadata.default", by<checked_type>},
    {"aten._conj.default", of_one<conjugate>},
    {"aten._conj_physical.default", of_one<conjugate>},
    {"aten._neg_view.default", of_one<negative>},
    {"aten._to_copy.default", by<converted>},
    {"aten.abs.default", real_of_one<magnitude>},
    {"aten.addcdiv.default", by<added_of_two<quotient>>},
    {"aten.addcmul.default", by<added_of_two<product>>},
    {"aten.addmm.default", by<product_added>},
    {"aten.addmv.default", by<product_added>},
    {"aten.adjoint.default", by<conjugate_transposed>},
    {"aten.angle.default", real_of_one<angle>},
    {"aten.baddbmm.default", by<product_added>},
    {"aten.bmm.default", by<product_of_matrices>},
    {"aten.conj.default", of_one<conjugate>},
    {"aten.conj_physical.default", of_one<conjugate>},
    {"aten.div.Scalar", by<divided>},
    {"aten.div.Tensor", by<divided>},
    {"aten.cumprod.default", by<multiplied_along>},
    {"aten.dot.default", by<product_of_matrices>},
    {"aten.einsum.default", by<contraction>},
    {"aten.eq.Scalar", by<compared>},
    {"aten.eq.Tensor", by<compared>},
    {"aten.imag.default", real_of_one<imaginary_part>},
    {"aten.inner.default",
     [](const Call& c) {
       return product_by(c, [](const Tensor& a, const Tensor& b) { return inner(a, b); });
     }},
    {"aten.isclose.default", by<is_close>},
    {"aten.isfinite.default", real_of_one<has_finite_parts>},
    {"aten.isinf.default", real_of_one<has_infinity>},
    {"aten.isnan.default", real_of_one<has_nan>},
    {"aten.isreal.default", real_of_one<has_no_imaginary_part>},
    {"aten.kron.default",
     [](const Call& c) {
       return product_by(c, [](const Tensor& a, const Tensor& b) { return kron(a, b); });
     }},
    {"aten.lerp.Scalar", by<interpolated>},
    {"aten.lerp.Tensor", by<interpolated>},
    {"aten.linalg_norm.default", by<norm>},
    {"aten.linalg_vecdot.default",
     [](const Call& c) -> Value {
       const ComplexTensor all = product(conjugate(c.complex_tensor("x")), c.complex_tensor("y"));
       const int axis = c.axis("dim", -1);
       return of_each_part(all, [&](const Tensor& part) { return sum(part, {axis}); });
     }},
    {"aten.linear.default", by<with_bias>},
    {"aten.logical_not.default", real_of_one<is_zero>},
    {"aten.mH.default", by<conjugate_transposed>},
    {"aten.matmul.default", by<product_of_matrices>},
    {"aten.matrix_H.default", by<conjugate_transposed>},
    {"aten.mm.default", by<product_of_matrices>},
    {"aten.mul.Scalar", of_two<product>},
    {"aten.mul.Tensor", of_two<product>},
    {"aten.mv.default", by<product_of_matrices>},
    {"aten.ne.Scalar", [](const Call& c) { return logical_not(compared(c)); }},
    {"aten.ne.Tensor", [](const Call& c) { return logical_not(compared(c)); }},
    {"aten.outer.default", by<outer_product>},
    {"aten.pow.Scalar", by<raised>},
    {"aten.pow.Tensor_Scalar", by<raised>},
    {"aten.pow.Tensor_Tensor", by<raised>},
    {"aten.prod.default", by<multiplied_over>},
    {"aten.prod.dim_int", by<multiplied_over>},
    {"aten.tensordot.default", by<contraction_of_axes>},
    {"aten.to.device", by<converted>},
    {"aten.to.dtype", by<converted>},
    {"aten.to.dtype_layout", by<converted>},
    {"aten.to.other", by<converted_as_other>},
    {"aten.to.prim_Device", by<converted>},
    {"aten.to.prim_dtype", by<converted>},
    {"aten.type_as.default", by<converted_as_other>},
    {"aten.vdot.default", by<product_with_conjugate>},
    {"aten.view.dtype", by<viewed_as_type>},
    {"aten.view_as_real.default", real_of_one<pairs_of>},
    {"prims.conj.default", of_one<conjugate>},
};

}  // namespace
}  // namespace complex_rows

std::span<const Operator> complex_operators() { return complex_rows::rows; }

}  // namespace tilewright::exported
