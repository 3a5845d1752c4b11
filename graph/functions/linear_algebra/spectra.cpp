#include "graph/functions/linear_algebra/spectra.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/creation.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/linear_algebra/host_matrices.h"
#include "graph/functions/linear_algebra/matrices.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "graph/functions/named/named_function.h"
#include "graph/functions/named/rules.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::FunctionCall;
using graph::Matrices;
using graph::NamedFunction;
using graph::real_operand;

namespace {

// For each turn, which column is rotated with which, [turns, n]: each with each other one, as in a
// tournament. In turn t those meet whose places add up to t, modulo the number of places but one;
// the one whose own double that is meets the last place, and where n is odd it rests.
Tensor partners(std::int64_t n) {
  const std::int64_t even = n + n % 2, round = even - 1;
  std::int64_t sweeps = 10;  // after some six nothing is left to do; more for many columns
  for (std::int64_t size = n; size > 1; size /= 2) ++sweeps;
  const Tensor t = remainder(arange(0, sweeps * round), round).unsqueeze(1), i = arange(0, n);
  const Tensor alone = remainder(t * (even / 2), round);  // twice it is t
  Tensor other = where(i == round, alone, remainder(t - i + round, round));
  other = where(logical_and(i == alone, i != round), round, other);
  return where(other < n, other, i + 0 * other);
}

// By how much a column counts in its rotated one, and its partner: [b, n].
struct Rotation {
  Tensor own, other;
};
// That makes `between` zero, the product of the two, where `size` is the product with itself.
Rotation rotation(const Tensor& size, const Tensor& between, const Tensor& partner) {
  Tensor i = arange(0, partner.count());
  Tensor of_partner = partner.unsqueeze(0).expand(size.shape());
  Tensor sizes = gather(size, 1, of_partner), is_first = i < partner;
  // Both turn by one angle, or lengths change: what is between them is taken from the first, since
  // where it is no more than rounding that of the second may be any other.
  Tensor middle = where(is_first, between, gather(between, 1, of_partner));
  Tensor tau = where(is_first, sizes - size, size - sizes) / (middle * 2.0);
  Tensor t = 1.0 / (abs(tau) + sqrt(1.0 + tau * tau));
  t = where(tau < 0.0, -t, t);
  t = where(logical_or(middle == 0.0, partner == i), 0.0, t);
  Tensor cosine = rsqrt(1.0 + t * t), sine = t * cosine;
  return {cosine, where(is_first, -sine, sine)};
}
Tensor columns_rotated(const Tensor& x, const Rotation& by, const Tensor& partner) {
  Tensor others = gather(x, 2, partner.reshape({1, 1, -1}).expand(x.shape()));
  return x * by.own.unsqueeze(1) + others * by.other.unsqueeze(1);
}
Tensor turned(const Tensor& x) { return x.transpose(1, 2); }

Tensor columns_in_order(const Tensor& x, const Tensor& order) {
  return gather(x, 2, order.unsqueeze(1).expand(x.shape()));
}

Tensors eigh_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  const bool upper = call.settings.flag("upper");
  if (!call.target.is_gpu()) {
    auto [values, vectors] = eigh(real_operand(a, "eigh"), upper, a.where);
    return {values, vectors.real()};
  }
  const Matrices m(a, "eigh");
  m.require_square("eigh");
  const std::int64_t n = m.rows(), b = m.all.size(0);
  Tensor half = upper ? turned(m.all) : m.all;
  Tensor whole = tril(half) + turned(tril(half, -1)), vectors = graph::identities(b, n) + 0.0;
  if (n > 1 && b > 0) {
    auto turn = [&](const Tensors& state, const Tensors& sliced) -> Turn {
      const Tensor &x = state[0], &partner = sliced[0];
      Tensor between = gather(x, 2, partner.reshape({1, -1, 1}).expand({b, n, 1})).squeeze(2);
      const Rotation by = rotation(diagonal(x, 0, 1, 2), between, partner);
      Tensor once = columns_rotated(x, by, partner);
      return {{turned(columns_rotated(turned(once), by, partner)),
               columns_rotated(state[1], by, partner)},
              {}};
    };
    const Tensors last = scan(turn, {whole, vectors}, {partners(n)}).first;
    whole = last[0];
    vectors = last[1];
  }
  auto [values, order] = sort(diagonal(whole, 0, 1, 2), 1);
  return {m.restored(values), m.restored(columns_in_order(vectors, order))};
}

Tensors eigvalsh_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  const bool upper = call.settings.flag("upper");
  return {call.target.is_gpu() ? eigh(a, upper).first
                               : eigvalsh(real_operand(a, "eigvalsh"), upper, a.where)};
}

Tensors all_of(const SingularValues& parts) { return {parts.left, parts.values, parts.right}; }

Tensors singular_values_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  if (!call.target.is_gpu()) return all_of(svd(a));
  const Matrices m(a, "singular_values");
  const bool is_wide = m.columns() > m.rows();
  Tensor tall = is_wide ? turned(m.all) : m.all;
  const std::int64_t n = tall.size(2), b = tall.size(0);
  // Squares of the greatest element must neither overflow nor vanish.
  Tensor scale = zeros({b, 1, 1}, f64) + 1.0;
  if (tall.count() > 0) {
    const Tensor most = amax(abs(tall), {1, 2}, true);
    scale = where(logical_and(most > 0.0, most < HUGE_VAL), most, 1.0);
  }
  tall = tall / scale;
  Tensor right = graph::identities(b, n) + 0.0;
  if (n > 1 && b > 0) {
    auto turn = [&](const Tensors& state, const Tensors& sliced) -> Turn {
      const Tensor &x = state[0], &partner = sliced[0];
      Tensor others = gather(x, 2, partner.reshape({1, 1, -1}).expand(x.shape()));
      const Rotation by = rotation(sum(x * x, {1}), sum(x * others, {1}), partner);
      return {{columns_rotated(x, by, partner), columns_rotated(state[1], by, partner)}, {}};
    };
    const Tensors last = scan(turn, {tall, right}, {partners(n)}).first;
    tall = last[0];
    right = last[1];
  }
  auto [values, order] = sort(sqrt(sum(tall * tall, {1})), 1, true);
  Tensor divisor = where(values == 0.0, 1.0, values).unsqueeze(1);
  Tensor left = columns_in_order(tall, order) / divisor;
  right = columns_in_order(right, order);
  values = values * scale.squeeze(2);
  return {m.restored(is_wide ? right : left), m.restored(values),
          m.restored(is_wide ? left : right)};
}

// Columns that are orthonormal, but for some at the end that may be zero, completed to `count` that
// are: the reflections of a QR factorisation leave the signs of columns to be put right.
Tensor completed(const Tensor& columns, std::int64_t count) {
  auto [q, r] = qr(columns, true);
  Tensor signs = where(diagonal(r, 0, -2, -1) < 0.0, -1.0, 1.0).unsqueeze(-2);
  const std::int64_t given = signs.size(-1);
  Tensor first = q.slice(-1, 0, given) * signs;
  return count == given ? first : cat({first, q.slice(-1, given, count)}, -1);
}

Tensors svd_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  const bool complete = call.settings.flag("complete");
  if (!call.target.is_gpu()) {
    ComplexSingularValues parts = svd(real_operand(a, "svd"), complete, a.where);
    return {parts.left.real(), parts.values, parts.right.real()};
  }
  const Matrices m(a, "svd");
  const SingularValues parts = singular_values(m.all);
  const std::int64_t rank = std::min(m.rows(), m.columns());
  auto vectors = [&](const Tensor& of, std::int64_t size) {
    return m.restored(completed(of, complete ? size : rank));
  };
  return {vectors(parts.left, m.rows()), m.restored(parts.values),
          vectors(parts.right, m.columns())};
}

Tensors svdvals_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  return {call.target.is_gpu() ? singular_values(a).values
                               : svdvals(real_operand(a, "svdvals"), a.where)};
}

SingularValues singular_values_of(const Tensors& all) { return {all[0], all[1], all[2]}; }

}  // namespace

namespace graph::named {
extern const NamedFunction eigh_function;
const NamedFunction eigh_function("eigh", eigh_body, eigh_derivative);
extern const NamedFunction eigvalsh_function;
const NamedFunction eigvalsh_function("eigvalsh", eigvalsh_body, eigvalsh_derivative);
extern const NamedFunction singular_values_function;
const NamedFunction singular_values_function("singular_values", singular_values_body,
                                             svd_derivative);
extern const NamedFunction svd_function;
const NamedFunction svd_function("svd", svd_body, svd_derivative);
extern const NamedFunction svdvals_function;
const NamedFunction svdvals_function("svdvals", svdvals_body, svdvals_derivative);
}  // namespace graph::named

std::pair<Tensor, Tensor> eigh(const TensorOperand& a, bool upper) {
  Tensors both =
      graph::named::eigh_function({graph::tensor_of(a, "eigh")}, {{"upper", upper}}, a.where);
  return {both[0], both[1]};
}
Tensor eigvalsh(const TensorOperand& a, bool upper) {
  return graph::named::eigvalsh_function({graph::tensor_of(a, "eigvalsh")}, {{"upper", upper}},
                                         a.where)[0];
}
SingularValues singular_values(const TensorOperand& a) {
  return singular_values_of(graph::named::singular_values_function(
      {graph::tensor_of(a, "singular_values")}, {}, a.where));
}
SingularValues svd(const TensorOperand& a, bool complete) {
  return singular_values_of(
      graph::named::svd_function({graph::tensor_of(a, "svd")}, {{"complete", complete}}, a.where));
}
Tensor svdvals(const TensorOperand& a) {
  return graph::named::svdvals_function({graph::tensor_of(a, "svdvals")}, {}, a.where)[0];
}

static double step_above_one(DType dtype) { return std::ldexp(1.0, 1 - digits(dtype)); }

Tensor pinv(const TensorOperand& a, std::optional<double> rtol) {
  return graph::of_user_call("pinv", a.where, [&] {
    graph::require_matrices(a, "pinv");
    const Tensor& x = a.tensor;
    const DType dtype = x.dtype();
    const auto larger = static_cast<double>(std::max(x.size(-1), x.size(-2)));
    const double least = rtol.value_or(larger * step_above_one(dtype));
    if (x.count() == 0) return zeros_like(x).transpose(-2, -1);
    const SingularValues parts = svd(a);
    const Tensor greatest = parts.values.slice(-1, 0, 1);
    const Tensor factors =
        where(parts.values > greatest * least, reciprocal(parts.values), 0.0).to(dtype);
    return matmul(parts.right * factors.unsqueeze(-2), parts.left.transpose(-2, -1));
  });
}
Tensor lstsq(const TensorOperand& a, const Tensor& b, std::optional<double> rtol) {
  return graph::of_user_call("lstsq", a.where, [&] { return matmul(pinv(a, rtol), b); });
}

}  // namespace tilewright
