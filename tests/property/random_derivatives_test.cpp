// Derivatives of random graphs: the gradient is the transpose of the tangent, Hessians are
// symmetric, and a checkpoint changes no bit.
//
// There values are doubles throughout, whatever the dtypes of the graph. That the slopes themselves
// are right is seen by differences (gradients_test.cpp). Plans of gradients compute in the dtypes,
// within the error bounds of the gradients as they are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "dsl/language/tile.h"
#include "graph/custom/definition.h"
#include "graph/functions/custom/custom_op.h"
#include "graph/functions/differentiating/gradient_node.h"
#include "graph/ir/evaluate.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "tests/property/expect_within.h"
#include "tests/property/plan_run.h"
#include "tests/property/random_graph.h"
#include "tests/property/rounding_units.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::random_derivatives_test {
namespace {

using Values = std::vector<HostTensor>;

// The ordinary run has 2,000 graphs in all parts, and fewer for comparisons that take longer.
constexpr std::uint64_t graphs_of_a_part = 500;

double dot(const HostTensor& a, const HostTensor& b, double* size = nullptr) {
  double total = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    total += a.number(i) * b.number(i);
    if (size != nullptr) *size += std::abs(a.number(i) * b.number(i));
  }
  return total;
}

// The user's functions: one is made of others, and has the derivative of these.
CustomReference user_function() {
  static const CustomOp op =
      custom_op("softened", elementwise([](dsl::Tile x) { return x / (dsl::abs(x) + 1.0F); }));
  return custom_named(op.name());
}

// How many elements were compared, and how many of them by bounds that show errors of a hundredth.
struct Compared {
  std::int64_t graphs = 0, all = 0, sharply = 0;
};

// True if the dtype holds all values with their errors: no bound says where they overflow.
bool is_held(const BoundedTensor& x) {
  if (!is_floating(x.value.dtype)) return true;
  for (std::int64_t i = 0; i < x.value.count(); ++i) {
    const double size = magnitude(x, i);
    if (std::isfinite(size) && size > greatest(x.value.dtype) / 2) return false;
  }
  return true;
}

// Where rounding decides, or the value is not finite, there is no bound: any value will do.
void leave_out_unbounded(BoundedTensor& expected, HostTensor& actual, Compared& compared) {
  for (std::int64_t i = 0; i < actual.count(); ++i) {
    double& error = expected.error[static_cast<std::size_t>(i)];
    const double value = expected.value.number(i);
    ++compared.all;
    if (error <= 0.01 * std::max(1.0, std::abs(value))) ++compared.sharply;
    if (std::isfinite(error) && std::isfinite(value)) continue;
    expected.value.set_number(i, 0);
    actual.set_number(i, 0);
    error = 0;
  }
}

// A graph as a function of its floating inputs to its floating outputs. Values that are
// written to inputs are outputs too.
class Function {
 public:
  Function(RandomGraph random, std::uint64_t seed)
      : graph_(std::move(random.graph)),
        inputs_(std::move(random.inputs)),
        seed_(seed),
        dice_(seed) {
    for (const Mutation& mutation : graph_.mutations) graph_.outputs.push_back(mutation.value);
    graph_.mutations.clear();
    graph_.input_strides.assign(graph_.inputs.size(), Strides{});
    if (seed % 3 == 0) call_user_function();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
      if (is_floating(graph_.node(graph_.inputs[i]).dtype)) request_.inputs.push_back(i);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (!is_floating(graph_.node(graph_.outputs[i]).dtype)) continue;
      request_.outputs.push_back(i);
      cotangents_.push_back(random_like(graph_.node(graph_.outputs[i])));
    }
  }

  const Graph& graph() const { return graph_; }
  // Loops of unknown length have no gradient, and rounded activations no slope.
  bool is_differentiable() const {
    return !request_.inputs.empty() && !request_.outputs.empty() &&
           std::ranges::none_of(graph_.nodes, [](const Node& node) {
             return node.op == Op::while_loop || node.attributes.int8_activations;
           });
  }

  Graph gradient() const { return gradient_graph(graph_, request_, dsl::host_target()); }
  Values given_to_gradient() const { return joined(inputs_, cotangents_); }
  Values gradients() const {
    return last(evaluate(gradient(), given_to_gradient(), Rounding::double_).outputs);
  }

  Values direction() {
    Values v;
    for (std::size_t i : request_.inputs) v.push_back(random_like(graph_.node(graph_.inputs[i])));
    return v;
  }

  // <u, J v> and <J' u, v> are the same number, but for roundings of terms that cancel.
  void expect_transposed() {
    const Values v = direction(), back = gradients();
    const Graph tangent = tangent_graph(graph_, request_, dsl::host_target());
    verify(tangent);
    Values ahead = evaluate(tangent, joined(inputs_, v), Rounding::double_).outputs;
    ahead.erase(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(graph_.outputs.size()));
    double size = 0, by_tangent = 0, by_gradient = 0;
    for (std::size_t k = 0; k < ahead.size(); ++k)
      by_tangent += dot(cotangents_[k], ahead[k], &size);
    for (std::size_t k = 0; k < back.size(); ++k) by_gradient += dot(back[k], v[k], &size);
    if (!std::isfinite(by_tangent) && !std::isfinite(by_gradient)) return;
    EXPECT_NEAR(by_tangent, by_gradient, 1e-11 * (size + 1));
  }

  // With it called as one node whose values are computed again, all bits are the same. Equal values
  // are one in both.
  void expect_same_from_checkpoint() const {
    Function called = *this, merged = *this;
    merged.graph_ = before_gradients(graph_, dsl::host_target());
    called.graph_ = Graph{};
    GraphBuilder builder(called.graph_);
    std::vector<NodeId> operands;
    for (NodeId id : graph_.inputs)
      operands.push_back(builder.input(graph_.node(id).dtype, graph_.node(id).shape));
    Attributes attributes;
    attributes.custom = checkpoint_of(graph_);
    called.graph_.outputs =
        builder.results_of(builder.append(Op::custom_formula, operands, attributes));
    called.graph_.input_strides.assign(operands.size(), Strides{});
    const Values plain = merged.gradients(), again = called.gradients();
    ASSERT_EQ(plain.size(), again.size());
    for (std::size_t k = 0; k < plain.size(); ++k)
      for (std::int64_t i = 0; i < plain[k].count(); ++i) {
        const double one = plain[k].number(i), other = again[k].number(i);
        ASSERT_TRUE(one == other || (std::isnan(one) && std::isnan(other)))
            << "gradient " << k << " at " << i << ": " << one << ", " << other;
      }
  }

  // A plan of the gradient computes what is written.
  void expect_planned_is_meant(PlanForm form, Compared& compared) const {
    if (form.options.interpret) form.options.shuffle_interpreted = seed_;
    const Graph written = gradient();
    const Values given = given_to_gradient();
    const std::vector<BoundedTensor> values = bound_nodes(written, given, Choices::bounded);
    if (!std::ranges::all_of(values, is_held)) return;
    BoundedEvaluation expected;
    for (NodeId id : written.outputs) expected.outputs.push_back(values[id]);
    const Graph planned = run_passes(written, {.target = form.options.device.target()});
    Evaluation actual = run_planned(planned, given, form);
    ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
    for (std::size_t i = 0; i < actual.outputs.size(); ++i)
      leave_out_unbounded(expected.outputs[i], actual.outputs[i], compared);
    ++compared.graphs;
    expect_within(expected, actual, [&] {
      return concat(form.name, ", written\n", print(written), "planned\n", print(planned));
    });
  }

  // The Hessian of the sum of outputs times cotangents: <w, H v> = <v, H w>.
  void expect_symmetric_hessian() {
    const Values v = direction(), w = direction();
    GradientRequest second;
    second.inputs = request_.inputs;
    for (std::size_t i = 0; i < request_.inputs.size(); ++i)
      second.outputs.push_back(graph_.outputs.size() + i);
    const Graph tangent = tangent_graph(gradient(), second, dsl::host_target());
    double size = 0;
    auto product = [&](const Values& left, const Values& right) {
      const Values given = joined(given_to_gradient(), right);
      const Values along = last(evaluate(tangent, given, Rounding::double_).outputs);
      double total = 0;
      for (std::size_t k = 0; k < along.size(); ++k) total += dot(left[k], along[k], &size);
      return total;
    };
    const double one = product(w, v), other = product(v, w);
    if (!std::isfinite(one) && !std::isfinite(other)) return;
    EXPECT_NEAR(one, other, 1e-9 * (size + 1));
  }

 private:
  // Between -1 and 1, as parts of 1 that the dtype holds.
  HostTensor random_like(const Node& node) {
    const int parts = bit_width(node.dtype) < 16 ? 8 : bit_width(node.dtype) == 16 ? 64 : 4096;
    std::uniform_int_distribution<int> distribution(-parts, parts);
    HostTensor value(node.dtype, node.shape);
    for (std::int64_t i = 0; i < value.count(); ++i)
      value.set_number(i, static_cast<double>(distribution(dice_)) / parts);
    return value;
  }
  static Values joined(Values first, const Values& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  // The derivatives by inputs, behind all else.
  Values last(const Values& outputs) const {
    return {outputs.end() - static_cast<std::ptrdiff_t>(request_.inputs.size()), outputs.end()};
  }
  void call_user_function() {
    GraphBuilder builder(graph_);
    const NodeId of = graph_.outputs[0];
    const DType dtype = graph_.node(of).dtype;
    if (!is_floating(dtype) || bit_width(dtype) < 16) return;
    Attributes attributes;
    attributes.custom = user_function();
    graph_.outputs.push_back(builder.append(attributes.custom->op(), {of}, attributes));
  }

  Graph graph_;
  Values inputs_, cotangents_;
  GradientRequest request_;
  std::uint64_t seed_;
  std::mt19937_64 dice_;
};

// Every fifth graph is had at two sizes of its named axes.
std::vector<RandomGraph> graphs_of(std::uint64_t seed) {
  if (seed % 5 != 0) return {random_graph(seed)};
  constexpr std::array sizes = {NamedSizes{3, 5}, NamedSizes{4, 2}};
  return random_graph_at(seed, sizes);
}

template <typename Check>
void for_each_function(std::uint64_t count, const Check& check) {
  std::uint64_t checked = 0;
  const std::vector<std::uint64_t> seeds = own_seeds_of_test(count);
  for (std::uint64_t seed : seeds)
    for (RandomGraph& random : graphs_of(seed)) {
      Function function(std::move(random), seed);
      if (!function.is_differentiable()) continue;
      SCOPED_TRACE(reproduction(seed) + "\n" + print(function.graph()));
      try {
        check(function);
      } catch (const std::exception& error) {
        FAIL() << error.what();
      }
      if (testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure()) return;
      ++checked;
    }
  EXPECT_TRUE(seeds.size() < count / 2 || checked > seeds.size() / 2) << checked;
}

// In parts that run side by side; each has graphs of its own.
class RandomDerivatives : public testing::TestWithParam<int> {};

TEST_P(RandomDerivatives, AreTransposesOfEachOther) {
  for_each_function(graphs_of_a_part, [](Function& f) { f.expect_transposed(); });
}
TEST_P(RandomDerivatives, HaveSymmetricSecondOnes) {
  for_each_function(graphs_of_a_part / 5, [](Function& f) { f.expect_symmetric_hessian(); });
}
TEST_P(RandomDerivatives, AreTheSameBitsWithCheckpoints) {
  for_each_function(graphs_of_a_part / 5, [](Function& f) { f.expect_same_from_checkpoint(); });
}
void expect_planned_are_meant(std::uint64_t count, const PlanForm& form) {
  Compared compared;
  for_each_function(count, [&](Function& f) { f.expect_planned_is_meant(form, compared); });
  // Ties of extrema, which rounding decides, have no bound. A graph alone may be nothing else.
  EXPECT_TRUE(compared.graphs < 5 || compared.sharply > compared.all / 2) << compared.sharply;
}
TEST_P(RandomDerivatives, InterpretedComputeWhatTheyMean) {
  expect_planned_are_meant(graphs_of_a_part / 5, {{.interpret = true}, false, "interpreted"});
}
TEST_P(RandomDerivatives, CompiledComputeWhatTheyMean) {
  expect_planned_are_meant(graphs_of_a_part / 100, {{}, false, "compiled"});
}
TEST_P(RandomDerivatives, ForSm80AndEmulatedComputeWhatTheyMean) {
  const Device device = Device::emulated("sm_80");
  expect_planned_are_meant(graphs_of_a_part / 40, {{.device = device}, false, "sm_80"});
}
TEST_P(RandomDerivatives, ForSm90aAndEmulatedComputeWhatTheyMean) {
  const Device device = Device::emulated("sm_90a");
  expect_planned_are_meant(graphs_of_a_part / 40, {{.device = device}, false, "sm_90a"});
}
INSTANTIATE_TEST_SUITE_P(Parts, RandomDerivatives, testing::Range(0, 4));

}  // namespace
}  // namespace tilewright::graph::random_derivatives_test
