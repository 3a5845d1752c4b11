// Rows of weights that are fetched ahead: from which length on, and as tuning asks for them.
#include <gtest/gtest.h>

#include <algorithm>

#include "dsl/ir/text/text.h"
#include "graph/lower/lower.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/tune/region_tuner.h"
#include "graph/tune/tune_plan.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::rows_ahead_test {
namespace {

using Tensors = std::vector<Tensor>;

// Short rows come whole with the hardware's own prefetching.
TEST(RowsAhead, AreFetchedFromAPageOn) {
  for (std::int64_t width : {1000, 1024}) {
    Graph graph = captured({{64, width}}, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
    TaskList list = make_tasks(graph);
    FusedRegion fused = fuse_tasks(list, true)[0];
    std::string text =
        ir::print(lower(list, fused.region, dsl::host_target(), {.rows = 2, .ahead = 1})
                      .programs[0]
                      .function);
    EXPECT_EQ(text.find("prefetch") != std::string::npos, width * 4 >= 4096) << width;
  }
}

// Where one block has all rows there is none ahead of it, unless there may be more of them later.
TEST(RowsAhead, AreNotFetchedBehindAllRows) {
  Graph graph = captured({{2, 2048}}, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
  TaskList list = make_tasks(graph);
  Region region = fuse_tasks(list, true)[0].region;
  for (bool vary : {false, true}) {
    region.sizes_vary = vary;
    LoweredRegion lowered = lower(list, region, dsl::host_target(), {.rows = 512});
    EXPECT_EQ(ir::print(lowered.programs[0].function).find("prefetch") != std::string::npos, vary);
  }
}

TEST(RowsAhead, AreFetchedAsAskedAndTunedWhereRowsAreLong) {
  dsl::Target host = dsl::host_target();
  for (std::int64_t width : {32, 2048}) {
    Graph graph = captured({{64, width}}, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
    TaskList list = make_tasks(graph);
    FusedRegion fused = fuse_tasks(list, true)[0];
    auto text = [&](std::int64_t ahead) {
      return ir::print(
          lower(list, fused.region, host, {.rows = 2, .ahead = ahead}).programs[0].function);
    };
    bool is_long = width == 2048;
    EXPECT_EQ(text(1).find("prefetch") != std::string::npos, is_long);
    EXPECT_EQ(text(-1).find("prefetch"), std::string::npos);
    EXPECT_EQ(text(0), text(1));
    EXPECT_EQ(text(2) != text(1), is_long);
    auto knobs = region_space(list, fused.region, host).space.knobs();
    EXPECT_EQ(std::ranges::count(knobs, "ahead", &autotune::Knob::name), is_long ? 1 : 0);
    if (is_long) {  // where one block has all rows there is none ahead of it
      RegionSpace space = region_space(list, fused.region, host);
      EXPECT_TRUE(space.space.parse("rows=64 ahead=-1").has_value());
      EXPECT_FALSE(space.space.parse("rows=64 ahead=2").has_value());
      EXPECT_TRUE(space.space.parse("rows=2 ahead=2").has_value());
    }
    auto of_gpu = region_space(list, fused.region, dsl::target_named("sm_80")).space.knobs();
    EXPECT_EQ(std::ranges::count(of_gpu, "ahead", &autotune::Knob::name), 0);
  }
}

}  // namespace
}  // namespace tilewright::graph::rows_ahead_test
