// The rules of eigenvalues of matrices that are not symmetric. Operands are the matrix, or its real
// and imaginary parts; results the parts of the values and of the vectors.
#include <optional>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/products.h"
#include "graph/functions/creation.h"
#include "graph/functions/derivatives/rule_tables.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/linear_algebra/solving.h"

namespace tilewright::graph::rules {

namespace {

using Tensors = std::vector<Tensor>;

// The cotangent of two parts; absent where none flows to either.
std::optional<ComplexTensor> flowing(const RuleCall& call, std::size_t first) {
  const Tensor &real = call.cotangents[first], &imaginary = call.cotangents[first + 1];
  if (!real.defined() && !imaginary.defined()) return std::nullopt;
  const Tensor& like = call.results[first];
  auto or_zeros = [&](const Tensor& x) { return x.defined() ? x : zeros_like(like); };
  return ComplexTensor(or_zeros(real), or_zeros(imaginary));
}

// X of A X = B by a real equation of twice the size, which has a derivative.
ComplexTensor solved(const ComplexTensor& a, const ComplexTensor& b) {
  const Tensor both = cat({cat({a.real(), -a.imag()}, -1), cat({a.imag(), a.real()}, -1)}, -2);
  const Tensor x = solve(both, cat({b.real(), b.imag()}, -2));
  const std::int64_t n = a.size(-1);
  return {x.slice(-2, 0, n), x.slice(-2, n, 2 * n)};
}

// With A V = V D, a change dA adds the diagonal of V^-1 dA V to D, and turns columns of V by the
// rest of it over the differences of values. Columns keep their length; their phases are free, so
// that nothing flows by these.
Tensors of_eig(const RuleCall& call) {
  const ComplexTensor values = {call.results[0], call.results[1]},
                      vectors = {call.results[2], call.results[3]}, back = adjoint(vectors);
  const auto of_values = flowing(call, 0), of_vectors = flowing(call, 2);
  std::optional<ComplexTensor> inner;
  if (of_values) inner = map_parts(*of_values, [](const Tensor& x) { return diag_embed(x); });
  if (of_vectors) {
    const ComplexTensor product = matmul(back, *of_vectors);
    const Tensor lengthening = diagonal(product.real(), 0, -2, -1).unsqueeze(-2);
    const ComplexTensor apart = values.unsqueeze(-2) - values.unsqueeze(-1),
                        turning = product - matmul(back, vectors) * lengthening;
    const Tensor number = arange(0, values.size(-1)), is_diagonal = number.unsqueeze(-1) == number;
    const ComplexTensor divisor = {where(is_diagonal, 1.0, apart.real()), -apart.imag()};
    const ComplexTensor quotient =
        map_parts(turning, [&](const Tensor& x) { return where(is_diagonal, 0.0, x); }) / divisor;
    inner = inner ? *inner + quotient : quotient;
  }
  if (!inner) return {};
  const ComplexTensor found = solved(back, matmul(*inner, back));
  if (call.operands.size() == 1) return {found.real()};
  return {found.real(), found.imag()};
}

constexpr Rule spectrum_rules[] = {{.name = "eig", .cotangents = of_eig}};

}  // namespace

std::span<const Rule> of_spectra() { return spectrum_rules; }

}  // namespace tilewright::graph::rules
