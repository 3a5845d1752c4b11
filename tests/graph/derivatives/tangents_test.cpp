// Tangents against gradients: <u, J v> = <J' u, v> for the functions whose gradients are compared
// with PyTorch's, evaluated in f64 by the interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/differentiating/host_tensor.h"
#include "graph/ir/evaluate.h"
#include "graph/tensor/capture.h"
#include "tests/graph/derivatives/gradient_cases.h"

namespace tilewright::tangents_test {
namespace {

using testing_gradients::CaseInput;
using testing_gradients::elements_of;
using Tensors = std::vector<Tensor>;

graph::HostTensor host_tensor(const CaseInput& input, std::size_t seed) {
  graph::HostTensor tensor(DType::f64, input.shape);
  tensor.floating = elements_of(input, seed);
  return tensor;
}

// <u, J v>, <J' u, v>, and the sum of the sizes of their parts.
Tensors products(const testing_gradients::GradientCase& each, const Tensors& x, const Tensors& v) {
  auto [value, tangent] = jvp(each.function, std::tuple{x}, std::tuple{v});
  auto [same, pullback] = vjp(each.function, x);
  const Tensor u = cos(value * 3 + 1);
  const Tensors back = pullback(u);
  Tensor backwards = sum(back[0] * v[0]), size = sum(abs(u * tangent)) + sum(abs(back[0] * v[0]));
  for (std::size_t k = 1; k < v.size(); ++k) {
    backwards = backwards + sum(back[k] * v[k]);
    size = size + sum(abs(back[k] * v[k]));
  }
  return {sum(u * tangent), backwards, size};
}

TEST(Tangents, AreTheAdjointOfGradients) {
  for (const testing_gradients::GradientCase& each : testing_gradients::gradient_cases()) {
    SCOPED_TRACE(each.name);
    graph::Capture capture;
    std::vector<graph::HostTensor> inputs;
    Tensors x, v;
    for (std::size_t k = 0; k < each.inputs.size(); ++k) {
      inputs.push_back(host_tensor(each.inputs[k], k));
      x.push_back(capture.placeholder(f64, each.inputs[k].shape));
    }
    for (std::size_t k = 0; k < each.inputs.size(); ++k) {
      inputs.push_back(host_tensor({each.inputs[k].shape, -1, 1}, 60 + k));
      v.push_back(capture.placeholder(f64, each.inputs[k].shape));
    }
    const graph::Captured made = capture.finish(products(each, x, v));
    std::ranges::move(graph::host_tensors_of(made.captured), std::back_inserter(inputs));
    const auto found = graph::evaluate(made.graph, inputs, graph::Rounding::double_).outputs;
    const double a = found[0].floating[0], b = found[1].floating[0], scale = found[2].floating[0];
    EXPECT_TRUE(std::isfinite(a));
    EXPECT_NEAR(a, b, 1e-11 * (1 + scale));
  }
}

// The slope is infinite at 0 in every direction but 0.
TEST(Tangents, InfiniteSlopesAreKept) {
  const Tensor x = Tensor::from(std::vector<double>{0, 0, 4}, {3});
  const Tensor v = Tensor::from(std::vector<double>{1, 0, 1}, {3});
  const auto tangent =
      jvp([](const Tensor& t) { return sqrt(t); }, x, v).second.to_vector<double>();
  EXPECT_TRUE(std::isinf(tangent[0]));
  EXPECT_EQ(tangent[1], 0);
  EXPECT_EQ(tangent[2], 0.25);
}

}  // namespace
}  // namespace tilewright::tangents_test
