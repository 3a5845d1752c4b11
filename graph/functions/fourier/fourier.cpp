#include "graph/functions/fourier/fourier.h"

#include <algorithm>

#include "graph/functions/fourier/steps.h"
#include "runtime/base/error.h"

namespace tilewright {

using transforms::Transform;

namespace {

constexpr std::int64_t most_in_matrix = 64;
constexpr std::int64_t largest_prime = 127;  // that is a step by itself
constexpr std::int64_t largest_step = 10;    // of several primes, at either end
constexpr std::int64_t largest_inner_step = 5;

// Largest first.
std::vector<std::int64_t> primes_of(std::int64_t n) {
  std::vector<std::int64_t> primes;
  for (std::int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) primes.push_back(p);
  if (n > 1) primes.push_back(n);
  std::ranges::reverse(primes);
  return primes;
}

// The largest prime that is left, and what fits beside it.
std::int64_t step_of(std::vector<std::int64_t>& primes, std::int64_t largest) {
  std::int64_t step = 1;
  std::erase_if(primes, [&](std::int64_t prime) {
    const bool fits = step == 1 || step * prime <= largest;
    if (fits) step *= prime;
    return fits;
  });
  return step;
}

// A kernel has some hundred operations, so that a step between two others, where terms are complex
// and are multiplied by roots, is a shorter one: more would be computed in parts, each of which
// reads all terms. The first step of real terms and the last one have room for more.
std::vector<std::int64_t> steps_of(std::vector<std::int64_t> primes, bool is_real) {
  std::vector<std::int64_t> steps{step_of(primes, is_real ? largest_step : largest_inner_step)};
  const std::int64_t last = primes.empty() ? 1 : step_of(primes, largest_step);
  while (!primes.empty()) steps.push_back(step_of(primes, largest_inner_step));
  if (last != 1) steps.push_back(last);
  return steps;
}

// x as [outer, size, inner] about an axis, in the dtype that is computed in; and back.
struct AlongAxis {
  AlongAxis(const ComplexTensor& x, int named, std::string_view operation) {
    const auto own = normalise_axis(named, x.rank());
    require(own.has_value(), "[", operation, "] axis ", named, " of [", x.shape(), "]; it has ",
            x.rank());
    shape = x.shape();
    axis = *own;
    dtype = x.dtype();
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    auto taken = [&](const Tensor& part) {
      return part.defined() ? part.to(dtype == f64 ? f64 : f32).reshape({outer, shape[axis], inner})
                            : Tensor();
    };
    all = {taken(x.parts().real), taken(x.parts().imaginary)};
  }
  ComplexTensor computed(const Transform& transform, std::string_view operation) {
    require(transform.points >= 1 && transform.points <= most_fourier_points, "[", operation,
            "] a transform of ", transform.points, " points; there must be from 1 to ",
            most_fourier_points);
    shape[axis] = transform.wanted;
    if (outer * inner == 0) return {zeros(shape, dtype), zeros(shape, dtype)};
    const ComplexParts y = transforms::transformed(all, transform);
    auto given = [&](const Tensor& part) {
      return part.defined() ? part.reshape(shape).to(dtype) : Tensor();
    };
    return {given(y.real), given(y.imaginary)};
  }

  Shape shape;
  int axis = 0;
  std::int64_t outer = 1, inner = 1;
  DType dtype = f32;
  ComplexParts all;
};

double sign_of(const FourierOptions& options) {
  return options.sign == FourierSign::forward ? -1 : 1;
}

}  // namespace

ComplexParts transforms::transformed(const ComplexParts& x, const Transform& transform) {
  const std::vector<std::int64_t> primes = primes_of(transform.points);
  const bool is_short =
      transform.points <= most_in_matrix || (primes.size() == 1 && primes.front() <= largest_prime);
  if (is_short) return by_matrix(x, transform);
  if (primes.front() > largest_prime) return by_convolution(x, transform);
  return by_factors(x, transform, steps_of(primes, !x.imaginary.defined()));
}

ComplexTensor fourier(const ComplexTensor& x, int axis, const FourierOptions& options) {
  AlongAxis along(x, axis, "fourier");
  const std::int64_t points = along.shape[along.axis];
  return along.computed({points, sign_of(options), options.scale, points}, "fourier");
}

ComplexTensor half_fourier(const TensorOperand& x, int axis, const FourierOptions& options) {
  AlongAxis along(ComplexTensor(x.tensor), axis, "half_fourier");
  const std::int64_t points = along.shape[along.axis];
  return along.computed({points, sign_of(options), options.scale, points / 2 + 1}, "half_fourier");
}

Tensor real_fourier(const ComplexTensor& half, int axis, std::int64_t points,
                    const FourierOptions& options) {
  AlongAxis along(half, axis, "real_fourier");
  const std::int64_t given = along.shape[along.axis];
  require(given == points / 2 + 1, "[real_fourier] ", given, " elements for ", points,
          " real results; they need ", points / 2 + 1);
  Transform transform{points, sign_of(options), options.scale, points};
  transform.is_real = transform.is_mirrored = true;
  return along.computed(transform, "real_fourier").real();
}

}  // namespace tilewright
