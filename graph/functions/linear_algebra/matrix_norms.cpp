#include "graph/functions/linear_algebra/matrix_norms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/reducing/products.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

namespace {

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
ComplexParts zeros_of(const ComplexParts& x) {
  return of_each(x, [](const Tensor& part) { return zeros(part.shape(), part.dtype()); });
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

using Kind = MatrixNormOrder::Kind;

// The norm with both axes kept as 1, by sums of magnitudes along one of them.
Tensor norm_of_sums(const ComplexParts& x, double number, const std::vector<int>& axes) {
  const bool is_of_columns = std::abs(number) == 1;
  const Tensor sums = sum(magnitudes(x), {is_of_columns ? axes[0] : axes[1]}, true);
  const std::vector<int> other = {is_of_columns ? axes[1] : axes[0]};
  return number > 0 ? amax(sums, other, true) : amin(sums, other, true);
}
Tensor norm_of_singular_values(const ComplexParts& x, const MatrixNormOrder& order,
                               const std::vector<int>& axes) {
  std::vector<int> last;
  for (int axis = 0; axis < x.real.rank(); ++axis)
    if (axis != axes[0] && axis != axes[1]) last.push_back(axis);
  last.insert(last.end(), axes.begin(), axes.end());
  const Tensor values = singular_values_of(permuted(x, last));
  const Tensor norm = order.kind == Kind::nuclear ? sum(values, {-1})
                      : order.number > 0          ? amax(values, {-1})
                                                  : amin(values, {-1});
  Shape kept = x.real.shape();
  kept[axes[0]] = kept[axes[1]] = 1;
  return norm.reshape(kept);
}
Tensor norm_of(const ComplexParts& x, const MatrixNormOrder& order, std::vector<int> axes,
               bool keep_dims) {
  const int rank = x.real.rank();
  if (axes.empty()) axes = {-2, -1};
  require(axes.size() == 2 && rank >= 2, "[matrix_norm] ", axes.size(), " axes of ", x.real.shape(),
          "; two are wanted");
  const double size = std::abs(order.number);
  require(order.kind != Kind::number || size == 1 || size == 2 || std::isinf(size),
          "[matrix_norm] the order is ", order.number,
          "; 1, 2, inf and their negatives are supported");
  for (int& axis : axes) axis = normalise_axis(axis, rank).value_or(axis);
  if (order.kind == Kind::frobenius) return linalg_vector_norm(magnitudes(x), 2, axes, keep_dims);
  const bool is_of_sums = order.kind == Kind::number && size != 2;
  const Tensor norm =
      is_of_sums ? norm_of_sums(x, order.number, axes) : norm_of_singular_values(x, order, axes);
  const auto [first, second] = std::minmax(axes[0], axes[1]);
  return keep_dims ? norm : norm.squeeze(second).squeeze(first);
}

// A number, or one for each matrix, beside the singular values [.., k].
Tensor beside_values(const TensorOperand& bound) {
  if (bound.is_number) return full({}, bound.number.as_double(), f64);
  const Tensor wide = bound.tensor.to(f64);
  return wide.rank() == 0 ? wide : wide.unsqueeze(-1);
}
// True for those of the singular values [.., k] of x [.., m, n] that count.
Tensor counting(const ComplexParts& x, const Tensor& values, const SingularValueBounds& bounds) {
  const double eps = std::ldexp(1.0, 1 - digits(x.real.dtype()));
  const auto longer = static_cast<double>(std::max(x.real.size(-2), x.real.size(-1)));
  const Tensor missing = full({}, eps * longer, f64);
  Tensor least = full({}, 0.0, f64), share = missing;
  if (bounds.atol) least = beside_values(*bounds.atol);
  if (bounds.rtol)
    share = beside_values(*bounds.rtol);
  else if (bounds.atol)
    share = where(least > 0.0, 0.0, missing);
  const Tensor wide = values.to(f64), greatest = amax(wide, {-1}, true);
  return wide > maximum(least, share * greatest);
}
// If a matrix is declared Hermitian, only its lower half is read.
ComplexParts whole_of(const ComplexParts& x, const SingularValueBounds& bounds) {
  if (!bounds.hermitian) return x;
  const ComplexParts above = adjoint(of_each(x, [](const Tensor& part) { return tril(part, -1); }));
  const Tensor real = tril(x.real) + above.real;
  if (!x.imaginary.defined()) return {real, {}};
  return {real, tril(x.imaginary, -1) + above.imaginary};
}

ComplexParts power_of(const ComplexParts& x, std::int64_t n) {
  const std::int64_t size = x.real.size(-1);
  ComplexParts base = n < 0 ? inverse_of(x) : x, result = zeros_of(x);
  const Tensor is_diagonal = arange(0, size).unsqueeze(1) == arange(0, size);
  result.real = is_diagonal.to(x.real.dtype()).expand(x.real.shape());
  bool is_one = true;
  for (std::int64_t left = std::abs(n); left > 0; left /= 2) {
    if (left % 2 != 0) {
      result = is_one ? base : product_of(result, base);
      is_one = false;
    }
    if (left > 1) base = product_of(base, base);
  }
  return result;
}

}  // namespace

Tensor matrix_norm(const MatrixOperand& x, const MatrixNormOrder& order, std::vector<int> axes,
                   bool keep_dims) {
  return graph::of_user_call("matrix_norm", x.where,
                             [&] { return norm_of(x.parts, order, std::move(axes), keep_dims); });
}

Tensor cond(const MatrixOperand& x, const MatrixNormOrder& order) {
  return graph::of_user_call("cond", x.where, [&] {
    const DType dtype = x.parts.real.dtype();
    const ComplexParts wide = converted(x.parts, f64);
    if (order.kind == Kind::number && std::abs(order.number) == 2) {
      const Tensor values = singular_values_of(wide), greatest = values.select(-1, 0),
                   least = values.select(-1, values.size(-1) - 1);
      return (order.number < 0 ? least / greatest : greatest / least).to(dtype);
    }
    if (order.kind == Kind::nuclear) {
      const Tensor values = singular_values_of(wide);
      return (sum(values, {-1}) * sum(1.0 / values, {-1})).to(dtype);
    }
    const Tensor own = norm_of(wide, order, {}, false),
                 whole = own * norm_of(inverse_of(wide), order, {}, false),
                 is_singular = logical_and(isnan(whole), logical_not(isnan(own)));
    return where(is_singular, std::numeric_limits<double>::infinity(), whole).to(dtype);
  });
}

ComplexParts pseudo_inverse(const MatrixOperand& operand, const SingularValueBounds& bounds) {
  return graph::of_user_call("pseudo_inverse", operand.where, [&] {
    const ComplexParts x = whole_of(operand.parts, bounds);
    if (x.real.count() == 0) return zeros_of(adjoint(x));
    const ComplexSingularValues parts = singular_value_decomposition(converted(x, f64));
    const Tensor factor =
        where(counting(x, parts.values, bounds), 1.0 / parts.values, 0.0).unsqueeze(-2);
    const ComplexParts right =
        of_each(parts.right.parts(), [&](const Tensor& part) { return part * factor; });
    return converted(product_of(right, adjoint(parts.left.parts())), x.real.dtype());
  });
}

Tensor matrix_rank(const MatrixOperand& operand, const SingularValueBounds& bounds) {
  return graph::of_user_call("matrix_rank", operand.where, [&] {
    const ComplexParts x = whole_of(operand.parts, bounds);
    return sum(counting(x, singular_values_of(converted(x, f64)), bounds).to(i64), {-1});
  });
}

ComplexParts matrix_power(const MatrixOperand& x, std::int64_t n) {
  require(n >= -1'000'000 && n <= 1'000'000, "[matrix_power] n is ", n, " (at ", At{x.where},
          "); it must be within 1,000,000 of 0");
  return graph::of_user_call("matrix_power", x.where, [&] { return power_of(x.parts, n); });
}

ComplexParts tensor_inverse(const MatrixOperand& x, int first_axes) {
  const Shape& shape = x.parts.real.shape();
  require(first_axes > 0 && first_axes < shape.rank(), "[tensor_inverse] the first ", first_axes,
          " axes of ", shape, " (at ", At{x.where},
          "); one at least must be before and one behind");
  return graph::of_user_call("tensor_inverse", x.where, [&] {
    const Shape rows(shape.begin(), shape.begin() + first_axes);
    Shape sizes(shape.begin() + first_axes, shape.end());
    const std::int64_t columns = element_count(sizes);
    sizes.insert(sizes.end(), rows.begin(), rows.end());
    return reshaped(inverse_of(reshaped(x.parts, {element_count(rows), columns})), sizes);
  });
}

ComplexParts tensor_solve(const MatrixOperand& x, const MatrixOperand& b,
                          const std::vector<int>& moved_axes) {
  return graph::of_user_call("tensor_solve", x.where, [&] {
    const int rank = x.parts.real.rank();
    std::vector<int> last = moved_axes, order;
    for (int& axis : last) axis = normalise_axis(axis, rank).value_or(-1);
    for (int axis = 0; axis < rank; ++axis)
      if (std::ranges::find(last, axis) == last.end()) order.push_back(axis);
    order.insert(order.end(), last.begin(), last.end());
    const ComplexParts turned = permuted(x.parts, order);
    const std::int64_t n = b.parts.real.count();
    const Shape& all = turned.real.shape();
    const Shape sizes(all.begin() + b.parts.real.rank(), all.end());
    const ComplexParts a = reshaped(turned, {n, n}), right = reshaped(b.parts, {n});
    const ComplexParts y = a.imaginary.defined()
                               ? solve(ComplexTensor(a), ComplexTensor(right)).parts()
                               : ComplexParts{solve(a.real, right.real), {}};
    return reshaped(y, sizes);
  });
}

}  // namespace tilewright
