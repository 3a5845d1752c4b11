// The functions whose gradients are compared with PyTorch's: their plans give the same bits
// whatever is computed again, also where that frees no memory. The exception is a bias whose
// gradient is a sum in one tile: its axes change places where the tile has other readers.
#include <gtest/gtest.h>

#include <cstring>

#include "graph/differentiating/differentiate.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/saving/choose_saved.h"
#include "graph/saving/compute_again.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_body.h"
#include "tests/graph/derivatives/gradient_cases.h"

namespace tilewright::planned_again_test {
namespace {

using testing_gradients::GradientCase;
using testing_gradients::Tensors;
using Buffers = std::vector<std::shared_ptr<Buffer>>;

struct CapturedGradient {
  graph::Graph graph;
  Tensors inputs;
};
CapturedGradient captured(const GradientCase& of) {
  CapturedGradient result;
  for (std::size_t k = 0; k < of.inputs.size(); ++k)
    result.inputs.push_back(testing_gradients::tensor_of(of.inputs[k], k, f32).contiguous());
  graph::Capture capture;
  Tensors symbols;
  for (const Tensor& input : result.inputs)
    symbols.push_back(capture.placeholder(f32, input.shape()));
  const auto loss = [&](const Tensors& x) { return sum(square(of.function(x))); };
  graph::Captured found = capture.finish(grad(loss)(symbols));
  result.inputs.insert(result.inputs.end(), found.captured.begin(), found.captured.end());
  result.graph = graph::run_passes(found.graph, {.target = Device::cpu().target()});
  return result;
}

Buffers run(const graph::Graph& computed, const Tensors& inputs) {
  std::vector<void*> addresses;
  for (const Tensor& input : inputs) addresses.push_back(graph::address_of(*input.body()));
  return graph::make_plan(computed, {.first_code = FirstCode::quick, .device = Device::cpu()})
      ->run(addresses);
}

void expect_same_bits(const Buffers& got, const Buffers& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (!got[k] || !wanted[k]) continue;  // the gradient is an input
    ASSERT_EQ(got[k]->size_bytes(), wanted[k]->size_bytes());
    const auto bytes = static_cast<std::size_t>(got[k]->size_bytes());
    if (what == "mlp" && k == 4) {
      const auto *ours = static_cast<const float*>(got[k]->data()),
                 *theirs = static_cast<const float*>(wanted[k]->data());
      for (std::size_t i = 0; i < bytes / sizeof(float); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-6);
      continue;
    }
    EXPECT_EQ(std::memcmp(got[k]->data(), wanted[k]->data(), bytes), 0) << what << ", " << k;
  }
}

// Every eighth, and those that are small models: all of them take eight times as long.
TEST(PlannedAgain, GradientsOfPyTorchsCasesAreTheSameBits) {
  const std::vector<GradientCase> cases = testing_gradients::gradient_cases();
  int count = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i % 8 != 0 && i + 3 < cases.size()) continue;
    const auto [graph, inputs] = captured(cases[i]);
    const graph::SavingProblem problem = saving_problem(graph);
    const std::int64_t all = all_saved(problem).bytes;
    const Buffers wanted = run(graph, inputs);
    for (std::int64_t limit : {all / 2, std::int64_t{0}}) {
      const auto found = cheapest_within(problem, limit);
      const graph::SavingChoice choice = found ? found->choice : least_saved(problem);
      if (choice.cost == 0) continue;
      ++count;
      expect_same_bits(run(computed_again(graph, problem, choice), inputs), wanted, cases[i].name);
    }
  }
  EXPECT_GT(count, 20);
}

}  // namespace
}  // namespace tilewright::planned_again_test
