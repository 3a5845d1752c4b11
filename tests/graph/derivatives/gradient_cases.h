// The functions whose gradients are compared with PyTorch's: those of tools/gradient_cases.py under
// the same names, on tensors of the same elements.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::testing_gradients {

using Tensors = std::vector<Tensor>;

// An input: element i of the k-th is of [low, high] by its place, rounded to multiples of a step.
struct CaseInput {
  Shape shape;
  double low = -1.5, high = 1.5, step = 0;
};

inline std::vector<double> elements_of(const CaseInput& input, std::size_t seed) {
  std::vector<double> elements(static_cast<std::size_t>(element_count(input.shape)));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto place = static_cast<double>((i * 37 + seed * 11 + 5) % 41);
    double value = input.low + (input.high - input.low) * place / 40;
    if (input.step != 0) value = std::floor(value / input.step + 0.5) * input.step;
    elements[i] = value;
  }
  return elements;
}
inline Tensor tensor_of(const CaseInput& input, std::size_t seed, DType dtype = DType::f64) {
  return Tensor::from(elements_of(input, seed), input.shape).to(dtype);
}

struct GradientCase {
  std::string name;
  std::vector<CaseInput> inputs;
  std::function<Tensor(const Tensors&)> function;
};
std::vector<GradientCase> gradient_cases();

}  // namespace tilewright::testing_gradients
