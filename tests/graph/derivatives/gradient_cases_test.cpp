// First and second derivatives of functions equal PyTorch's, which tools/gradient_cases.py wrote to
// gradient_cases.json: by the interpreter in double, and compiled.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/ir/evaluate.h"
#include "graph/tensor/capture.h"
#include "tests/graph/derivatives/gradient_cases.h"
#include "tests/source_folder.h"

namespace tilewright::gradient_cases_test {
namespace {

using namespace testing_gradients;
using Numbers = std::vector<std::vector<double>>;
using Function = std::function<Tensors(const Tensors&)>;

const nlohmann::json& expected_cases() {
  static const nlohmann::json cases = nlohmann::json::parse(
      std::ifstream(source_folder() / "tests/graph/derivatives/gradient_cases.json"));
  return cases;
}

// The sum of all elements, each times that of a cotangent.
Tensor weighed(const Tensors& tensors, std::size_t seed) {
  Tensor total;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const Tensor& x = tensors[k];
    const Tensor part = sum(x * tensor_of({x.shape(), -1, 1}, seed + k, x.dtype()));
    total = total.defined() ? total + part : part;
  }
  return total;
}

Function first_of(const GradientCase& one) {
  return grad([f = one.function](const Tensors& x) { return weighed({f(x)}, 100); });
}
Function second_of(const GradientCase& one) {
  return grad([first = first_of(one)](const Tensors& x) { return weighed(first(x), 200); });
}

// By the interpreter, in double.
Numbers interpreted(const Function& function, const std::vector<CaseInput>& inputs) {
  graph::Capture capture;
  Tensors x;
  std::vector<graph::HostTensor> values;
  auto add_value = [&](const std::vector<double>& elements, DType dtype, const Shape& shape) {
    graph::HostTensor value(dtype, shape);
    for (std::int64_t i = 0; i < value.count(); ++i)
      value.set_number(i, elements[static_cast<std::size_t>(i)]);
    values.push_back(std::move(value));
  };
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    x.push_back(capture.placeholder(f64, inputs[k].shape));
    add_value(elements_of(inputs[k], k), f64, inputs[k].shape);
  }
  const graph::Captured captured = capture.finish(function(x));
  for (const Tensor& tensor : captured.captured)
    add_value(tensor.to(f64).to_vector<double>(), tensor.dtype(), tensor.shape());
  Numbers results;
  for (const graph::HostTensor& result :
       graph::evaluate(captured.graph, values, graph::Rounding::double_).outputs)
    results.push_back(result.floating);
  return results;
}

void expect_near(const Numbers& got, const nlohmann::json& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    const auto numbers = wanted[k].get<std::vector<double>>();
    ASSERT_EQ(got[k].size(), numbers.size()) << k;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      ASSERT_NEAR(got[k][i], numbers[i], tolerance * std::max(1.0, std::abs(numbers[i])))
          << "of input " << k << ", element " << i;
  }
}

TEST(GradientCases, AreThoseOfTheFile) {
  EXPECT_EQ(gradient_cases().size(), expected_cases().size());
  for (const GradientCase& one : gradient_cases()) EXPECT_TRUE(expected_cases().contains(one.name));
}

TEST(GradientCases, GradientsArePyTorchs) {
  for (const GradientCase& one : gradient_cases()) {
    SCOPED_TRACE(one.name);
    expect_near(interpreted(first_of(one), one.inputs), expected_cases().at(one.name).at("g"),
                1e-8);
  }
}

TEST(GradientCases, SecondDerivativesArePyTorchs) {
  int compared = 0;
  for (const GradientCase& one : gradient_cases()) {
    const nlohmann::json& wanted = expected_cases().at(one.name);
    if (!wanted.contains("h")) continue;
    SCOPED_TRACE(one.name);
    expect_near(interpreted(second_of(one), one.inputs), wanted.at("h"), 1e-6);
    ++compared;
  }
  EXPECT_GT(compared, 80);
}

// Compiled for f32, each as one graph with the function.
TEST(SlowGradientCases, CompiledGradientsArePyTorchs) {
  for (const GradientCase& one : gradient_cases()) {
    SCOPED_TRACE(one.name);
    Tensors x;
    for (std::size_t k = 0; k < one.inputs.size(); ++k)
      x.push_back(tensor_of(one.inputs[k], k, f32));
    auto compiled = compile(first_of(one), {.fullgraph = true});
    Numbers got;
    for (const Tensor& gradient : compiled(x)) got.push_back(gradient.to(f64).to_vector<double>());
    expect_near(got, expected_cases().at(one.name).at("g"), 2e-4);
  }
}

}  // namespace
}  // namespace tilewright::gradient_cases_test
