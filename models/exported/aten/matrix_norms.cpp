// Norms of matrices, their conditions and ranks, pseudo-inverses, powers, and inverses of matrices
// that are tensors of more axes, real and complex.
#include "models/exported/aten/matrix_norms.h"

#include <cmath>

#include "graph/functions/linear_algebra/matrix_norms.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

MatrixOperand matrix_of(const Call& call, std::string_view name) {
  if (!call.is_complex(name)) return call.tensor(name);
  return call.complex_tensor(name);
}
Value value_of(const ComplexParts& x) {
  if (x.imaginary.defined()) return ComplexTensor(x);
  return x.real;
}

MatrixNormOrder named_order(const Call& call, std::string_view argument) {
  const std::string name = call.text(argument, "fro");
  if (name != "fro" && name != "nuc") call.refuse(argument, "is neither fro nor nuc");
  return {name == "fro" ? MatrixNormOrder::Kind::frobenius : MatrixNormOrder::Kind::nuclear};
}
MatrixNormOrder numbered_order(const Call& call, std::string_view argument) {
  const double number = call.number(argument);
  if (std::abs(number) != 1 && std::abs(number) != 2 && !std::isinf(number))
    call.refuse(argument, concat("is ", number, "; 1, 2, inf and their negatives are supported"));
  return {.number = number};
}
MatrixNormOrder order_of(const Call& call, std::string_view argument, bool has_name) {
  return has_name ? named_order(call, argument) : numbered_order(call, argument);
}

template <bool has_name>
Tensor norm_of_call(const Call& call) {
  MatrixOperand x = matrix_of(call, "self");
  if (x.parts.imaginary.defined())
    call.has("dtype");  // a complex one, which the program's types say
  else if (auto dtype = call.dtype())
    x = x.parts.real.to(*dtype);
  const std::vector<int> axes = call.axes("dim");
  const MatrixNormOrder order = order_of(call, "ord", has_name);
  if ((!axes.empty() && axes.size() != 2) || x.parts.real.rank() < 2)
    call.refuse("dim", "does not name two axes");
  return matrix_norm(x, order, axes, call.flag("keepdim", false));
}
template <bool has_name>
Tensor condition(const Call& call) {
  const bool has_order = has_name || call.has("p");
  return cond(matrix_of(call, "self"),
              has_order ? order_of(call, "p", has_name) : MatrixNormOrder());
}

std::optional<TensorOperand> bound(const Call& call, std::string_view name) {
  return call.has(name) ? std::optional(call.operand(name)) : std::nullopt;
}
SingularValueBounds bounds_of(const Call& call) {
  return {.atol = bound(call, "atol"),
          .rtol = bound(call, call.has("rcond") ? "rcond" : "rtol"),
          .hermitian = call.flag("hermitian", false)};
}
Value inverse_of_values(const Call& call) {
  return value_of(pseudo_inverse(matrix_of(call, "self"), bounds_of(call)));
}
Tensor rank_of(const Call& call) {
  return matrix_rank(matrix_of(call, call.has("input") ? "input" : "self"), bounds_of(call));
}

Value power(const Call& call) {
  const std::int64_t n = call.integer("n");
  if (n < -1'000'000 || n > 1'000'000) call.refuse("n", concat("is ", n));
  return value_of(matrix_power(matrix_of(call, "self"), n));
}
Value inverse_of_tensor(const Call& call) {
  const MatrixOperand x = matrix_of(call, "self");
  const auto first = static_cast<int>(call.integer("ind", 2));
  if (first < 1 || first >= x.parts.real.rank()) call.refuse("ind", concat("is ", first));
  return value_of(tensor_inverse(x, first));
}
Value solved_for_tensor(const Call& call) {
  return value_of(
      tensor_solve(matrix_of(call, "self"), matrix_of(call, "other"), call.axes("dims")));
}

constexpr Operator matrix_norm_rows[] = {
    {"aten.linalg_cond.default", by<condition<false>>},
    {"aten.linalg_cond.p_str", by<condition<true>>},
    {"aten.linalg_matrix_norm.default", by<norm_of_call<false>>},
    {"aten.linalg_matrix_norm.str_ord", by<norm_of_call<true>>},
    {"aten.linalg_matrix_power.default", by<power>},
    {"aten.linalg_matrix_rank.atol_rtol_float", by<rank_of>},
    {"aten.linalg_matrix_rank.atol_rtol_tensor", by<rank_of>},
    {"aten.linalg_norm.ord_str", by<norm_of_call<true>>},
    {"aten.linalg_pinv.atol_rtol_float", by<inverse_of_values>},
    {"aten.linalg_pinv.atol_rtol_tensor", by<inverse_of_values>},
    {"aten.linalg_pinv.default", by<inverse_of_values>},
    {"aten.linalg_tensorinv.default", by<inverse_of_tensor>},
    {"aten.linalg_tensorsolve.default", by<solved_for_tensor>},
    {"aten.matrix_power.default", by<power>},
    {"aten.pinverse.default", by<inverse_of_values>},
};

}  // namespace

std::span<const Operator> matrix_norm_operators() { return matrix_norm_rows; }
Tensor norm_of_matrices(const Call& call) { return norm_of_call<false>(call); }

}  // namespace tilewright::exported
