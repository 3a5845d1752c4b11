// Compares derivatives with differences of the functions that they are the derivatives of, in f64,
// at once and compiled.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "graph/compile/compile.h"

namespace tilewright::testing_differences {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;
using Derivative = std::function<Tensors(const Tensor& gradient, const Tensors&)>;

// f64 in [-2, 2], none within 0.05 of a whole number or a half, where slopes may change.
inline Tensor doubles(const Shape& shape, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> part(0, 7);
  std::uniform_real_distribution<double> rest(0.05, 0.45);
  std::vector<double> elements(static_cast<std::size_t>(element_count(shape)));
  for (double& x : elements) x = part(random) * 0.5 - 2 + rest(random);
  return Tensor::from(elements, shape);
}

// Of the sum of f(x) times the gradient, by the k-th operand.
inline std::vector<double> differences(const Function& f, const Tensors& operands, std::size_t k,
                                       const Tensor& gradient) {
  constexpr double step = 1e-5;
  const std::vector<double> at = operands[k].to_vector<double>();
  std::vector<double> slopes;
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto moved = [&](double by) {
      std::vector<double> elements = at;
      elements[i] += by;
      Tensors all = operands;
      all[k] = Tensor::from(elements, operands[k].shape());
      return sum(f(all) * gradient).item<double>();
    };
    slopes.push_back((moved(step) - moved(-step)) / (2 * step));
  }
  return slopes;
}

// The derivative gives the gradients of the first operands.
inline void expect_derivative(const Function& f, const Derivative& derivative,
                              const Tensors& operands) {
  const Tensor gradient = doubles(f(operands).shape(), 99);
  Tensors arguments = operands;
  arguments.insert(arguments.begin(), gradient);
  const std::function<Tensors(const Tensors&)> whole = [&](const Tensors& all) {
    return derivative(all[0], Tensors(all.begin() + 1, all.end()));
  };
  CompiledFunction compiled(whole, {.fullgraph = true});
  for (const Tensors& got : {whole(arguments), compiled.call(arguments)})
    for (std::size_t k = 0; k < got.size(); ++k) {
      SCOPED_TRACE(k);
      ASSERT_EQ(got[k].shape(), operands[k].shape());
      const std::vector<double> wanted = differences(f, operands, k, gradient),
                                values = got[k].to_vector<double>();
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_NEAR(values[i], wanted[i], 1e-5 * std::max(1.0, std::abs(wanted[i]))) << i;
    }
}

}  // namespace tilewright::testing_differences
