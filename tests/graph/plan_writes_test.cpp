// Plans that write their inputs in place: rows of a cache, a table, swapped and reversed inputs.
#include <gtest/gtest.h>

#include "graph/run/plan.h"
#include "runtime/plan/recording.h"
#include "tests/graph/buffers.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::plan_writes_test {
namespace {

using namespace testing_buffers;

// cache[:, position] = row, then everything is read.
Graph cache_update(bool read_before, bool read_after) {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId cache = builder.input(f32, {3, 4}), at = builder.input(i64, {1});
  NodeId row = builder.input(f32, {3, 1});
  Attributes axis;
  axis.axes = {1};
  NodeId before = builder.append(Op::neg, {cache});
  NodeId updated = builder.append(Op::index_copy, {cache, at, row}, axis);
  NodeId after = builder.append(Op::neg, {updated});
  NodeId late = builder.append(Op::exp2, {cache});  // the old value, after the write
  if (read_before) graph.outputs.push_back(before);
  graph.outputs.push_back(after);
  if (read_after) graph.outputs.push_back(late);
  graph.mutations = {{cache, updated}};
  return run_passes(graph);
}

TEST(Plan, WritesInPlaceAfterReadersOfTheOldValue) {
  for (bool late : {false, true}) {
    auto plan = make_plan(cache_update(true, late));
    std::vector<float> cache = counting(12), row = {100, 200, 300};
    std::int64_t position = 2;
    void* inputs[] = {cache.data(), &position, row.data()};
    auto outputs = plan->run(inputs);
    EXPECT_EQ(elements<float>(*outputs[0], 4), (std::vector<float>{-0.0F, -1, -2, -3}));
    EXPECT_EQ(elements<float>(*outputs[1], 4), (std::vector<float>{-0.0F, -1, -100, -3}));
    EXPECT_EQ(cache, (std::vector<float>{0, 1, 100, 3, 4, 5, 200, 7, 8, 9, 300, 11}));
    if (late) {
      EXPECT_EQ(elements<float>(*outputs[2], 3), (std::vector<float>{1, 2, 4}));
    }
  }
}

// The copy of the table and what is written over it read the same, so that sharing one program
// would pay; but a row of the copy could then be stored behind what was written there.
TEST(Plan, CopiesATableWholeBeforeRowsAreWrittenOverIt) {
  constexpr int rows = 8, columns = 16;
  Graph graph;
  GraphBuilder builder(graph);
  NodeId table = builder.input(f32, {rows, columns}), at = builder.input(i64, {rows});
  Attributes axis;
  axis.axes = {0};
  NodeId doubled = builder.append(Op::add, {table, table});
  graph.outputs = {builder.append(Op::index_copy, {table, at, doubled}, axis)};
  auto plan = make_plan(run_passes(graph));
  std::vector<float> values = counting(rows * columns), wanted;
  std::vector<std::int64_t> backwards;
  for (int row = rows; row-- > 0;) {
    backwards.push_back(row);
    for (int column = 0; column < columns; ++column)
      wanted.push_back(2 * values[row * columns + column]);
  }
  void* inputs[] = {values.data(), backwards.data()};
  EXPECT_EQ(elements<float>(*plan->run(inputs)[0], rows * columns), wanted);
}

TEST(Plan, IgnoresRowsOutsideTheTargetOfACopy) {
  auto plan = make_plan(cache_update(false, false));
  for (std::int64_t position : {std::int64_t{-1}, std::int64_t{4}, INT64_MAX}) {
    std::vector<float> cache = counting(12), row = {100, 200, 300};
    void* inputs[] = {cache.data(), &position, row.data()};
    plan->run(inputs);
    EXPECT_EQ(cache, counting(12)) << position;
  }
}

TEST(Plan, SwapsTwoInputsInPlace) {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId a = builder.input(f32, {5}), b = builder.input(f32, {5});
  graph.mutations = {{a, b}, {b, a}};
  auto plan = make_plan(graph);
  std::vector<float> x = counting(5), y = counting(5, 50);
  void* inputs[] = {x.data(), y.data()};
  plan->run(inputs);
  EXPECT_EQ(x, counting(5, 50));
  EXPECT_EQ(y, counting(5));
}

TEST(Plan, ReversesAnInputInPlaceThroughOtherMemory) {
  // x = transpose(x): no element may be read after another has taken its place.
  Graph graph;
  GraphBuilder builder(graph);
  NodeId x = builder.input(f32, {40, 40});
  Attributes swap;
  swap.axes = {1, 0};
  NodeId turned = builder.append(Op::permute, {x}, swap);
  graph.mutations = {{x, builder.append(Op::neg, {turned})}};
  auto plan = make_plan(graph);
  std::vector<float> memory = counting(1600);
  void* inputs[] = {memory.data()};
  plan->run(inputs);
  for (std::size_t i = 0; i < 1600; ++i)
    ASSERT_EQ(memory[i], -static_cast<float>(i % 40 * 40 + i / 40));
}

TEST(Plan, UpdatesAnInputElementByElementWithOneLaunchAndNoOtherMemory) {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId x = builder.input(f32, {1000}), step = builder.input(f32, {1000});
  graph.mutations = {{x, builder.append(Op::sub, {x, step})}};
  auto plan = make_plan(graph);
  EXPECT_EQ(plan->launches(), 1);
  EXPECT_EQ(plan->arena_bytes(), 0);
  std::vector<float> memory = counting(1000, 7), steps(1000, 7);
  void* inputs[] = {memory.data(), steps.data()};
  plan->run(inputs);
  EXPECT_EQ(memory, counting(1000));
}

}  // namespace
}  // namespace tilewright::graph::plan_writes_test
