// Norms of matrices, their conditions and ranks, pseudo-inverses, powers, and inverses of matrices
// that are tensors of more axes: of real and of complex ones by the same formulas.
#include "models/exported/aten/matrix_norms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/reducing/products.h"
#include "graph/functions/reducing/reductions.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// Without an imaginary part it is real.
ComplexParts matrix_of(const Call& call, std::string_view name) {
  if (!call.is_complex(name)) return {call.tensor(name), {}};
  return call.complex_tensor(name).parts();
}
Value value_of(const ComplexParts& x) {
  if (x.imaginary.defined()) return ComplexTensor(x);
  return x.real;
}
template <typename F>
ComplexParts of_each(const ComplexParts& x, const F& function) {
  return {function(x.real), x.imaginary.defined() ? function(x.imaginary) : Tensor()};
}
ComplexParts converted(const ComplexParts& x, DType dtype) {
  return of_each(x, [&](const Tensor& part) { return part.to(dtype); });
}
ComplexParts reshaped(const ComplexParts& x, const Shape& sizes) {
  return of_each(x, [&](const Tensor& part) { return part.reshape(sizes); });
}
ComplexParts permuted(const ComplexParts& x, const std::vector<int>& order) {
  return of_each(x, [&](const Tensor& part) { return part.permute(order); });
}
ComplexParts adjoint(const ComplexParts& x) {
  ComplexParts turned = of_each(x, [](const Tensor& part) { return part.transpose(-2, -1); });
  if (turned.imaginary.defined()) turned.imaginary = -turned.imaginary;
  return turned;
}
ComplexParts product_of(const ComplexParts& a, const ComplexParts& b) {
  if (!a.imaginary.defined()) return {matmul(a.real, b.real), {}};
  return {matmul(a.real, b.real) - matmul(a.imaginary, b.imaginary),
          matmul(a.real, b.imaginary) + matmul(a.imaginary, b.real)};
}
Tensor magnitudes(const ComplexParts& x) {
  return x.imaginary.defined() ? abs(ComplexTensor(x)) : abs(x.real);
}
// On the host by an op for this alone, elsewhere by the loops for real matrices.
Tensor singular_values_of(const ComplexParts& x) {
  return x.imaginary.defined() ? svdvals(ComplexTensor(x)) : svdvals(x.real);
}
ComplexSingularValues singular_value_decomposition(const ComplexParts& x) {
  if (x.imaginary.defined()) return svd(ComplexTensor(x));
  const SingularValues real = singular_values(x.real);
  return {ComplexTensor(real.left), real.values, ComplexTensor(real.right)};
}
ComplexParts inverse_of(const ComplexParts& x) {
  return x.imaginary.defined() ? inverse(ComplexTensor(x)).parts()
                               : ComplexParts{inverse(x.real), {}};
}

// Which norm: Frobenius' and that of all singular values have names; numbers are the greatest or
// least singular value (2, -2), or sum of magnitudes of a column (1, -1) or row (inf, -inf).
struct Order {
  std::string name;
  double number = 2;
};
Tensor norm_of(const Call& call, const ComplexParts& x, const Order& order, std::vector<int> axes,
               bool keeps) {
  const int rank = x.real.rank();
  if (axes.empty()) axes = {-2, -1};
  if (axes.size() != 2 || rank < 2) call.refuse("dim", "does not name two axes");
  for (int& axis : axes) axis = normalise_axis(axis, rank).value_or(axis);
  if (order.name == "fro") return linalg_vector_norm(magnitudes(x), 2, axes, keeps);
  const double number = order.number;
  const bool is_of_columns = std::abs(number) == 1, is_of_rows = std::isinf(number);
  // [.., the others, the axis that goes last], each kept as 1.
  Tensor norm;
  if (is_of_columns || is_of_rows) {
    Tensor sums = sum(magnitudes(x), {is_of_columns ? axes[0] : axes[1]}, true);
    const std::vector<int> other = {is_of_columns ? axes[1] : axes[0]};
    norm = number > 0 ? amax(sums, other, true) : amin(sums, other, true);
  } else {
    std::vector<int> last;
    for (int axis = 0; axis < rank; ++axis)
      if (axis != axes[0] && axis != axes[1]) last.push_back(axis);
    last.insert(last.end(), axes.begin(), axes.end());
    Tensor values = singular_values_of(permuted(x, last));
    norm = order.name == "nuc" ? sum(values, {-1})
           : number > 0        ? amax(values, {-1})
                               : amin(values, {-1});
    Shape kept = x.real.shape();
    kept[axes[0]] = kept[axes[1]] = 1;
    norm = norm.reshape(kept);
  }
  const auto [first, second] = std::minmax(axes[0], axes[1]);
  return keeps ? norm : norm.squeeze(second).squeeze(first);
}

Order named_order(const Call& call, std::string_view argument) {
  Order order{call.text(argument, "fro")};
  if (order.name != "fro" && order.name != "nuc") call.refuse(argument, "is neither fro nor nuc");
  return order;
}
Order numbered_order(const Call& call, std::string_view argument) {
  Order order{"", call.number(argument)};
  if (std::abs(order.number) != 1 && std::abs(order.number) != 2 && !std::isinf(order.number))
    call.refuse(argument,
                concat("is ", order.number, "; 1, 2, inf and their negatives are supported"));
  return order;
}
Order order_of(const Call& call, std::string_view argument, bool has_name) {
  return has_name ? named_order(call, argument) : numbered_order(call, argument);
}

template <bool has_name>
Tensor matrix_norm(const Call& call) {
  ComplexParts x = matrix_of(call, "self");
  if (x.imaginary.defined())
    call.has("dtype");  // a complex one, which the program's types say
  else if (auto dtype = call.dtype())
    x = converted(x, *dtype);
  return norm_of(call, x, order_of(call, "ord", has_name), call.axes("dim"),
                 call.flag("keepdim", false));
}

// By singular values the greatest over the least, or for -2 the other way round; else the norm
// times that of the inverse, infinite where there is none.
template <bool has_name>
Tensor condition(const Call& call) {
  const ComplexParts x = matrix_of(call, "self");
  const DType dtype = x.real.dtype();
  const Order order = has_name || call.has("p") ? order_of(call, "p", has_name) : Order{};
  if (order.name.empty() && std::abs(order.number) == 2) {
    Tensor values = singular_values_of(converted(x, f64));
    Tensor greatest = values.select(-1, 0), least = values.select(-1, values.size(-1) - 1);
    return (order.number < 0 ? least / greatest : greatest / least).to(dtype);
  }
  const ComplexParts wide = converted(x, f64);
  if (order.name == "nuc") {
    const Tensor values = singular_values_of(wide);
    return (sum(values, {-1}) * sum(1.0 / values, {-1})).to(dtype);
  }
  const Tensor own = norm_of(call, wide, order, {}, false);
  const Tensor whole = own * norm_of(call, inverse_of(wide), order, {}, false);
  const Tensor is_singular = logical_and(isnan(whole), logical_not(isnan(own)));
  return where(is_singular, std::numeric_limits<double>::infinity(), whole).to(dtype);
}

// A bound for values that count: a number, or one for each matrix.
std::optional<Tensor> bound(const Call& call, std::string_view name) {
  if (!call.has(name)) return std::nullopt;
  if (call.operand(name).is_number) return full({}, call.number(name), f64);
  return call.tensor(name).to(f64);
}
// Which singular values [.., k] of a matrix [.., m, n] count: those above `atol`, and above `rtol`
// times the greatest; where neither is given, above what rounding makes of zeros.
Tensor counts(const Call& call, const Tensor& x, const Tensor& values) {
  std::optional<Tensor> atol = bound(call, "atol"),
                        rtol = bound(call, call.has("rcond") ? "rcond" : "rtol");
  const double eps = std::ldexp(1.0, 1 - digits(x.dtype()));
  const auto longer = static_cast<double>(std::max(x.size(-2), x.size(-1)));
  Tensor least = full({}, 0.0, f64), missing = full({}, eps * longer, f64);
  // PyTorch's default holds where no absolute bound is above 0.
  if (!rtol) rtol = atol ? where(*atol > 0.0, 0.0, missing) : missing;
  if (atol) least = *atol;
  Tensor wide = values.to(f64), greatest = amax(wide, {-1}, true);
  Tensor relative = (rtol->rank() == 0 ? *rtol : rtol->unsqueeze(-1)) * greatest;
  return wide > maximum(least.rank() == 0 ? least : least.unsqueeze(-1), relative);
}
// If a matrix is declared Hermitian, only its lower half is read.
ComplexParts whole_of(const Call& call, const ComplexParts& x) {
  if (!call.flag("hermitian", false)) return x;
  const ComplexParts above = adjoint(of_each(x, [](const Tensor& part) { return tril(part, -1); }));
  const Tensor real = tril(x.real) + above.real;
  if (!x.imaginary.defined()) return {real, {}};
  return {real, tril(x.imaginary, -1) + above.imaginary};
}
Value pseudo_inverse(const Call& call) {
  const ComplexParts x = whole_of(call, matrix_of(call, "self"));
  if (x.real.count() == 0)
    return value_of(
        of_each(adjoint(x), [](const Tensor& part) { return zeros(part.shape(), part.dtype()); }));
  const ComplexParts wide = converted(x, f64);
  const ComplexSingularValues parts = singular_value_decomposition(wide);
  Tensor factor = where(counts(call, x.real, parts.values), 1.0 / parts.values, 0.0).unsqueeze(-2);
  const ComplexParts right =
      of_each(parts.right.parts(), [&](const Tensor& part) { return part * factor; });
  return value_of(converted(product_of(right, adjoint(parts.left.parts())), x.real.dtype()));
}
Tensor rank_of(const Call& call) {
  const ComplexParts x = whole_of(call, matrix_of(call, call.has("input") ? "input" : "self"));
  return sum(counts(call, x.real, singular_values_of(converted(x, f64))).to(i64), {-1});
}

Value power(const Call& call) {
  const ComplexParts x = matrix_of(call, "self");
  const std::int64_t n = call.integer("n");
  if (n < -1'000'000 || n > 1'000'000) call.refuse("n", concat("is ", n));
  const std::int64_t size = x.real.size(-1);
  ComplexParts base = n < 0 ? inverse_of(x) : x;
  ComplexParts result =
      of_each(x, [](const Tensor& part) { return zeros(part.shape(), part.dtype()); });
  result.real =
      ((arange(0, size).unsqueeze(1) == arange(0, size)).to(x.real.dtype())).expand(x.real.shape());
  bool is_one = true;
  for (std::int64_t left = std::abs(n); left > 0; left /= 2) {
    if (left % 2 != 0) {
      result = is_one ? base : product_of(result, base);
      is_one = false;
    }
    if (left > 1) base = product_of(base, base);
  }
  return value_of(result);
}

std::int64_t count_of(const Shape& shape, int first, int end) {
  return element_count(Shape(shape.begin() + first, shape.begin() + end));
}
// Inverts the matrix whose rows are the first axes and whose columns are the others.
Value inverse_of_tensor(const Call& call) {
  const ComplexParts x = matrix_of(call, "self");
  const Shape& shape = x.real.shape();
  const auto first = static_cast<int>(call.integer("ind", 2));
  if (first < 1 || first >= shape.rank()) call.refuse("ind", concat("is ", first));
  const std::int64_t rows = count_of(shape, 0, first),
                     columns = count_of(shape, first, shape.rank());
  Shape sizes(shape.begin() + first, shape.end());
  sizes.insert(sizes.end(), shape.begin(), shape.begin() + first);
  return value_of(reshaped(inverse_of(reshaped(x, {rows, columns})), sizes));
}
Value solved_for_tensor(const Call& call) {
  ComplexParts x = matrix_of(call, "self");
  const ComplexParts b = matrix_of(call, "other");
  const int rank = x.real.rank();
  std::vector<int> last = call.axes("dims"), order;
  for (int& axis : last) axis = normalise_axis(axis, rank).value_or(-1);
  for (int axis = 0; axis < rank; ++axis)
    if (std::ranges::find(last, axis) == last.end()) order.push_back(axis);
  order.insert(order.end(), last.begin(), last.end());
  x = permuted(x, order);
  const std::int64_t n = b.real.count();
  const Shape sizes(x.real.shape().begin() + b.real.rank(), x.real.shape().end());
  const ComplexParts a = reshaped(x, {n, n}), right = reshaped(b, {n});
  const ComplexParts y = a.imaginary.defined()
                             ? solve(ComplexTensor(a), ComplexTensor(right)).parts()
                             : ComplexParts{solve(a.real, right.real), {}};
  return value_of(reshaped(y, sizes));
}

constexpr Operator matrix_norm_rows[] = {
    {"aten.linalg_cond.default", by<condition<false>>},
    {"aten.linalg_cond.p_str", by<condition<true>>},
    {"aten.linalg_matrix_norm.default", by<matrix_norm<false>>},
    {"aten.linalg_matrix_norm.str_ord", by<matrix_norm<true>>},
    {"aten.linalg_matrix_power.default", by<power>},
    {"aten.linalg_matrix_rank.atol_rtol_float", by<rank_of>},
    {"aten.linalg_matrix_rank.atol_rtol_tensor", by<rank_of>},
    {"aten.linalg_norm.ord_str", by<matrix_norm<true>>},
    {"aten.linalg_pinv.atol_rtol_float", by<pseudo_inverse>},
    {"aten.linalg_pinv.atol_rtol_tensor", by<pseudo_inverse>},
    {"aten.linalg_pinv.default", by<pseudo_inverse>},
    {"aten.linalg_tensorinv.default", by<inverse_of_tensor>},
    {"aten.linalg_tensorsolve.default", by<solved_for_tensor>},
    {"aten.matrix_power.default", by<power>},
    {"aten.pinverse.default", by<pseudo_inverse>},
};

}  // namespace

std::span<const Operator> matrix_norm_operators() { return matrix_norm_rows; }
Tensor norm_of_matrices(const Call& call) { return matrix_norm<false>(call); }

}  // namespace tilewright::exported
