// Task lists of random graphs: they obey their rules, read back from their text, and compute what
// the graph means, in every order that they permit.
#include <gtest/gtest.h>

#include <random>

#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/reference/evaluate_tasks.h"
#include "graph/regions/reference/verify.h"
#include "graph/regions/text/text.h"
#include "graph/run/plan_tasks.h"
#include "runtime/base/error.h"
#include "tests/property/expect_within.h"
#include "tests/property/random_graph.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::graph_tasks_test {
namespace {

constexpr std::uint64_t cases = 1000;

// Options for the host and for a GPU, which limit regions otherwise, and without fusion.
std::vector<PlanOptions> forms() {
  return {{.device = Device::cpu()},
          {.matmul_precision = MatmulPrecision::high, .device = Device::emulated("sm_90a")},
          {.fuse = false, .device = Device::cpu()}};
}

TEST(TasksOfRandomGraphs, ReadBackFromTheirText) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Graph graph = run_passes(random_graph(seed).graph);
    for (const PlanOptions& form : forms()) {
      try {
        FusedTasks tasks = fused_tasks(graph, form);
        verify(tasks.list);
        verify(tasks.list, tasks.regions);
        std::string text = print(tasks.list, tasks.regions);
        FusedTasks again = parse_tasks(text);
        ASSERT_EQ(print(again.list, again.regions), text) << reproduction(seed);
      } catch (const std::exception& error) {
        FAIL() << error.what() << "\n" << reproduction(seed) << "\n" << print(graph);
      }
    }
  }
}

// Whatever is marked: no region has tasks of two marks, and within them fusion goes on.
TEST(TasksOfRandomGraphs, AreNotFusedOverTheBordersOfMarks) {
  std::size_t fused = 0;
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomGraph random = random_graph(seed);
    mark_at_random(random.graph, seed);
    const Graph graph = run_passes(random.graph);
    const FusedTasks tasks = fused_tasks(graph, {.device = Device::cpu()});
    verify(tasks.list, tasks.regions);
    for (const FusedRegion& each : tasks.regions) {
      const std::vector<TaskId>& members = each.region.tasks;
      fused += members.size() > 1 ? 1 : 0;
      for (TaskId id : members)
        ASSERT_EQ(graph.node(tasks.list.tasks[id].node).origin.mark,
                  graph.node(tasks.list.tasks[members[0]].node).origin.mark)
            << reproduction(seed) << "\n"
            << print(graph);
    }
  }
  EXPECT_GT(fused, 0U);
}

// Any order in which each task has those of `after` before it.
std::vector<TaskId> random_order(const TaskList& list, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> waits_for(list.tasks.size());
  std::vector<std::vector<TaskId>> waiting(list.tasks.size());
  std::vector<TaskId> ready, order;
  for (TaskId id = 0; id < list.tasks.size(); ++id) {
    waits_for[id] = list.tasks[id].after.size();
    for (TaskId before : list.tasks[id].after) waiting[before].push_back(id);
    if (waits_for[id] == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    for (TaskId id : waiting[order.back()])
      if (--waits_for[id] == 0) ready.push_back(id);
  }
  return order;
}

void expect_tasks_mean_the_graph(Rounding rounding, bool in_any_order) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomGraph random = random_graph(seed);
    Graph graph = run_passes(random.graph);
    TaskList list = make_tasks(graph);
    std::vector<TaskId> order;
    if (in_any_order) order = random_order(list, seed);
    try {
      expect_within(bounded_evaluate(random.graph, random.inputs),
                    evaluate(graph, list, random.inputs, rounding, order),
                    [&] { return reproduction(seed) + "\n" + print(graph) + print(list); });
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\n" << reproduction(seed) << "\n" << print(graph) << print(list);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(TasksOfRandomGraphs, ComputeWhatTheGraphMeans) {
  expect_tasks_mean_the_graph(Rounding::double_, false);
}
TEST(TasksOfRandomGraphs, ComputeWhatTheGraphMeansInTheirOwnDtypes) {
  expect_tasks_mean_the_graph(Rounding::exact_dtype, false);
}
TEST(TasksOfRandomGraphs, ComputeWhatTheGraphMeansInEveryOrderThatTheyPermit) {
  expect_tasks_mean_the_graph(Rounding::exact_dtype, true);
}

// A list that forgets that a task reads another's value is found by the verifier, before anyone
// computes what is wrong only at times.
TEST(TasksOfRandomGraphs, WithoutADependenceAreFound) {
  int dropped = 0;
  for (std::uint64_t seed : seeds_of_test(cases / 5)) {
    TaskList list = make_tasks(run_passes(random_graph(seed).graph));
    for (Task& task : list.tasks)
      for (const TaskOperand& operand : task.operands) {
        if (!operand.producer) continue;
        std::vector<TaskId> whole = task.after;
        std::erase(task.after, *operand.producer);
        EXPECT_THROW(verify(list), InternalError) << reproduction(seed);
        task.after = whole;
        ++dropped;
      }
  }
  EXPECT_GT(dropped, 0);
}

}  // namespace
}  // namespace tilewright::graph::graph_tasks_test
