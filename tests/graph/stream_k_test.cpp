// When the last tiles of a product are shared, and what is made of them (graph/lower/stream_k.h).
#include <gtest/gtest.h>

#include "graph/lower/lower.h"
#include "graph/lower/stream_k.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor.h"
#include "graph/tune/region_space.h"
#include "tests/errors.h"

namespace tilewright::graph::stream_k_test {
namespace {

// The work of products of 16 bits, in the tiles of sm_90a.
StreamKWork work_of(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  return {.row_tiles = rows,
          .column_tiles = columns,
          .rows = 128,
          .columns = 256,
          .depth = depth,
          .steps = depth / 64,
          .element_bytes = 2,
          .operand_bytes = 2 * depth * (rows * 128 + columns * 256)};
}

TEST(StreamK, IsChosenWhereTheLastWaveIsNearlyEmpty) {
  auto plan = [](std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    return plan_stream_k(work_of(rows, columns, depth), dsl::target_named("sm_90a"));
  };
  auto tail = plan(24, 12, 3072);  // 288 = 2 x 132 + 24
  ASSERT_TRUE(tail);
  EXPECT_FALSE(tail->of_columns);
  EXPECT_EQ(tail->tiles, 2);
  EXPECT_EQ(tail->splits, 4);
  ASSERT_TRUE(plan(2, 75, 8192));  // 18 more than a wave
  EXPECT_TRUE(plan(2, 75, 8192)->of_columns);
  EXPECT_FALSE(plan(11, 12, 8192));    // one wave
  EXPECT_FALSE(plan(16, 16, 8192));    // two, nearly full
  EXPECT_FALSE(plan(24, 12, 256));     // two more launches take longer
  EXPECT_FALSE(plan(100, 150, 8192));  // one of many waves
  EXPECT_FALSE(plan(1, 1, 8192));
}

TEST(StreamK, IsNotForProductsThatWaitForMemory) {
  StreamKWork work = work_of(24, 12, 3072);
  work.operand_bytes = std::int64_t{1} << 30;
  EXPECT_FALSE(plan_stream_k(work, dsl::target_named("sm_90a")));
}

TEST(StreamK, CutsColumnsOnlyWhereItMay) {
  StreamKWork work = work_of(2, 75, 8192);
  work.may_cut_columns = false;
  EXPECT_FALSE(plan_stream_k(work, dsl::target_named("sm_90a")));
}

TEST(StreamK, IsAsWantedWhateverItSaves) {
  auto tail = [](std::int64_t rows, std::int64_t columns, std::int64_t tiles, std::int64_t splits) {
    return plan_stream_k(work_of(rows, columns, 512), dsl::target_named("sm_80"),
                         {.tiles = tiles, .splits = splits});
  };
  EXPECT_EQ(tail(3, 2, 1, 4)->splits, 4);
  EXPECT_EQ(tail(1, 3, 1, 4)->tiles, 1);
  EXPECT_TRUE(tail(1, 3, 1, 4)->of_columns);
  EXPECT_FALSE(tail(3, 1, 1, 4)->of_columns);
  EXPECT_EQ(tail(3, 1, 7, 4)->tiles, 2);  // one is whole
  EXPECT_GE(tail(3, 2, 1, 0)->splits, 2);
  EXPECT_FALSE(tail(3, 2, 1, 1));
  EXPECT_FALSE(tail(1, 1, 1, 4));
}

Graph product(const Shape& x, const Shape& y) {
  Capture capture;
  Tensor a = capture.placeholder(bf16, x), b = capture.placeholder(bf16, y);
  return run_passes(capture.finish({relu(matmul(a, b))}).graph);
}

// Configurations that tuning may time: blocks of the chosen size with a tail and without.
TEST(StreamK, IsAKnobOfTuning) {
  using Tails = std::vector<std::int64_t>;
  auto tails = [](const Shape& x, const Shape& y) {
    Graph graph = product(x, y);
    TaskList list = make_tasks(graph);
    Region region = fuse_tasks(list, true, {})[0].region;
    dsl::Target target = dsl::target_named("sm_90a");
    RegionSpace space = region_space(list, region, target);
    std::size_t tail = space.space.index_of("tail");
    Tails found{lower(list, region, target).blocks.tail};
    for (int choice = 0; choice < space.space.knobs()[tail].count(); ++choice) {
      autotune::Point point = space.preferred;
      point[tail] = choice;
      if (!space.space.is_legal(point)) continue;
      BlockSizes blocks = space.blocks_of(point);
      found.push_back(lower(list, region, target, blocks).blocks.tail);
    }
    return found;
  };
  EXPECT_EQ(tails({3072, 3072}, {3072, 3072}), (Tails{2, 0, 2}));
  EXPECT_EQ(tails({6784, 8192}, {8192, 4096}), (Tails{0, 0, 4}));
  EXPECT_EQ(tails({4096, 4096}, {4096, 4096}), (Tails{0, 0}));
}

std::shared_ptr<const Plan> plan_of(const Shape& x, const Shape& y, const BlockSizes& blocks = {},
                                    const char* target = "sm_90a") {
  return make_plan(product(x, y),
                   {.interpret = true, .device = Device::emulated(target), .blocks = blocks});
}

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> result;
  for (const PlanProgram& program : plan.programs()) result.push_back(program.name);
  return result;
}

TEST(StreamK, MaySaveLittleWhereTheClockDecides) {
  StreamKWork work = work_of(16, 16, 8192);
  work.row_tiles = 26;  // four waves, the last of 20 tiles
  dsl::Target target = dsl::target_named("sm_90a");
  EXPECT_TRUE(plan_stream_k(work, target, {.least_saving = 0}));
  EXPECT_FALSE(plan_stream_k(work, target, {.least_saving = 0.5}));
}

TEST(StreamK, IsThreeProgramsWhoseNamesSaySo) {
  using Names = std::vector<std::string>;
  auto plan = plan_of({3072, 3072}, {3072, 3072});
  EXPECT_EQ(names(*plan),
            (Names{"product_matmul_max", "partial_tail_matmul", "combine_tail_matmul_max"}));
  EXPECT_EQ(plan->programs()[0].kind, "stream-K product");
  // Four parts of two rows of tiles, not of the whole table.
  EXPECT_EQ(plan->arena_bytes(), std::int64_t{4} * 2 * 128 * 3072 * 4);
  EXPECT_EQ(names(*plan_of({4096, 4096}, {4096, 4096})), Names{"product_matmul_max"});
  EXPECT_EQ(names(*plan_of({3072, 3072}, {3072, 3072}, {.splits = 1})),
            Names{"product_matmul_max"});
  EXPECT_EQ(plan_of({256, 256}, {256, 256}, {.tail = 1}, "sm_80")->launches(), 3);
  EXPECT_EQ(plan_of({256, 256}, {256, 256}, {.splits = 2}, "sm_80")->launches(), 2);
}

}  // namespace
}  // namespace tilewright::graph::stream_k_test
