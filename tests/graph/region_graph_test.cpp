// Which regions may be joined, against a search of the whole graph, while regions are joined at
// random.
#include "graph/regions/region_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilewright::graph::region_graph_test {
namespace {

constexpr TaskId tasks = 24;

TaskList random_tasks(std::mt19937& random) {
  TaskList list;
  list.tasks.resize(tasks);
  list.storages.resize(1);
  for (TaskId id = 1; id < tasks; ++id)
    for (TaskId before = 0; before < id; ++before)
      if (random() % 9 == 0) list.tasks[id].after.push_back(before);
  return list;
}

// True if a path leads from `from` to `to` over at least one other region.
bool leads_through_a_third(const TaskList& list, const RegionGraph& graph, RegionId from,
                           RegionId to) {
  std::vector<bool> seen(tasks, false);
  std::vector<RegionId> open = {from};
  while (!open.empty()) {
    RegionId at = open.back();
    open.pop_back();
    for (TaskId task = 0; task < tasks; ++task)
      for (TaskId before : list.tasks[task].after) {
        RegionId next = graph.region_of(task);
        if (graph.region_of(before) != at || next == at || seen[next]) continue;
        if (next == to && at == from) continue;
        if (next == to) return true;
        seen[next] = true;
        open.push_back(next);
      }
  }
  return false;
}

void expect_order(const TaskList& list, const RegionGraph& graph) {
  std::vector<std::size_t> place(tasks, tasks);
  const std::vector<RegionId> order = graph.order();
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (TaskId task = 0; task < tasks; ++task)
    for (TaskId before : list.tasks[task].after)
      EXPECT_LE(place[graph.region_of(before)], place[graph.region_of(task)]);
}

TEST(RegionGraph, JoinsWhatNoPathThroughAThirdKeepsApart) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const TaskList list = random_tasks(random);
    RegionGraph graph(list);
    for (int turn = 0; turn < 60; ++turn) {
      RegionId a = graph.region_of(static_cast<TaskId>(random() % tasks));
      RegionId b = graph.region_of(static_cast<TaskId>(random() % tasks));
      if (a == b) continue;
      const bool expected =
          !leads_through_a_third(list, graph, a, b) && !leads_through_a_third(list, graph, b, a);
      ASSERT_EQ(graph.may_join(a, b), expected) << "seed " << seed << ", turn " << turn;
      if (!expected || random() % 3 == 0) continue;
      ASSERT_TRUE(graph.may_join(a, b));
      std::vector<TaskId> both = graph.tasks(a);
      both.insert(both.end(), graph.tasks(b).begin(), graph.tasks(b).end());
      std::ranges::sort(both);
      graph.join(a, b, both);
    }
    expect_order(list, graph);
    if (testing::Test::HasFailure()) return;
  }
}

// Two gradients of `elements` floats and the updates of their parameters, which come last.
TaskList updates_of_two(std::int64_t elements) {
  TaskList list;
  const StridedView all = row_major(Shape{elements});
  for (TaskId id = 0; id < 4; ++id) {
    Storage& storage = list.storages.emplace_back();
    storage.kind = id < 2 ? StorageKind::result : StorageKind::input;
    storage.elements = elements;
    Task& task = list.tasks.emplace_back();
    task.node = id;
    task.shape = Shape{elements};
    task.storage = id;
    storage.writers = {id};
  }
  for (TaskId id : {2U, 3U}) {
    const TaskId gradient = id - 2;
    TaskOperand& operand = list.tasks[id].operands.emplace_back();
    operand.storage = gradient;
    operand.view = all;
    list.storages[gradient].readers = {id};
    list.tasks[id].after = {gradient};
  }
  return list;
}

TEST(RegionGraph, UpdatesByLargeValuesRunWhenTheseAreThere) {
  const TaskList large = updates_of_two(1 << 20), small = updates_of_two(1 << 10);
  EXPECT_EQ(RegionGraph(large).order(), (std::vector<RegionId>{0, 2, 1, 3}));
  EXPECT_EQ(RegionGraph(small).order(), (std::vector<RegionId>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace tilewright::graph::region_graph_test
