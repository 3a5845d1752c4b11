#include "tests/property/differentiated_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dsl/language/tile.h"
#include "graph/functions/custom/custom_op.h"
#include "graph/ir/evaluate.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "runtime/base/concat.h"
#include "tests/property/expect_within.h"
#include "tests/property/rounding_units.h"

namespace tilewright::graph {
namespace {

using Values = std::vector<HostTensor>;

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
void leave_out_unbounded(BoundedTensor& expected, HostTensor& actual, ComparedElements& compared) {
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

Values joined(Values first, const Values& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

DifferentiatedGraph::DifferentiatedGraph(RandomGraph random, std::uint64_t seed,
                                         bool calls_function)
    : graph_(std::move(random.graph)), inputs_(std::move(random.inputs)), seed_(seed), dice_(seed) {
  for (const Mutation& mutation : graph_.mutations) graph_.outputs.push_back(mutation.value);
  graph_.mutations.clear();
  strides_ = graph_.input_strides;
  graph_.input_strides.assign(graph_.inputs.size(), Strides{});
  if (calls_function) call_user_function();
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
    if (is_floating(graph_.node(graph_.inputs[i]).dtype)) request_.inputs.push_back(i);
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    if (!is_floating(graph_.node(graph_.outputs[i]).dtype)) continue;
    request_.outputs.push_back(i);
    cotangents_.push_back(random_like(graph_.node(graph_.outputs[i])));
  }
}

bool DifferentiatedGraph::is_differentiable() const {
  return !request_.inputs.empty() && !request_.outputs.empty() &&
         std::ranges::none_of(graph_.nodes, [](const Node& node) {
           return node.op == Op::while_loop || node.attributes.int8_activations;
         });
}

Graph DifferentiatedGraph::gradient() const {
  return gradient_graph(graph_, request_, dsl::host_target());
}
Values DifferentiatedGraph::given_to_gradient() const { return joined(inputs_, cotangents_); }
Values DifferentiatedGraph::gradients() const {
  return last(evaluate(gradient(), given_to_gradient(), Rounding::double_).outputs);
}

Values DifferentiatedGraph::direction() {
  Values v;
  for (std::size_t i : request_.inputs) v.push_back(random_like(graph_.node(graph_.inputs[i])));
  return v;
}

void DifferentiatedGraph::expect_transposed() {
  const Values v = direction(), back = gradients();
  const Graph tangent = tangent_graph(graph_, request_, dsl::host_target());
  verify(tangent);
  Values ahead = evaluate(tangent, joined(inputs_, v), Rounding::double_).outputs;
  ahead.erase(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(graph_.outputs.size()));
  double size = 0, by_tangent = 0, by_gradient = 0;
  for (std::size_t k = 0; k < ahead.size(); ++k) by_tangent += dot(cotangents_[k], ahead[k], &size);
  for (std::size_t k = 0; k < back.size(); ++k) by_gradient += dot(back[k], v[k], &size);
  if (!std::isfinite(by_tangent) && !std::isfinite(by_gradient)) return;
  EXPECT_NEAR(by_tangent, by_gradient, 1e-11 * (size + 1));
}

void DifferentiatedGraph::expect_same_from_checkpoint() const {
  DifferentiatedGraph called = *this, merged = *this;
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

void DifferentiatedGraph::expect_planned_is_meant(PlanForm form, ComparedElements& compared) const {
  if (form.options.interpret) form.options.shuffle_interpreted = seed_;
  Graph written = gradient();
  std::ranges::copy(strides_, written.input_strides.begin());
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

void DifferentiatedGraph::expect_symmetric_hessian() {
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

// Between -1 and 1, as parts of 1 that the dtype holds.
HostTensor DifferentiatedGraph::random_like(const Node& node) {
  const int parts = bit_width(node.dtype) < 16 ? 8 : bit_width(node.dtype) == 16 ? 64 : 4096;
  std::uniform_int_distribution<int> distribution(-parts, parts);
  HostTensor value(node.dtype, node.shape);
  for (std::int64_t i = 0; i < value.count(); ++i)
    value.set_number(i, static_cast<double>(distribution(dice_)) / parts);
  return value;
}

// The derivatives by inputs, behind all else.
Values DifferentiatedGraph::last(const Values& outputs) const {
  return {outputs.end() - static_cast<std::ptrdiff_t>(request_.inputs.size()), outputs.end()};
}

void DifferentiatedGraph::call_user_function() {
  GraphBuilder builder(graph_);
  const NodeId of = graph_.outputs[0];
  const DType dtype = graph_.node(of).dtype;
  if (!is_floating(dtype) || bit_width(dtype) < 16) return;
  Attributes attributes;
  attributes.custom = user_function();
  graph_.outputs.push_back(builder.append(attributes.custom->op(), {of}, attributes));
}

}  // namespace tilewright::graph
