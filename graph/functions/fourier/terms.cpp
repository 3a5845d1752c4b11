#include "graph/functions/fourier/terms.h"

#include <array>
#include <cmath>
#include <numbers>

#include "graph/tensor/tensor_body.h"

namespace tilewright::transforms {
namespace {

Tensor sum(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return a + b;
}
Tensor difference(const Tensor& a, const Tensor& b) {
  if (!b.defined()) return a;
  return a.defined() ? a - b : -b;
}
Tensor scaled(const Tensor& x, double factor) {
  if (!x.defined() || factor == 0) return {};
  if (factor == 1) return x;
  return factor == -1 ? -x : x * factor;
}
ComplexParts sum(const ComplexParts& a, const ComplexParts& b) {
  return {sum(a.real, b.real), sum(a.imaginary, b.imaginary)};
}
ComplexParts difference(const ComplexParts& a, const ComplexParts& b) {
  return {difference(a.real, b.real), difference(a.imaginary, b.imaginary)};
}

// For an odd prime: the sums over pairs j, n - j, whose factors are conjugates.
ComplexTerms of_prime(const ComplexTerms& x, double sign) {
  const std::size_t n = x.size(), half = n / 2;
  ComplexTerms both(half + 1), against(half + 1), y(n, x[0]);
  for (std::size_t j = 1; j <= half; ++j) {
    both[j] = sum(x[j], x[n - j]);
    against[j] = difference(x[j], x[n - j]);
    y[0] = sum(y[0], both[j]);
  }
  for (std::size_t k = 1; k <= half; ++k) {
    ComplexParts even = x[0], odd;
    for (std::size_t j = 1; j <= half; ++j) {
      const Root root =
          root_of_unity(static_cast<std::int64_t>(j * k), static_cast<std::int64_t>(n), sign);
      even = sum(even, times(both[j], Root{root.cosine, 0}));
      odd = sum(odd, times(against[j], Root{0, root.sine}));
    }
    y[k] = sum(even, odd);
    y[n - k] = difference(even, odd);
  }
  return y;
}

ComplexTerms of_four(const ComplexTerms& x, double sign) {
  const ComplexParts a = sum(x[0], x[2]), b = difference(x[0], x[2]), c = sum(x[1], x[3]),
                     d = times(difference(x[1], x[3]), Root{0, sign});
  return {sum(a, c), sum(b, d), difference(a, c), difference(b, d)};
}

std::size_t factor_of(std::size_t n) {
  if (n % 4 == 0) return 4;
  std::size_t factor = 2;
  while (n % factor != 0) ++factor;
  return factor;
}

}  // namespace

Root root_of_unity(std::int64_t k, std::int64_t n, double sign) {
  k %= n;
  if (k < 0) k += n;
  if (8 * k % n == 0) {
    const double h = std::numbers::sqrt2 / 2;
    const std::array<double, 8> cosines = {1, h, 0, -h, -1, -h, 0, h};
    const auto eighth = static_cast<std::size_t>(8 * k / n);
    return {cosines[eighth], sign * cosines[(eighth + 6) % 8]};
  }
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), sign * std::sin(angle)};
}

Tensor constant_of(const std::vector<double>& values, const Shape& shape, DType dtype) {
  Tensor constant = dtype == f64
                        ? Tensor::from(values, shape)
                        : Tensor::from(std::vector<float>(values.begin(), values.end()), shape);
  constant.body()->is_constant = true;
  return constant;
}

ComplexParts times(const ComplexParts& x, const Root& factor) {
  return {difference(scaled(x.real, factor.cosine), scaled(x.imaginary, factor.sine)),
          sum(scaled(x.real, factor.sine), scaled(x.imaginary, factor.cosine))};
}
ComplexParts times(const ComplexParts& x, const ComplexParts& factor) {
  auto product = [](const Tensor& a, const Tensor& b) {
    return a.defined() && b.defined() ? a * b : Tensor();
  };
  return {difference(product(x.real, factor.real), product(x.imaginary, factor.imaginary)),
          sum(product(x.real, factor.imaginary), product(x.imaginary, factor.real))};
}

ComplexTerms transform_of_terms(const ComplexTerms& x, double sign) {
  const std::size_t n = x.size(), outer = n == 1 ? 1 : factor_of(n), inner = n / outer;
  if (n == 1) return x;
  if (n == 2) return {sum(x[0], x[1]), difference(x[0], x[1])};
  if (n == 4) return of_four(x, sign);
  if (outer == n) return of_prime(x, sign);
  std::vector<ComplexTerms> columns;
  for (std::size_t j = 0; j < inner; ++j) {
    ComplexTerms column;
    for (std::size_t i = 0; i < outer; ++i) column.push_back(x[i * inner + j]);
    column = transform_of_terms(column, sign);
    for (std::size_t k = 0; k < outer; ++k)
      column[k] = times(column[k], root_of_unity(static_cast<std::int64_t>(j * k),
                                                 static_cast<std::int64_t>(n), sign));
    columns.push_back(std::move(column));
  }
  ComplexTerms y(n);
  for (std::size_t k = 0; k < outer; ++k) {
    ComplexTerms row;
    for (const ComplexTerms& column : columns) row.push_back(column[k]);
    row = transform_of_terms(row, sign);
    for (std::size_t i = 0; i < inner; ++i) y[k + outer * i] = row[i];
  }
  return y;
}

}  // namespace tilewright::transforms
