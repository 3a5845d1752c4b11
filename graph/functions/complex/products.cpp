#include "graph/functions/complex/products.h"

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/reductions.h"
#include "graph/functions/reducing/products.h"
#include "runtime/base/error.h"

namespace tilewright {

ComplexTensor adjoint(const ComplexTensor& z) {
  return conj(z.rank() < 2 ? z : z.transpose(-2, -1));
}

ComplexTensor matmul(const ComplexTensor& a, const ComplexTensor& b) {
  return multiply_parts(a, b, [](const Tensor& x, const Tensor& y) { return matmul(x, y); });
}
ComplexTensor linalg_multi_dot(const std::vector<ComplexTensor>& matrices) {
  require(matrices.size() >= 2, "[linalg_multi_dot] ", matrices.size(),
          " matrices; at least two are wanted");
  ComplexTensor product = matrices[0];
  for (std::size_t i = 1; i < matrices.size(); ++i) product = matmul(product, matrices[i]);
  return product;
}
ComplexTensor dot(const ComplexTensor& a, const ComplexTensor& b) {
  return multiply_parts(a, b, [](const Tensor& x, const Tensor& y) { return dot(x, y); });
}
ComplexTensor vdot(const ComplexTensor& a, const ComplexTensor& b) { return dot(conj(a), b); }
ComplexTensor linalg_vecdot(const ComplexTensor& a, const ComplexTensor& b, int axis) {
  return sum(conj(a) * b, {axis});
}
ComplexTensor inner(const ComplexTensor& a, const ComplexTensor& b) {
  return multiply_parts(a, b, [](const Tensor& x, const Tensor& y) { return inner(x, y); });
}
ComplexTensor outer(const ComplexTensor& a, const ComplexTensor& b) {
  return multiply_parts(a, b, [](const Tensor& x, const Tensor& y) { return outer(x, y); });
}
ComplexTensor kron(const ComplexTensor& a, const ComplexTensor& b) {
  return multiply_parts(a, b, [](const Tensor& x, const Tensor& y) { return kron(x, y); });
}
ComplexTensor cross(const ComplexTensor& a, const ComplexTensor& b, std::optional<int> axis) {
  return multiply_parts(a, b, [&](const Tensor& x, const Tensor& y) { return cross(x, y, axis); });
}
ComplexTensor tensordot(const ComplexTensor& a, const ComplexTensor& b,
                        const std::vector<int>& axes_of_a, const std::vector<int>& axes_of_b) {
  return multiply_parts(a, b, [&](const Tensor& x, const Tensor& y) {
    return tensordot(x, y, axes_of_a, axes_of_b);
  });
}

// The sum over the choices of a part of each operand; i to the power of how many are imaginary says
// which part of the result a term belongs to, and its sign.
ComplexTensor einsum(std::string_view equation, const std::vector<ComplexTensor>& operands) {
  constexpr std::size_t most_operands = 6;
  require(!operands.empty() && operands.size() <= most_operands, "[einsum] ", operands.size(),
          " complex operands; 1 to ", most_operands, " are supported");
  std::vector<Tensor> chosen(operands.size());
  Tensor parts[2];
  for (std::size_t choice = 0; choice < std::size_t{1} << operands.size(); ++choice) {
    int imaginary = 0;
    bool is_zero = false;
    for (std::size_t i = 0; i < operands.size() && !is_zero; ++i) {
      const bool is_imaginary = (choice >> i & 1) != 0;
      is_zero = is_imaginary && operands[i].is_real();
      imaginary += is_imaginary;
      chosen[i] = is_imaginary ? operands[i].imag() : operands[i].real();
    }
    if (is_zero) continue;
    const Tensor term = einsum(equation, chosen);
    Tensor& part = parts[imaginary % 2];
    const bool is_negative = imaginary % 4 >= 2;
    if (!part.defined())
      part = is_negative ? -term : term;
    else
      part = is_negative ? part - term : part + term;
  }
  return {parts[0], parts[1]};
}

ComplexTensor linear(const ComplexTensor& x, const ComplexTensor& weight) {
  return matmul(x, weight.rank() < 2 ? weight : weight.transpose(0, 1));
}
ComplexTensor linear(const ComplexTensor& x, const ComplexTensor& weight,
                     const ComplexTensor& bias) {
  return linear(x, weight) + bias;
}

// By the real matrices of twice the size, [A, -B; B, A] for A + iB.
ComplexTensor matrix_exp(const ComplexTensor& z) {
  if (z.is_real()) return ComplexTensor(matrix_exp(z.real()));
  require(z.rank() >= 2, "[matrix_exp] the operand is [", z.shape(),
          "]; matrices [.., N, N] are wanted");
  const int last = z.rank() - 1;
  const std::int64_t n = z.size(last);
  const Tensor left = cat({z.real(), z.imag()}, last - 1);
  const Tensor right = cat({-z.imag(), z.real()}, last - 1);
  const Tensor half = matrix_exp(cat({left, right}, last)).slice(last, 0, n);
  return {half.slice(last - 1, 0, n), half.slice(last - 1, n, 2 * n)};
}

ComplexTensor linalg_vander(const ComplexTensor& z, std::optional<std::int64_t> count) {
  require(z.rank() >= 1, "[linalg_vander] the operand has no axes; at least one is wanted");
  const std::int64_t powers = count.value_or(z.size(-1));
  require(powers >= 1, "[linalg_vander] ", powers, " powers; at least 1 is wanted");
  Shape sizes = z.shape();
  sizes.push_back(powers);
  const Tensor is_first = arange(0, powers) == std::int64_t{0};
  auto behind = [&](const Tensor& part, double first) {
    return where(is_first, first, part.unsqueeze(-1).expand(sizes)).to(part.dtype());
  };
  return cumprod({behind(z.real(), 1), behind(z.imag(), 0)}, z.rank());
}

}  // namespace tilewright
