// Task lists of random graphs: they obey their rules and read back from their text.
#include <gtest/gtest.h>

#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/reference/verify.h"
#include "graph/regions/text/text.h"
#include "graph/run/plan_tasks.h"
#include "runtime/base/error.h"
#include "tests/property/random_graph.h"
#include "tests/property/seeds.h"

namespace tilewright::graph {
namespace {

constexpr std::uint64_t cases = 1000;

// Of the host and of a GPU, which limit regions otherwise, and without fusion.
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
}  // namespace tilewright::graph
