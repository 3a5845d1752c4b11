// The table of lowerings takes every region that fusion makes, and takes it once.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "graph/ir/text.h"
#include "graph/lower/flat.h"
#include "graph/lower/lowering.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/region_key.h"
#include "tests/property/random_graph.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::lowerings_test {
namespace {

constexpr std::uint64_t cases = 500;

TEST(Lowerings, HaveTheNamesOfTheirRows) {
  const std::vector<std::string> rows = {
#define TILEWRIGHT_LOWERING(name) #name,
#include "graph/lower/lowerings.def"
#undef TILEWRIGHT_LOWERING
  };
  std::vector<std::string> names;
  for (const Lowering* lowering : all_lowerings()) names.emplace_back(lowering->name);
  EXPECT_EQ(names, rows);
}

// Rows may overlap only where the order of the table says so: regions of any size can be computed
// by rows too.
TEST(Lowerings, EachRegionOfARandomGraphIsTakenByOneRowFirst) {
  std::map<std::string, int> taken;
  for (std::uint64_t seed : seeds_of_test(cases)) {
    TaskList list = make_tasks(run_passes(random_graph(seed).graph));
    for (bool fuse : {false, true}) {
      std::vector<FusedRegion> regions = fuse_tasks(list, fuse);
      find_families(list, regions, dsl::host_target());
      for (const FusedRegion& fused : regions) {
        const Region& region = fused.region;
        int others = 0;
        for (const Lowering* lowering : all_lowerings())
          others += lowering != &lowerings::flat && lowering->matches(list, region);
        ASSERT_EQ(others, 1) << reproduction(seed);
        const Lowering& first = lowering_of(list, region);
        EXPECT_EQ(&first == &lowerings::flat, region.family_elements != 0) << reproduction(seed);
        const bool is_opaque = std::ranges::any_of(
            region.tasks, [&](TaskId id) { return list.tasks[id].is_opaque(); });
        EXPECT_EQ(region.tables.size(), is_opaque ? 0 : region.tasks.size());
        ++taken[std::string(first.name)];
      }
    }
  }
  // No row is there for nothing.
  for (const Lowering* lowering : all_lowerings())
    if (lowering->name != "custom") {  // custom_ops_test.cpp draws these
      EXPECT_GT(taken[std::string(lowering->name)], 0) << lowering->name;
    }
}

Hash key_of_attention(const Attributes& attributes) {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId q = builder.input(f32, {1, 2, 8, 16}), k = builder.input(f32, {1, 2, 32, 16});
  NodeId v = builder.input(f32, {1, 2, 32, 16});
  graph.outputs = {builder.append(Op::attention, {q, k, v}, attributes)};
  TaskList list = make_tasks(graph);
  return region_key(list, fuse_tasks(list, true)[0].region);
}

TEST(Lowerings, WhatAnOpaqueTaskReadsOfAttributesTellsRegionsApart) {
  Attributes causal{.axes = {}, .sizes = {}, .number = 0.5, .causal = true, .window = 4};
  Attributes window = causal, scale = causal, start = causal, unseen = causal, cap = causal;
  window.window = 8;
  unseen.nan_unseen = true;
  cap.cap = 30;
  scale.number = 0.25;
  start.start = 3;
  EXPECT_EQ(key_of_attention(causal), key_of_attention(causal));
  for (const Attributes& other : {window, scale, start, unseen, cap})
    EXPECT_NE(key_of_attention(causal), key_of_attention(other));
}

}  // namespace
}  // namespace tilewright::graph::lowerings_test
