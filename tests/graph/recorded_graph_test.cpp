// Recordings that follow known graphs: which of them they are, and where they leave them.
#include "graph/tensor/recording/recorded_graph.h"

#include <gtest/gtest.h>

#include <array>

#include "dsl/ir/immediates.h"

namespace tilewright::graph::recorded_graph_test {
namespace {

constexpr std::source_location no_line;

// exp(x) + y.
Graph sum_of(const Shape& shape) {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId x = builder.input(DType::f32, shape), y = builder.input(DType::f32, shape);
  builder.append(Op::add, {builder.append(Op::exp, {x}), y});
  return graph;
}

NodeId append(RecordedGraph& recorded, Op op, std::vector<NodeId> operands) {
  return recorded.append(op, operands, {}, std::nullopt, no_line);
}

// Records the inputs and exp(x), and begins with the known graphs.
void begin(RecordedGraph& recorded, std::span<const Graph* const> known, const Shape& shape) {
  recorded.follow(known);
  recorded.input(DType::f32, shape, {});
  recorded.input(DType::f32, shape, {});
  append(recorded, Op::exp, {0});
}

TEST(RecordedGraph, IsAKnownOneWhoseNodesItHas) {
  const Graph graph = sum_of({4, 6});
  const std::array known{&graph};
  RecordedGraph recorded;
  begin(recorded, known, {4, 6});
  EXPECT_EQ(recorded.known(), nullptr);  // it is not whole yet
  EXPECT_EQ(append(recorded, Op::add, {2, 1}), 3U);
  EXPECT_EQ(recorded.known(), &graph);
}

TEST(RecordedGraph, LeavesAKnownOneWithOtherOperands) {
  const Graph graph = sum_of({4, 6});
  const std::array known{&graph};
  for (std::vector<NodeId> operands : {std::vector<NodeId>{2, 0}, {1, 2}}) {
    RecordedGraph recorded;
    begin(recorded, known, {4, 6});
    append(recorded, Op::add, operands);
    EXPECT_EQ(recorded.known(), nullptr);
    EXPECT_EQ(recorded.take().nodes.at(3).operands, operands);
  }
}

// A number's shape is what its node alone says.
TEST(RecordedGraph, GoesOnAlongAnotherOnlyOfTheSameShapes) {
  auto exp_of_full = [](const Shape& shape, bool with_tanh) {
    Graph graph;
    GraphBuilder builder(graph);
    NodeId x = builder.append(Op::exp, {builder.full(DType::f32, shape, 2)});
    if (with_tanh) builder.append(Op::tanh, {x});
    return graph;
  };
  const Graph shorter = exp_of_full({4, 6}, false), longer = exp_of_full({4, 6}, true),
              wide = exp_of_full({5, 7}, true);
  for (const Graph* other : {&longer, &wide}) {
    const std::array known{&shorter, other};
    RecordedGraph recorded;
    recorded.follow(known);
    recorded.full({4, 6}, ir::Scalar::of(DType::f32, 3), no_line);
    append(recorded, Op::exp, {0});
    EXPECT_EQ(recorded.known(), &shorter);
    append(recorded, Op::tanh, {1});
    EXPECT_EQ(recorded.known(), other == &longer ? other : nullptr);
    EXPECT_EQ(recorded.node(2).shape, (Shape{4, 6}));
  }
}

// Whatever number it is, by whichever way it is recorded.
TEST(RecordedGraph, FollowsNumbersOfOneShape) {
  Graph graph;
  GraphBuilder(graph).full(DType::f32, {2, 3}, 1.5);
  const std::array known{&graph};
  for (const Shape& shape : {Shape{2, 3}, Shape{3, 2}})
    for (double number : {1.5, 7.0}) {
      RecordedGraph recorded;
      recorded.follow(known);
      recorded.append(Op::full, {}, {.sizes = shape, .number = number}, DType::f32, no_line);
      EXPECT_EQ(recorded.known(), (shape == Shape{2, 3} ? &graph : nullptr));
      EXPECT_EQ(recorded.numbers(), (std::vector{RecordedNumber{number, 0}}));
      RecordedGraph at_once;
      at_once.follow(known);
      at_once.full(shape, ir::Scalar::of(DType::f32, number), no_line);
      EXPECT_EQ(at_once.known(), recorded.known());
    }
}

}  // namespace
}  // namespace tilewright::graph::recorded_graph_test
