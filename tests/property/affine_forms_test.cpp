// Integers that are computed from positions have the values that their affine forms say.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "graph/ir/evaluate.h"
#include "graph/ir/text.h"
#include "graph/passes/affine_form.h"
#include "graph/passes/passes.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::affine_forms_test {
namespace {

constexpr std::uint64_t cases = 600;

// Ranges and constants, what views and arithmetic make of them, and a few that nothing is known of.
class PlacesGenerator {
 public:
  explicit PlacesGenerator(std::uint64_t seed) : engine_(seed) {}

  Graph graph() {
    graph_.outputs.push_back(builder_.input(DType::i64, {4, 6}));
    for (int i = 0; i < 40; ++i)
      if (const auto node = some()) graph_.outputs.push_back(*node);
    return std::move(graph_);
  }

 private:
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(count));
  }
  NodeId any() {
    return graph_.outputs[static_cast<std::size_t>(below(std::ssize(graph_.outputs)))];
  }
  const Shape& shape(NodeId id) const { return graph_.node(id).shape; }
  std::optional<NodeId> like(NodeId id, bool is_condition) {
    std::vector<NodeId> found;
    for (NodeId other : graph_.outputs)
      if (shape(other) == shape(id) && is_boolean(graph_.node(other).dtype) == is_condition &&
          (is_condition || graph_.node(other).dtype == graph_.node(id).dtype))
        found.push_back(other);
    if (found.empty()) return std::nullopt;
    return found[static_cast<std::size_t>(below(std::ssize(found)))];
  }
  NodeId number(const Shape& shape, std::int64_t value) {
    return builder_.full(shape, ir::Scalar::of_integer(DType::i64, value));
  }

  NodeId range() {
    Attributes at;
    at.start = below(9) - 4;
    at.step = 1 + below(3);
    const std::int64_t sizes[] = {1, 4, 6, 24};
    at.end = at.start + at.step * sizes[below(4)];
    return builder_.append(Op::arange, {}, at, DType::i64);
  }
  NodeId viewed(NodeId x) {
    const Shape own = shape(x);
    const int axis = own.rank() == 0 ? 0 : static_cast<int>(below(own.rank()));
    Attributes at;
    switch (own.rank() == 0 ? 0 : below(4)) {
      case 0: {
        static const Shape shapes[] = {{24}, {4, 6}, {6, 4}, {2, 12}, {4, 1},
                                       {4},  {1, 6}, {6},    {1}};
        for (int tries = 0; tries < 8; ++tries) {
          at.sizes = shapes[below(std::size(shapes))];
          if (element_count(at.sizes) == element_count(own))
            return builder_.append(Op::reshape, {x}, at);
        }
        return x;
      }
      case 1:
        at.sizes = own;
        for (std::int64_t& size : at.sizes)
          if (size == 1) size = below(2) == 0 ? 4 : 6;
        return builder_.append(Op::expand, {x}, at);
      case 2:
        for (int i = own.rank(); i-- > 0;) at.axes.push_back(i);
        return builder_.append(Op::permute, {x}, at);
      default:
        at.axes = {axis};
        at.start = below(own[axis]);
        at.end = at.start + 1 + below(own[axis] - at.start);
        at.step = 1 + below(2);
        return builder_.append(Op::slice, {x}, at);
    }
  }
  std::optional<NodeId> some() {
    const NodeId x = any();
    const bool is_condition = is_boolean(graph_.node(x).dtype);
    const std::int64_t dice = below(14);
    if (dice == 0) return range();
    if (dice < 4) return viewed(x);
    if (dice == 4) return number(shape(x), below(12) - 4);
    if (is_condition) {
      constexpr Op joins[] = {Op::logical_and, Op::logical_or, Op::bitwise_and, Op::bitwise_or};
      if (dice < 8) return builder_.append(joins[below(4)], {x, *like(x, true)});
      if (dice == 8) return builder_.append(Op::logical_not, {x});
      if (dice == 9 && shape(x).rank() > 0) return cumulated(x);
      const auto a = integers(shape(x)), b = integers(shape(x));
      return a && b ? std::optional(builder_.append(Op::where, {x, *a, *b})) : std::nullopt;
    }
    const NodeId y = *like(x, false);
    constexpr Op two[] = {Op::add, Op::sub, Op::mul, Op::minimum, Op::maximum};
    constexpr Op compared[] = {Op::lt, Op::le, Op::gt, Op::ge, Op::eq, Op::ne};
    if (dice < 7) return builder_.append(two[below(std::size(two))], {x, y});
    if (dice < 9) return builder_.append(compared[below(std::size(compared))], {x, y});
    if (dice == 9)
      return builder_.append(below(2) == 0 ? Op::floor_divide : Op::remainder,
                             {x, number(shape(x), 1 + below(6))});
    if (dice == 10) return narrowed(x);
    if (dice == 11) return gathered(x);
    if (shape(x).rank() == 0) return std::nullopt;
    if (dice == 12) return joined(x, y);
    return below(2) == 0 ? cumulated(x) : reduced(x);
  }
  std::optional<NodeId> integers(const Shape& wanted) {
    for (int tries = 0; tries < 20; ++tries)
      if (const NodeId x = any(); shape(x) == wanted && graph_.node(x).dtype == DType::i64)
        return x;
    return std::nullopt;
  }
  NodeId narrowed(NodeId x) {
    const NodeId narrow = builder_.append(Op::to, {x}, {}, below(3) == 0 ? DType::i8 : DType::i32);
    return builder_.append(Op::to, {narrow}, {}, DType::i64);
  }
  // Rows of a table of one or several columns.
  NodeId gathered(NodeId x) {
    const std::int64_t columns = element_count(shape(x)) % 2 == 0 ? 1 + below(2) : 1;
    const Shape table = {element_count(shape(x)) / columns, columns};
    const NodeId rows = builder_.append(Op::reshape, {x}, {.axes = {}, .sizes = table});
    NodeId index = any();
    if (graph_.node(index).dtype != DType::i64) index = range();
    const NodeId least = number(shape(index), 0), greatest = number(shape(index), table[0] - 1);
    index = builder_.append(Op::minimum, {builder_.append(Op::maximum, {index, least}), greatest});
    const NodeId made = builder_.append(Op::embedding, {rows, index});
    if (columns != 1) return made;
    return builder_.append(Op::reshape, {made}, {.axes = {}, .sizes = shape(index)});
  }
  NodeId joined(NodeId x, NodeId y) {
    Attributes at;
    at.axes = {static_cast<int>(below(shape(x).rank()))};
    const NodeId last =
        below(2) == 0 ? y : builder_.append(Op::add, {x, number(shape(x), shape(x)[at.axes[0]])});
    return builder_.append(Op::cat, {x, last}, at);
  }
  NodeId cumulated(NodeId x) {
    Attributes at;
    at.axes = {static_cast<int>(below(shape(x).rank()))};
    return builder_.append(Op::cumulate, {x}, at, DType::i64);
  }
  NodeId reduced(NodeId x) {
    constexpr Op ops[] = {Op::sum, Op::amax, Op::amin};
    Attributes at;
    at.axes = {static_cast<int>(below(shape(x).rank()))};
    return builder_.append(ops[below(3)], {x}, at);
  }

  std::mt19937_64 engine_;
  Graph graph_;
  GraphBuilder builder_{graph_};
};

TEST(AffineForms, AreWhatIsComputed) {
  std::int64_t forms_that_vary = 0, constants = 0, fewer = 0, gathers_of_values = 0;
  for (std::uint64_t seed : seeds_of_test(cases)) {
    const Graph graph = PlacesGenerator(seed).graph();
    const std::string told = reproduction(seed) + "\n" + print(graph);
    std::mt19937_64 engine(seed);
    HostTensor given(DType::i64, {4, 6});
    for (std::int64_t i = 0; i < given.count(); ++i)
      given.set(i, ir::Scalar::of_integer(DType::i64, static_cast<std::int64_t>(engine() % 24)));
    const std::vector<HostTensor> inputs = {given};
    const std::vector<HostTensor> values = evaluate(graph, inputs, Rounding::exact_dtype).outputs;
    const AffineForms forms(graph);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& form = forms.of(graph.outputs[i]);
      if (!form) continue;
      ASSERT_EQ(form->shape, values[i].shape) << told;
      (constant_of(*form) ? constants : forms_that_vary) += 1;
      const std::vector<std::int64_t> wanted = element_offsets(*form);
      for (std::int64_t at = 0; at < values[i].count(); ++at)
        ASSERT_EQ(values[i].get(at).integer, wanted[static_cast<std::size_t>(at)])
            << "%" << graph.outputs[i] << "\n"
            << told;
    }
    const Graph decided = decide_by_places(graph);
    verify(decided);
    const std::vector<HostTensor> after = evaluate(decided, inputs, Rounding::exact_dtype).outputs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i].dtype, after[i].dtype) << told;
      ASSERT_EQ(values[i].integer, after[i].integer) << "%" << graph.outputs[i] << "\n" << told;
    }
    const auto gathers = [](const Graph& of) {
      return std::ranges::count(dead_code(of).nodes, Op::embedding, &Node::op);
    };
    // Those whose tables have no form, and that became views all the same.
    for (NodeId id = 0; id < graph.nodes.size(); ++id)
      gathers_of_values += graph.node(id).op == Op::embedding && !forms.of(id) &&
                           forms.places_of_gather(graph.node(id)) &&
                           gathers(decided) < gathers(graph);
    fewer += dead_code(decided).nodes.size() < dead_code(graph).nodes.size();
  }
  EXPECT_GT(forms_that_vary, 3 * static_cast<std::int64_t>(cases));
  EXPECT_GT(constants, 3 * static_cast<std::int64_t>(cases));
  EXPECT_GT(gathers_of_values, static_cast<std::int64_t>(cases) / 20);
  EXPECT_GT(fewer, static_cast<std::int64_t>(cases) / 2);
}

TEST(AffineForms, OfWhatWrapsThereIsNone) {
  Graph graph;
  GraphBuilder builder(graph);
  auto number = [&](std::int64_t value) {
    return builder.full({4}, ir::Scalar::of_integer(DType::i64, value));
  };
  constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  const NodeId range =
      builder.append(Op::arange, {}, {.axes = {}, .sizes = {}, .end = 4}, DType::i64);
  const NodeId wide = builder.append(Op::mul, {range, number(greatest / 2)});
  const NodeId beyond = builder.append(Op::add, {number(greatest), range});
  const NodeId narrow =
      builder.append(Op::to, {builder.append(Op::mul, {range, number(100)})}, {}, DType::i8);
  const NodeId least = builder.append(Op::floor_divide, {number(-greatest - 1), number(greatest)});
  const AffineForms forms(graph);
  for (NodeId id : {wide, beyond, narrow}) EXPECT_FALSE(forms.of(id)) << id;
  EXPECT_EQ(forms.constant(least), -2);
  EXPECT_TRUE(forms.of(range));
}

}  // namespace
}  // namespace tilewright::graph::affine_forms_test
