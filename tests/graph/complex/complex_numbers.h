// Complex tensors beside std::complex: made of numbers, compared with them, at once and compiled.
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <vector>

#include "graph/functions/complex/complex_tensor.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::testing_complex {

using testing_loops::Dice;
using testing_loops::Tensors;
using Complex = std::complex<double>;
using Numbers = std::vector<Complex>;
using ComplexTensors = std::vector<ComplexTensor>;
using ComplexFunction = std::function<ComplexTensor(const ComplexTensors&)>;

inline ComplexTensor complex_of(const Numbers& numbers, const Shape& shape, DType dtype = f64) {
  std::vector<double> pairs;
  for (const Complex& number : numbers) pairs.insert(pairs.end(), {number.real(), number.imag()});
  Shape sizes = shape;
  sizes.push_back(2);
  return view_as_complex(Tensor::from(pairs, sizes).to(dtype));
}
inline Numbers numbers_of(const ComplexTensor& z) {
  const auto real = z.real().to(f64).to_vector<double>();
  const auto imaginary = z.imag().to(f64).to_vector<double>();
  Numbers numbers;
  for (std::size_t i = 0; i < real.size(); ++i) numbers.emplace_back(real[i], imaginary[i]);
  return numbers;
}
inline Numbers random_numbers(Dice& dice, std::int64_t count) {
  const auto parts = dice.floats({2 * count}).to_vector<float>();
  Numbers numbers;
  for (std::size_t i = 0; i < parts.size(); i += 2) numbers.emplace_back(parts[i], parts[i + 1]);
  return numbers;
}
inline ComplexTensor random_complex(Dice& dice, const Shape& shape, DType dtype = f64) {
  return complex_of(random_numbers(dice, element_count(shape)), shape, dtype);
}

inline void expect_near(const ComplexTensor& got, const Shape& shape, const Numbers& wanted,
                        double bound = 1e-12) {
  ASSERT_EQ(got.shape(), shape);
  const Numbers numbers = numbers_of(got);
  ASSERT_EQ(numbers.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_LE(std::abs(numbers[i] - wanted[i]), bound * (1 + std::abs(wanted[i])))
        << i << ": " << numbers[i] << ", wanted " << wanted[i];
}
inline void expect_same(const ComplexTensor& got, const ComplexTensor& wanted,
                        double bound = 1e-12) {
  expect_near(got, wanted.shape(), numbers_of(wanted), bound);
}

// Runs the function at once, and compiled as one graph of real tensors.
inline void expect_near(const ComplexFunction& function, const ComplexTensors& arguments,
                        const Shape& shape, const Numbers& wanted, double bound = 1e-12) {
  Tensors pairs;
  for (const ComplexTensor& argument : arguments) pairs.push_back(view_as_real(argument));
  testing_loops::expect_at_once_and_compiled(
      [&](const Tensors& given) {
        ComplexTensors seen;
        for (const Tensor& each : given) seen.push_back(view_as_complex(each));
        return Tensors{view_as_real(function(seen))};
      },
      pairs,
      [&](const Tensors& got) { expect_near(view_as_complex(got[0]), shape, wanted, bound); });
}

}  // namespace tilewright::testing_complex
