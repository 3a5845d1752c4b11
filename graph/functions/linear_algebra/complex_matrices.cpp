#include "graph/functions/linear_algebra/complex_matrices.h"

#include <algorithm>
#include <optional>

#include "graph/functions/linear_algebra/dense/factors.h"
#include "graph/functions/linear_algebra/host_matrices.h"
#include "graph/functions/linear_algebra/matrices.h"
#include "graph/functions/shaping/axes.h"
#include "graph/ops/derivatives/gradient_graph.h"
#include "graph/tensor/ruled_functions.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::HostMatrices;
using std::source_location;
namespace dense = graph::dense;

ComplexLuFactors lu_factor(const ComplexTensor& a, source_location w) {
  HostMatrices m("lu_factor", {a.parts()}, w);
  m.call(dense::lu(m.is_complex()));
  return {m.next(), m.next_number().to(i32), m.next_number().to(i64), m.next_real()};
}

ComplexTensor cholesky(const ComplexTensor& a, bool upper, source_location w) {
  HostMatrices m("cholesky", {a.parts()}, w);
  m.require_square();
  m.call(dense::cholesky(m.is_complex(), upper ? dense::upper : 0));
  return m.next();
}

namespace {

Shape batch_of(const Tensor& x) { return Shape(x.shape().begin(), x.shape().end() - 2); }
Shape with(Shape sizes, std::initializer_list<std::int64_t> more) {
  sizes.insert(sizes.end(), more.begin(), more.end());
  return sizes;
}

struct Equations {
  ComplexTensor a, b;
};
// Batches of both, broadcast.
Equations of_one_batch(std::string_view operation, const ComplexTensor& a, const ComplexTensor& b) {
  auto is_matrix = [](const ComplexTensor& x) { return x.rank() >= 2; };
  std::optional<Shape> batch;
  if (is_matrix(a) && is_matrix(b) && a.size(-1) == a.size(-2) && a.size(-1) == b.size(-2))
    batch = broadcast_shapes(batch_of(a.real()), batch_of(b.real()));
  require(batch.has_value(), "[", operation, "] the matrices are [", a.shape(), "] and [",
          b.shape(), "]; square ones, and others with as many rows, are wanted");
  auto widened = [&](const Tensor& x) { return x.expand(with(*batch, {x.size(-2), x.size(-1)})); };
  return {map_parts(a, widened), map_parts(b, widened)};
}

// Where one matrix is for many right sides, these are columns of one. [.., n, k] as [n, columns].
Tensor side_by_side(const Tensor& b) {
  return movedim(b, -2, 0).reshape({b.size(-2), b.count() / std::max<std::int64_t>(1, b.size(-2))});
}
Tensor apart(const Tensor& x, const Shape& shape) {
  Shape sizes = {shape[shape.rank() - 2]};
  sizes.insert(sizes.end(), shape.begin(), shape.end() - 2);
  sizes.push_back(shape[shape.rank() - 1]);
  return movedim(x.reshape(sizes), 0, -2);
}

template <typename Op>
ComplexTensor solved(std::string_view operation, const ComplexTensor& a, const ComplexTensor& b,
                     source_location w, const Op& op) {
  const bool is_for_all = a.rank() >= 2 && b.rank() > 2 && b.count() > 0 &&
                          element_count(batch_of(a.real())) == 1 && a.rank() <= b.rank() &&
                          a.size(-1) == b.size(-2);
  if (is_for_all) {
    auto one = [](const Tensor& x) { return x.reshape({x.size(-2), x.size(-1)}); };
    const ComplexTensor x = solved(operation, map_parts(a, one), map_parts(b, side_by_side), w, op);
    return map_parts(x, [&](const Tensor& part) { return apart(part, b.shape()); });
  }
  const Equations all = of_one_batch(operation, a, b);
  HostMatrices m(operation, {all.a.parts(), all.b.parts()}, w);
  m.call(op(m.is_complex()));
  return m.next();
}

}  // namespace

ComplexTensor solve_triangular(const ComplexTensor& a, const ComplexTensor& b,
                               const TriangularOptions& options, source_location w) {
  const dense::Flags flags =
      (options.upper ? dense::upper : 0) | (options.unit_diagonal ? dense::unit_diagonal : 0);
  return solved("solve_triangular", a, b, w,
                [flags](bool is_complex) { return dense::triangular_solution(is_complex, flags); });
}

ComplexTensor solve(const ComplexTensor& a, const ComplexTensor& b, source_location w) {
  const Tensor& right = b.real();
  if (right.rank() == 1 || right.rank() + 1 == a.rank()) {
    const Shape batch(a.shape().begin(), a.shape().end() - 1);
    if (right.rank() == 1 || right.shape() == batch) {
      auto column = [](const Tensor& x) { return x.unsqueeze(-1); };
      return map_parts(solve(a, map_parts(b, column), w),
                       [](const Tensor& x) { return x.squeeze(-1); });
    }
  }
  return solved("solve", a, b, w, dense::solution);
}

ComplexTensor inverse(const ComplexTensor& a, source_location w) {
  HostMatrices m("inverse", {a.parts()}, w);
  m.require_square();
  m.call(dense::inverse(m.is_complex()));
  return m.next();
}

ComplexTensor determinant(const ComplexTensor& a, source_location w) {
  HostMatrices m("determinant", {a.parts()}, w);
  m.require_square();
  m.call(dense::determinant(m.is_complex()));
  return m.next();
}

ComplexLogDeterminant log_determinant(const ComplexTensor& a, source_location w) {
  HostMatrices m("log_determinant", {a.parts()}, w);
  m.require_square();
  m.call(dense::determinant(m.is_complex()));
  m.next();
  return {m.next(), m.next_real()};
}

std::pair<ComplexTensor, ComplexTensor> geqrf(const ComplexTensor& a, source_location w) {
  HostMatrices m("geqrf", {a.parts()}, w);
  m.call(dense::reflections(m.is_complex()));
  ComplexTensor factors = m.next();
  return {factors, m.next()};
}

ComplexTensor reflected(const ComplexTensor& vectors, const ComplexTensor& tau,
                        const ComplexTensor& matrices, bool undone, source_location w) {
  const Tensor &v = vectors.real(), &x = matrices.real();
  const std::int64_t count = tau.size(-1);
  require(v.rank() >= 2 && x.rank() >= 2 && batch_of(v) == batch_of(x) &&
              v.size(-2) == x.size(-2) && count <= v.size(-1),
          "[reflected] ", count, " reflections [", v.shape(), "] of [", x.shape(),
          "]; as many rows, and batches of one shape, are wanted");
  HostMatrices m("reflected", {vectors.parts(), matrices.parts()}, w);
  m.add_vectors(tau.parts());
  m.call(dense::reflected(m.is_complex(), undone ? dense::undone : 0));
  return m.next();
}

ComplexTensor householder_product(const ComplexTensor& vectors, const ComplexTensor& tau,
                                  source_location w) {
  const Tensor& v = vectors.real();
  graph::require_matrices({v, w}, "householder_product");
  const std::int64_t m = v.size(-2), count = std::min(m, v.size(-1));
  Tensor whole = (arange(0, m).unsqueeze(1) == arange(0, count)).to(v.dtype());
  return reflected(vectors, tau, {whole.expand(with(batch_of(v), {m, count})), {}}, false, w);
}

std::pair<ComplexTensor, ComplexTensor> qr(const ComplexTensor& a, bool complete,
                                           source_location w) {
  HostMatrices m("qr", {a.parts()}, w);
  m.call(dense::orthogonal(m.is_complex(), complete ? dense::complete : 0));
  ComplexTensor q = m.next();
  return {q, m.next()};
}

std::pair<ComplexTensor, ComplexTensor> eig(const ComplexTensor& a, source_location w) {
  std::vector<Tensor> parts = {a.real()};
  if (!a.is_real()) parts.push_back(a.imag());
  auto found = [&](std::span<const Tensor> given) -> std::vector<Tensor> {
    HostMatrices m("eig", {{given[0], given.size() > 1 ? given[1] : Tensor()}}, w);
    m.require_square();
    m.call(dense::spectrum(m.is_complex(), 0));
    const ComplexParts values = m.next_complex(), vectors = m.next_complex();
    return {values.real, values.imaginary, vectors.real, vectors.imaginary};
  };
  const std::vector<Tensor> all = graph::with_rule("eig", parts, {}, found, w);
  return {ComplexTensor(all[0], all[1]), ComplexTensor(all[2], all[3])};
}

ComplexTensor eigvals(const ComplexTensor& a, source_location w) {
  // Their derivative needs the vectors.
  if (graph::CapturesForDerivatives::is_active()) return eig(a, w).first;
  HostMatrices m("eigvals", {a.parts()}, w);
  m.require_square();
  m.call(dense::spectrum(m.is_complex(), dense::values_only));
  return m.next_complex();
}

std::pair<Tensor, ComplexTensor> eigh(const ComplexTensor& a, bool upper, source_location w) {
  HostMatrices m("eigh", {a.parts()}, w);
  m.require_square();
  m.call(dense::symmetric_spectrum(m.is_complex(), upper ? dense::upper : 0));
  Tensor values = m.next_real();
  return {values, m.next()};
}

Tensor eigvalsh(const ComplexTensor& a, bool upper, source_location w) {
  HostMatrices m("eigvalsh", {a.parts()}, w);
  m.require_square();
  m.call(
      dense::symmetric_spectrum(m.is_complex(), dense::values_only | (upper ? dense::upper : 0)));
  return m.next_real();
}

ComplexSingularValues svd(const ComplexTensor& a, bool complete, source_location w) {
  HostMatrices m("svd", {a.parts()}, w);
  m.call(dense::singular_values(m.is_complex(), complete ? dense::complete : 0));
  return {m.next(), m.next_real(), m.next()};
}

Tensor svdvals(const ComplexTensor& a, source_location w) {
  HostMatrices m("svdvals", {a.parts()}, w);
  m.call(dense::singular_values(m.is_complex(), dense::values_only));
  return m.next_real();
}

}  // namespace tilewright
