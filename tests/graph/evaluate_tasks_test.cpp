// The values that a task list computes, and errors that only evaluating it can find.
#include "graph/regions/reference/evaluate_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "runtime/base/error.h"

namespace tilewright::graph::evaluate_tasks_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HostTensor counted(DType dtype, const Shape& shape, double first = 0) {
  HostTensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_number(i, first + static_cast<double>(i));
  return tensor;
}

constexpr std::string_view shares = R"(graph {
  %0: f32[2x2] = input {strides=1x2}
  %1: f32[2x1] = sum %0 {axes=1}
  %2: f32[2x2] = expand %1 {sizes=2x2}
  %3: f32[2x2] = div %0, %2
  inputs %0
  return %3
})";

TEST(EvaluateTasks, ComputesOneTaskAfterTheOther) {
  Graph graph = parse(shares);
  std::vector<HostTensor> inputs = {counted(f32, {2, 2}, 1)};
  Evaluation result = evaluate(graph, make_tasks(graph), inputs, Rounding::double_);
  EXPECT_THAT(result.outputs.at(0).floating, ElementsAre(1.0 / 3, 2.0 / 3, 3.0 / 7, 4.0 / 7));
  result = evaluate(graph, make_tasks(graph), inputs, Rounding::exact_dtype);
  EXPECT_EQ(result.outputs.at(0).floating[0], 1.0F / 3.0F);
}

TEST(EvaluateTasks, FindsATaskThatReadsWhatNobodyHasWritten) {
  Graph graph = parse(shares);
  std::vector<HostTensor> inputs = {counted(f32, {2, 2}, 1)};
  const std::vector<TaskId> order = {1, 0};
  try {
    evaluate(graph, make_tasks(graph), inputs, Rounding::double_, order);
    FAIL() << "the quotient was computed before the sum";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a task reads memory that was never written"));
  }
}

TEST(EvaluateTasks, FindsATaskThatWritesOutsideItsStorage) {
  Graph graph = parse(shares);
  std::vector<HostTensor> inputs = {counted(f32, {2, 2}, 1)};
  TaskList list = make_tasks(graph);
  list.tasks[0].place.offset = 1;
  EXPECT_THROW(evaluate(graph, list, inputs, Rounding::double_), InternalError);
}

TEST(EvaluateTasks, WantsTheInputsOfTheGraph) {
  Graph graph = parse(shares);
  TaskList list = make_tasks(graph);
  auto message = [&](const std::vector<HostTensor>& inputs) -> std::string {
    try {
      evaluate(graph, list, inputs, Rounding::double_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({}), HasSubstr("[evaluate] 0 inputs; the graph has 1"));
  EXPECT_THAT(message({counted(f32, {4})}),
              HasSubstr("[evaluate] input 0 is f32 4; it must be f32 2x2"));
}

// Writes rows in place: numbers outside are skipped, rows that are not named stay.
TEST(EvaluateTasks, WritesRowsInPlace) {
  Graph graph = parse(R"(graph {
  %0: f32[3x2] = input
  %1: i64[2] = input
  %2: f32[2x2] = input
  %3: f32[3x2] = index_copy %0, %1, %2 {axes=0}
  inputs %0 %1 %2
  return
  write %0 = %3
})");
  HostTensor rows(i64, {2});
  rows.integer = {2, 7};
  std::vector<HostTensor> inputs = {counted(f32, {3, 2}), rows, counted(f32, {2, 2}, 10)};
  Evaluation result = evaluate(graph, make_tasks(graph), inputs, Rounding::double_);
  EXPECT_THAT(result.mutated.at(0).floating, ElementsAre(0, 1, 2, 3, 10, 11));
}

// The halves of rows change places: the second part must not see what the first has written.
TEST(EvaluateTasks, PartsOfTheOldValueAreReadBeforeItIsOverwritten) {
  Graph graph = parse(R"(graph {
  %0: f32[3x4] = input
  %1: i64[2] = input
  %2: f32[2x4] = slice %0 {axes=0, end=2}
  %3: f32[2x2] = slice %2 {axes=1, start=2, end=4}
  %4: f32[2x2] = slice %2 {axes=1, end=2}
  %5: f32[2x4] = cat %3, %4 {axes=1}
  %6: f32[3x4] = index_copy %0, %1, %5 {axes=0}
  inputs %0 %1
  return
  write %0 = %6
})");
  HostTensor rows(i64, {2});
  rows.integer = {0, 1};
  std::vector<HostTensor> inputs = {counted(f32, {3, 4}), rows};
  for (const Graph& g : {graph, run_passes(graph)}) {
    Evaluation expected = evaluate(g, inputs, Rounding::double_);
    EXPECT_THAT(expected.mutated.at(0).floating, ElementsAre(2, 3, 0, 1, 6, 7, 4, 5, 8, 9, 10, 11));
    EXPECT_EQ(evaluate(g, make_tasks(g), inputs, Rounding::double_).mutated.at(0).floating,
              expected.mutated.at(0).floating);
  }
}

}  // namespace
}  // namespace tilewright::graph::evaluate_tasks_test
