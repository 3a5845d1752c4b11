// Random functions with their gradients: whatever is computed again, the interpreter gives the same
// bits, and the derivative reads no value of the function that is not kept. Choices in small ones
// are those of an exhaustive search.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "graph/differentiating/differentiate.h"
#include "graph/ir/evaluate.h"
#include "graph/passes/pipeline.h"
#include "graph/saving/choose_saved.h"
#include "graph/saving/compute_again.h"
#include "graph/tensor/capture.h"

namespace tilewright::computed_again_test {
namespace {

using graph::Graph;
using graph::HostTensor;
using graph::Node;
using graph::NodeId;
using graph::Purpose;
using graph::SavingChoice;
using graph::SavingProblem;
using Tensors = std::vector<Tensor>;
using Random = std::mt19937_64;

constexpr std::int64_t size = 3;

std::size_t below(Random& random, std::size_t count) { return random() % count; }

Tensor random_value(const Tensors& known, Random& random) {
  const Tensor a = known[below(random, known.size())], b = known[below(random, known.size())];
  switch (below(random, 9)) {
    case 0: return tanh(a);
    case 1: return sin(a) * b;
    case 2: return a + b;
    case 3: return exp(a * 0.1);
    case 4: return matmul(a, b) * 0.3;
    case 5: return a.t();
    case 6: return softmax(a, 1);
    case 7: return a - mean(a, {0}, true);
    default: return where(a > b, a * b, b);
  }
}

// The gradients of the sum of some values by two matrices, and the sum.
Graph random_step(Random& random, std::size_t values) {
  graph::Capture capture;
  const Tensors inputs = {capture.placeholder(f32, {size, size}),
                          capture.placeholder(f32, {size, size})};
  const auto loss = [&](const Tensor& x, const Tensor& y) {
    Tensors known = {x, y};
    for (std::size_t i = 0; i < values; ++i) known.push_back(random_value(known, random));
    return sum(known.back() * known[known.size() - 2]);
  };
  auto [value, gradients] = value_and_grad<0, 1>(loss)(inputs[0], inputs[1]);
  auto [of_x, of_y] = gradients;
  return graph::run_passes(capture.finish({value, of_x, of_y}).graph);
}

std::vector<HostTensor> random_inputs(const Graph& graph, Random& random) {
  std::vector<HostTensor> inputs;
  std::uniform_real_distribution<float> number(-1, 1);
  for (NodeId id : graph.inputs) {
    HostTensor& input = inputs.emplace_back(graph.node(id).dtype, graph.node(id).shape);
    for (std::int64_t i = 0; i < input.count(); ++i) input.set_number(i, number(random));
  }
  return inputs;
}

void expect_same(const Graph& got, const Graph& wanted, const std::vector<HostTensor>& inputs) {
  const auto x = evaluate(got, inputs, graph::Rounding::exact_dtype).outputs,
             y = evaluate(wanted, inputs, graph::Rounding::exact_dtype).outputs;
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto is_same = [](double a, double b) { return a == b || (a != a && b != b); };
    EXPECT_TRUE(std::ranges::equal(x[i].floating, y[i].floating, is_same)) << i;
  }
}

// The bytes of the function's values that derivatives and second copies read.
std::int64_t bytes_read(const Graph& graph) {
  std::set<NodeId> read;
  const auto take = [&](NodeId id) {
    while (info(graph.node(id).op).kind == graph::Kind::view) id = graph.node(id).operands[0];
    const Node& node = graph.node(id);
    const auto kind = info(node.op).kind;
    const bool is_there = kind == graph::Kind::input || kind == graph::Kind::constant;
    if (!is_there && node.origin.purpose == Purpose::function) read.insert(id);
  };
  for (const Node& node : graph.nodes)
    if (node.op != graph::Op::input && node.origin.purpose != Purpose::function)
      std::ranges::for_each(node.operands, take);
  std::int64_t bytes = 0;
  for (NodeId id : read)
    bytes += element_count(graph.node(id).shape) * size_bytes(graph.node(id).dtype);
  return bytes;
}

TEST(ComputedAgain, ValuesAreTheSameBits) {
  std::int64_t again = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Graph graph = random_step(random, 3 + seed % 10);
    const std::vector<HostTensor> inputs = random_inputs(graph, random);
    const SavingProblem problem = saving_problem(graph);
    const std::int64_t all = all_saved(problem).bytes;
    ASSERT_EQ(bytes_read(graph), all) << seed;
    for (std::int64_t limit : {all / 2, all / 4, std::int64_t{0}}) {
      const auto found = cheapest_within(problem, limit);
      const SavingChoice choice = found ? found->choice : least_saved(problem);
      const Graph made = computed_again(graph, problem, choice);
      verify(made, graph::Stage::primitive);
      EXPECT_LE(bytes_read(made), choice.bytes) << seed;
      expect_same(made, graph, inputs);
      again += std::ranges::count_if(
          made.nodes, [](const Node& node) { return node.origin.purpose == Purpose::again; });
    }
  }
  EXPECT_GT(again, 2000);
}

// The least cost within the limit, by all sets of values that may be kept.
std::int64_t least_cost(const SavingProblem& problem, std::int64_t limit) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < problem.size(); ++i)
    if (problem[i].may_be_saved) candidates.push_back(i);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::uint64_t kept = 0; kept < std::uint64_t{1} << candidates.size(); ++kept) {
    std::vector<bool> is_saved(problem.size()), is_wanted(problem.size());
    for (std::size_t i = 0; i < candidates.size(); ++i)
      is_saved[candidates[i]] = (kept >> i & 1) != 0;
    std::int64_t bytes = 0, cost = 0;
    for (std::size_t i = problem.size(); i-- > 0;) {
      if (!problem[i].is_needed && !is_wanted[i]) continue;
      if (is_saved[i]) {
        bytes += problem[i].bytes;
        continue;
      }
      cost += problem[i].cost;
      for (std::uint32_t operand : problem[i].operands) is_wanted[operand] = true;
    }
    if (bytes <= limit) least = std::min(least, cost);
  }
  return least;
}

TEST(ComputedAgain, ChoicesInRandomStepsAreTheCheapest) {
  int compared = 0;
  for (unsigned seed = 0; compared < 200; ++seed) {
    Random random(seed);
    const Graph graph = random_step(random, 2 + seed % 4);
    const SavingProblem problem = saving_problem(graph);
    if (std::ranges::count(problem, true, &graph::SavingCandidate::may_be_saved) > 12) continue;
    ++compared;
    const std::int64_t limit = all_saved(problem).bytes * static_cast<std::int64_t>(seed % 10) / 10;
    const auto found = cheapest_within(problem, limit);
    ASSERT_TRUE(found.has_value()) << seed;  // everything may be made of the inputs
    EXPECT_EQ(found->choice.cost, least_cost(problem, limit)) << seed;
  }
}

}  // namespace
}  // namespace tilewright::computed_again_test
