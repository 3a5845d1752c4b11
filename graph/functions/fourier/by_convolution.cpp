// A transform of any number of points as a convolution, by transforms of a power of two: j k is
// (j^2 + k^2 - (k - j)^2) / 2 (L. Bluestein, A linear filtering approach to the computation of the
// discrete Fourier transform, 1970).
#include <bit>
#include <complex>

#include "graph/functions/fourier/steps.h"

namespace tilewright::transforms {
namespace {

using Numbers = std::vector<std::complex<double>>;

// exp(sign pi i j^2 / n).
Root chirp(std::int64_t j, std::int64_t n, double sign) {
  return root_of_unity(j * j % (2 * n), 2 * n, sign);
}

// On the host, of a power of two.
Numbers transform_of_numbers(const Numbers& x) {
  const std::size_t n = x.size();
  if (n == 1) return x;
  Numbers even, odd, y(n);
  for (std::size_t j = 0; j < n; j += 2) {
    even.push_back(x[j]);
    odd.push_back(x[j + 1]);
  }
  even = transform_of_numbers(even);
  odd = transform_of_numbers(odd);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const Root root = root_of_unity(static_cast<std::int64_t>(k), static_cast<std::int64_t>(n), -1);
    const std::complex<double> turned = odd[k] * std::complex(root.cosine, root.sine);
    y[k] = even[k] + turned;
    y[k + n / 2] = even[k] - turned;
  }
  return y;
}

ComplexParts constants(const Numbers& numbers, DType dtype) {
  std::vector<double> real, imaginary;
  for (const auto& number : numbers) {
    real.push_back(number.real());
    imaginary.push_back(number.imag());
  }
  const Shape shape{std::ssize(numbers), 1};
  return {constant_of(real, shape, dtype), constant_of(imaginary, shape, dtype)};
}

// exp(sign pi i j^2 / n) times a weight.
template <typename Weight>
ComplexParts chirps(std::int64_t count, const Transform& transform, DType dtype, Weight weight) {
  Numbers numbers;
  for (std::int64_t j = 0; j < count; ++j) {
    const Root root = chirp(j, transform.points, transform.sign);
    numbers.emplace_back(root.cosine * weight(j), root.sine * weight(j));
  }
  return constants(numbers, dtype);
}

}  // namespace

ComplexParts by_convolution(const ComplexParts& x, const Transform& transform) {
  const Tensor& some = x.real.defined() ? x.real : x.imaginary;
  const std::int64_t given = some.size(1), n = transform.points, wanted = transform.wanted;
  const auto length =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(given + wanted - 1)));
  Numbers kernel(static_cast<std::size_t>(length));
  for (std::int64_t j = 0; j < std::max(given, wanted); ++j) {
    const Root root = chirp(j, n, -transform.sign);
    const std::complex<double> number(root.cosine, root.sine);
    if (j < wanted) kernel[static_cast<std::size_t>(j)] = number;
    if (j > 0 && j < given) kernel[static_cast<std::size_t>(length - j)] = number;
  }
  kernel = transform_of_numbers(kernel);
  const DType dtype = some.dtype();
  ComplexParts y = times(
      x, chirps(given, transform, dtype, [&](std::int64_t j) { return transform.weight(j); }));
  y = transformed(y, {length, -1, 1, length});
  y = times(y, constants(kernel, dtype));
  y = transformed(y, {length, 1, transform.scale / static_cast<double>(length), wanted});
  y = times(y, chirps(wanted, transform, dtype, [](std::int64_t) { return 1.0; }));
  return transform.is_real ? ComplexParts{y.real, {}} : y;
}

}  // namespace tilewright::transforms
