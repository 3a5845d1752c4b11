// Gradients of random graphs against differences along random directions, in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/ir/evaluate.h"
#include "graph/ops/derivatives/gradient_graph.h"
#include "tests/property/random_graph.h"
#include "tests/property/seeds.h"

namespace tilewright::gradients_test {
namespace {

using namespace graph;

constexpr std::uint64_t cases = 400;
using Values = std::vector<HostTensor>;

HostTensor random_like(const Node& node, std::mt19937_64& random) {
  std::uniform_real_distribution<double> distribution(-1, 1);
  HostTensor value(node.dtype, node.shape);
  for (std::int64_t i = 0; i < value.count(); ++i) value.set_number(i, distribution(random));
  return value;
}
double dot(const HostTensor& a, const HostTensor& b) {
  double total = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) total += a.number(i) * b.number(i);
  return total;
}

// A graph as a function of its floating inputs to the sum of its floating outputs times cotangents.
struct WeighedGraph {
  Graph graph;
  Values inputs, cotangents;
  GradientRequest request;

  WeighedGraph(RandomGraph random, std::mt19937_64& dice)
      : graph(std::move(random.graph)), inputs(std::move(random.inputs)) {
    graph.mutations.clear();
    graph.input_strides.assign(graph.inputs.size(), Strides{});
    for (std::size_t i = 0; i < graph.inputs.size(); ++i)
      if (is_floating(graph.node(graph.inputs[i]).dtype)) request.inputs.push_back(i);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const Node& output = graph.node(graph.outputs[i]);
      if (!is_floating(output.dtype)) continue;
      request.outputs.push_back(i);
      cotangents.push_back(random_like(output, dice));
    }
  }

  double value(const Values& directions, double step) const {
    Values moved = inputs;
    for (std::size_t k = 0; k < request.inputs.size(); ++k) {
      HostTensor& input = moved[request.inputs[k]];
      for (std::int64_t i = 0; i < input.count(); ++i)
        input.set_number(i, input.number(i) + step * directions[k].number(i));
    }
    const Values outputs = evaluate(graph, moved, Rounding::double_).outputs;
    double total = 0;
    for (std::size_t k = 0; k < request.outputs.size(); ++k)
      total += dot(outputs[request.outputs[k]], cotangents[k]);
    return total;
  }

  double slope(const Values& directions) const {
    const Graph gradients = gradient_graph(graph, request, dsl::host_target());
    verify(gradients);
    Values all = inputs;
    all.insert(all.end(), cotangents.begin(), cotangents.end());
    const Values outputs = evaluate(gradients, all, Rounding::double_).outputs;
    double total = 0;
    for (std::size_t k = 0; k < request.inputs.size(); ++k)
      total += dot(outputs[graph.outputs.size() + k], directions[k]);
    return total;
  }
};

// Loops of unknown length have no gradient, and rounded activations no slope.
bool has_gradient(const Graph& graph) {
  return std::ranges::none_of(graph.nodes, [](const Node& node) {
    return node.op == graph::Op::while_loop || node.attributes.int8_activations;
  });
}

TEST(RandomGradients, AreTheSlopesAlongRandomDirections) {
  int compared = 0;
  const std::vector<std::uint64_t> seeds = seeds_of_test(cases);
  for (std::uint64_t seed : seeds) {
    std::mt19937_64 dice(seed);
    const WeighedGraph weighed(random_graph(seed), dice);
    if (!has_gradient(weighed.graph) || weighed.request.outputs.empty() ||
        weighed.request.inputs.empty())
      continue;
    SCOPED_TRACE(reproduction(seed));
    Values directions;
    for (std::size_t i : weighed.request.inputs)
      directions.push_back(random_like(weighed.graph.node(weighed.graph.inputs[i]), dice));
    constexpr double step = 1e-6;
    const double here = weighed.value(directions, 0), ahead = weighed.value(directions, step),
                 behind = weighed.value(directions, -step);
    const double slope = (ahead - behind) / (2 * step), found = weighed.slope(directions);
    // Where the slopes on both sides differ there is no derivative, or it changes too fast.
    const double kink = std::abs((ahead - here) - (here - behind)) / step;
    if (!std::isfinite(slope) || kink > 1e-5 * (1 + std::abs(slope))) continue;
    EXPECT_NEAR(found, slope, 1e-4 * (1 + std::abs(slope)) + 1e-8 * std::abs(here) / step);
    ++compared;
  }
  EXPECT_TRUE(seeds.size() < cases || compared > static_cast<int>(cases / 3)) << compared;
}

}  // namespace
}  // namespace tilewright::gradients_test
