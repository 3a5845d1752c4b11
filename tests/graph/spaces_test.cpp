// Tuning spaces on a GPU, in the emulator: each configuration computes the same as the default, and
// none faults. A few a space; TILEWRIGHT_TEST_POINTS says how many, and nightly runs try more.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/tune/region_space.h"
#include "graph/tune/region_trial.h"
#include "runtime/base/env.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::spaces_test {
namespace {

using Tensors = std::vector<Tensor>;

struct Example {
  std::string name;
  Graph graph;
};

std::vector<Example> examples() {
  std::vector<Example> result;
  auto add = [&](std::string name, const std::vector<Shape>& shapes, DType dtype, auto function) {
    Capture capture;
    Tensors x;
    for (const Shape& shape : shapes) x.push_back(capture.placeholder(dtype, shape));
    result.push_back({std::move(name), run_passes(capture.finish(function(x)).graph)});
  };
  auto multiply = [](Tensors& x) { return Tensors{matmul(x[0], x[1])}; };
  auto layer = [](Tensors& x) { return Tensors{linear(x[0], x[1])}; };
  add("layer_of_whole_blocks", {{64, 32}, {64, 32}}, bf16, layer);
  add("layer_of_odd_sizes", {{70, 104}, {200, 104}}, bf16, layer);
  add("long_inner_axis", {{40, 640}, {640, 72}}, f16, multiply);
  add("batched", {{2, 33, 48}, {2, 48, 130}}, f32, multiply);
  add("one_row", {{1, 512}, {96, 512}}, bf16, layer);
  add("few_rows_with_gelu", {{7, 264}, {136, 264}, {136}}, bf16,
      [](Tensors& x) { return Tensors{gelu(linear(x[0], x[1], x[2]))}; });
  add("rows_that_are_filled_up", {{3, 264}, {136, 264}}, bf16, layer);
  add("softmax", {{9, 1500}}, f32, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
  add("sum_over_rows", {{300, 70}}, f32, [](Tensors& x) { return Tensors{sum(x[0], {0}, false)}; });
  add("transposed", {{70, 130}}, bf16,
      [](Tensors& x) { return Tensors{relu(x[0].transpose(0, 1)) * 2}; });
  add("attention", {{1, 4, 70, 64}, {1, 2, 150, 64}, {1, 2, 150, 64}}, bf16, [](Tensors& x) {
    return Tensors{scaled_dot_product_attention(
        x[0], x[1], x[2], {.causal = true, .alignment = CausalAlignment::bottom_right})};
  });
  add("attention_of_a_row", {{1, 4, 1, 64}, {1, 2, 150, 64}, {1, 2, 150, 64}}, bf16,
      [](Tensors& x) { return Tensors{scaled_dot_product_attention(x[0], x[1], x[2], {})}; });
  return result;
}

void expect_same_everywhere(const Example& example, const char* target, std::size_t most) {
  Device device = Device::emulated(target);
  TaskList list = make_tasks(example.graph);
  for (const FusedRegion& fused : fuse_tasks(list, true)) {
    RegionSpace space = region_space(list, fused.region, device.target());
    ASSERT_TRUE(space.space.is_legal(space.preferred)) << example.name << " on " << target;
    RegionTrial trial(list, fused.region, device);
    auto expected = trial.results(trial.compile(space.blocks_of(space.preferred)));
    std::vector<autotune::Point> points = space.space.legal_points(1'000'000);
    std::mt19937_64 random(std::size(example.name));
    std::shuffle(points.begin() + 1, points.end(), random);  // the first has the smallest blocks
    if (points.size() > most) points.resize(most);
    for (const autotune::Point& point : points) {
      SCOPED_TRACE(concat(example.name, " on ", target, ": ", space.space.text(point)));
      RegionCandidate candidate = trial.compile(space.blocks_of(point));
      ASSERT_EQ(candidate.failure.reason, "");
      try {
        EXPECT_EQ(trial.difference(expected, trial.results(candidate)), "");
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

class Spaces : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, Spaces, testing::Values("sm_80", "sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

// A stage of TMA waits for its bytes, not for its room, which is whole kilobytes.
TEST(SmallBlocks, OfTheCopyEngineArrive) {
  Graph graph = examples()[0].graph;
  Device device = Device::emulated("sm_90a");
  TaskList list = make_tasks(graph);
  Region region = fuse_tasks(list, true)[0].region;
  RegionTrial trial(list, region, device);
  RegionCandidate candidate =
      trial.compile({.rows = 64, .columns = 16, .depth = 16, .splits = 1, .cluster = 1});
  ASSERT_EQ(candidate.failure.reason, "");
  EXPECT_EQ(trial.difference(trial.results(trial.compile({})), trial.results(candidate)), "");
}

TEST_P(Spaces, HaveNoWrongPoint) {
  const auto most = static_cast<std::size_t>(env::test_points().value_or(6));
  for (const Example& example : examples()) expect_same_everywhere(example, GetParam(), most);
}

}  // namespace
}  // namespace tilewright::graph::spaces_test
