// Nodes know whether they belong to a function, to its derivative, or compute a value of the
// function again: by that values are found that derivatives read, and regions are kept apart.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/differentiating/differentiate.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan_tasks.h"
#include "graph/saving/choose_saved.h"
#include "graph/saving/compute_again.h"
#include "graph/tensor/capture.h"
#include "tests/graph/saving/step_programs.h"

namespace tilewright::purposes_test {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::Op;
using graph::Purpose;
using testing_steps::Tensors;

Graph captured(const std::function<Tensors(const Tensors&)>& function,
               const std::vector<Shape>& shapes) {
  graph::Capture capture;
  Tensors inputs;
  for (const Shape& shape : shapes) inputs.push_back(capture.placeholder(f32, shape));
  return graph::run_passes(capture.finish(function(inputs)).graph);
}

Graph gradient_of_tanh() {
  return captured(
      [](const Tensors& t) {
        auto [of_x, of_w] = grad<0, 1>([](const Tensor& x, const Tensor& w) {
          return sum(exp(tanh(matmul(x, w))));
        })(t[0], t[1]);
        return Tensors{of_x, of_w};
      },
      {{4, 8}, {8, 8}});
}

std::ptrdiff_t count(const Graph& graph, Op op, Purpose purpose) {
  return std::ranges::count_if(graph.nodes, [&](const graph::Node& node) {
    return node.op == op && node.origin.purpose == purpose;
  });
}

TEST(Purposes, AreThoseOfAFunctionAndItsDerivative) {
  const Graph graph = gradient_of_tanh();
  EXPECT_EQ(count(graph, Op::matmul, Purpose::function), 1);
  EXPECT_EQ(count(graph, Op::matmul, Purpose::derivative), 2);
  const graph::SavingProblem problem = saving_problem(graph);
  std::vector<Op> needed;
  for (const graph::SavingCandidate& value : problem)
    if (value.is_needed) needed.push_back(graph.node(value.node).op);
  EXPECT_EQ(needed, (std::vector<Op>{Op::tanh, Op::exp}));
  EXPECT_EQ(all_saved(problem).bytes, 2 * 4 * 8 * 4);
}

TEST(Purposes, SecondCopiesStandBehindTheFunction) {
  const Graph graph = gradient_of_tanh();
  const graph::SavingProblem problem = saving_problem(graph);
  const auto choice = cheapest_within(problem, 4 * 8 * 4)->choice;  // keeps one of the two
  const Graph again = computed_again(graph, problem, choice);
  EXPECT_EQ(count(again, Op::exp, Purpose::again), 1);
  EXPECT_EQ(count(again, Op::tanh, Purpose::again), 0);
  EXPECT_EQ(count(again, Op::matmul, Purpose::function), 1);
  for (const graph::FusedRegion& fused : fused_tasks(again, {}).regions) {
    bool has_function = false, has_copy = false;
    const graph::TaskList list = fused_tasks(again, {}).list;
    for (graph::TaskId task : fused.region.tasks) {
      const Purpose purpose = again.node(list.tasks[task].node).origin.purpose;
      has_function |= purpose == Purpose::function;
      has_copy |= purpose == Purpose::again;
    }
    EXPECT_FALSE(has_function && has_copy);
    EXPECT_EQ(fused.is_again, has_copy);
  }
}

// Both halves of a derivative read one mask. As one region the second half's values would be made,
// and kept, while the first half is computed.
TEST(Purposes, DistantPartsOfADerivativeThatReadOneMaskStayApart) {
  const auto halves = [](const Tensors& t) {
    const Tensor mask = exp(t[2]);
    Tensors results;
    for (std::size_t i = 0; i < 2; ++i) {
      Tensor x = matmul(t[i], t[i]);
      for (int k = 0; k < 30; ++k) x = tanh(matmul(x, t[i]));
      const Tensor waves = sin(t[i] * mask) * cos(t[i] * mask);
      results.push_back(matmul(x, waves));
    }
    results.push_back(mask);
    return results;
  };
  const std::vector<Shape> shapes = {{32, 32}, {32, 32}, {32, 32}};
  const auto most_sines = [&](Purpose purpose) {
    Graph graph = captured(halves, shapes);
    for (graph::Node& node : graph.nodes) node.origin.purpose = purpose;
    const graph::FusedTasks fused = fused_tasks(graph, {});
    std::ptrdiff_t most = 0;
    for (const graph::FusedRegion& each : fused.regions)
      most = std::max(most, std::ranges::count_if(each.region.tasks, [&](graph::TaskId task) {
                        return graph.node(fused.list.tasks[task].node).op == Op::sin;
                      }));
    return most;
  };
  EXPECT_EQ(most_sines(Purpose::function), 2);
  EXPECT_EQ(most_sines(Purpose::derivative), 1);
}

}  // namespace
}  // namespace tilewright::purposes_test
