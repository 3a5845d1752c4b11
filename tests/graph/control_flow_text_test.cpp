// Control flow as text, and what such a text means to the interpreter of tasks and to plans.
#include <gtest/gtest.h>

#include "graph/functions/control/control_flow.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/reference/evaluate_tasks.h"
#include "graph/regions/reference/verify.h"
#include "graph/regions/text/text.h"
#include "graph/run/plan.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::control_flow_text_test {
namespace {

const std::string text =
    "graph {\n"
    "  %0: f32[4] = input\n"
    "  %1: f32[3x4] = input\n"
    "  %2: bool[scalar] = input\n"
    "  %3: f32[4], f32[3x4] = scan %0, %1 {end=3, bodies=<graph {;  %0: f32[4] = input;"
    "  %1: f32[4] = input;  %2: f32[4] = add %0, %1;  inputs %0 %1;  return %2 %2;};>,"
    " carried=1, sliced=1}\n"
    "  %4: f32[3x4] = result %3 {index=1}\n"
    "  %5: f32[4] = cond %2, %3 {bodies=<graph {;  %0: f32[4] = input;  inputs %0;  return %0;};>"
    "<graph {;  %0: f32[4] = input;  %1: f32[4] = neg %0;  inputs %0;  return %1;};>}\n"
    "  inputs %0 %1 %2\n"
    "  return %5 %4\n"
    "}\n";

TEST(ControlFlow, HasATextThatReadsBack) {
  graph::Graph graph = graph::parse(text);
  EXPECT_EQ(graph::print(graph), text);
  graph::Graph other = graph::parse(text);
  EXPECT_EQ(graph::content_hash(graph), graph::content_hash(other));
  std::string changed = text;
  changed.replace(changed.find("add"), 3, "sub");
  EXPECT_NE(graph::content_hash(graph), graph::content_hash(graph::parse(changed)));
  graph::TaskList tasks = graph::make_tasks(graph::run_passes(graph));
  graph::verify(tasks);
  EXPECT_EQ(graph::print(graph::parse_tasks(graph::print(tasks)).list), graph::print(tasks));
}

TEST(ControlFlow, MeansTheSameToTheInterpreterOfTasksAndToPlans) {
  graph::Graph graph = graph::run_passes(graph::parse(text));
  graph::HostTensor start(f32, {4}), rows(f32, {3, 4}), is_true(DType::boolean, {});
  for (std::int64_t i = 0; i < 12; ++i) rows.set_number(i, static_cast<double>(i));
  for (int choice : {0, 1}) {
    is_true.integer = {choice};
    const std::vector<graph::HostTensor> inputs = {start, rows, is_true};
    graph::Evaluation wanted = evaluate(graph, inputs, graph::Rounding::exact_dtype);
    EXPECT_EQ(wanted.outputs[0].floating[3], choice == 1 ? 21 : -21);
    EXPECT_EQ(wanted.outputs[1].floating[11], 21);
    graph::TaskList tasks = graph::make_tasks(graph);
    graph::Evaluation by_tasks = evaluate(graph, tasks, inputs, graph::Rounding::exact_dtype);
    EXPECT_EQ(by_tasks.outputs[0].floating, wanted.outputs[0].floating);
    EXPECT_EQ(by_tasks.outputs[1].floating, wanted.outputs[1].floating);
  }
}

}  // namespace
}  // namespace tilewright::control_flow_text_test
