// A transform as a product by a matrix of roots of unity.
#include "graph/functions/fourier/steps.h"

namespace tilewright::transforms {
namespace {

// The factors for a real or an imaginary operand: beside each other those of the real results, then
// those of the imaginary ones. [given, results], or turned.
Tensor matrix(const Transform& transform, std::int64_t given, bool of_imaginary, bool is_turned,
              DType dtype) {
  const std::int64_t wanted = transform.wanted, results = transform.is_real ? wanted : 2 * wanted;
  std::vector<double> values(static_cast<std::size_t>(given * results));
  for (std::int64_t j = 0; j < given; ++j)
    for (std::int64_t k = 0; k < results; ++k) {
      const bool is_imaginary = k >= wanted;
      const Root root = root_of_unity(j * (k % wanted), transform.points, transform.sign);
      const double factor = is_imaginary == of_imaginary ? root.cosine
                            : of_imaginary               ? -root.sine
                                                         : root.sine;
      values[static_cast<std::size_t>(is_turned ? k * given + j : j * results + k)] =
          factor * transform.scale * transform.weight(j);
    }
  return constant_of(values, is_turned ? Shape{results, given} : Shape{given, results}, dtype);
}

}  // namespace

ComplexParts by_matrix(const ComplexParts& x, const Transform& transform) {
  const Tensor& some = x.real.defined() ? x.real : x.imaginary;
  const std::int64_t outer = some.size(0), given = some.size(1), inner = some.size(2);
  const bool is_turned = inner != 1;
  auto product = [&](const Tensor& part, bool is_imaginary) {
    const Tensor factors = matrix(transform, given, is_imaginary, is_turned, part.dtype());
    return is_turned ? matmul(factors, part) : matmul(part.reshape({outer, given}), factors);
  };
  Tensor y;
  if (x.real.defined()) y = product(x.real, false);
  if (x.imaginary.defined()) {
    Tensor other = product(x.imaginary, true);
    y = y.defined() ? y + other : other;
  }
  auto part = [&](std::int64_t first) {
    return y.slice(1, first, first + transform.wanted).reshape({outer, transform.wanted, inner});
  };
  if (transform.is_real) return {part(0), {}};
  return {part(0), part(transform.wanted)};
}

}  // namespace tilewright::transforms
