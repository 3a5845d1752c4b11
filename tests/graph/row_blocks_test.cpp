// How rows are cut among programs.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "graph/compile/compile.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor.h"

namespace tilewright::row_blocks_test {
namespace {

// The last block of a row is moved back to end with it: were blocks cut from the left until nothing
// is left, it would compute most of the one before again.
TEST(RowBlocks, AreEqualSoThatLittleIsComputedTwice) {
  for (std::int64_t width : {17'000, 33'000, 50'257, 70'001}) {
    CompiledFunction scaled(
        [](const std::vector<Tensor>& a) { return std::vector<Tensor>{a[0] * a[1]}; },
        {.fullgraph = true, .device = Device::cpu()});
    Tensor x = full({16, width}, 3), by = full({width}, 0.5);
    Tensor y = scaled.call({x, by}).front();
    EXPECT_EQ(sum(y, {0, 1}).item<float>(), 24.0F * static_cast<float>(width));
    const std::string text = scaled.dump();
    std::smatch match;
    ASSERT_TRUE(std::regex_search(text, match, std::regex(R"(load_desc[^\n]*\[\d+x(\d+)\] :)")))
        << text;
    const std::int64_t columns = std::stoll(match[1]), blocks = (width + columns - 1) / columns;
    EXPECT_LT(blocks * columns - width, blocks * 64) << columns << " of " << width;
  }
}

// Rows of two elements: a program writes those of one run of memory, not of the longest axis.
TEST(RowBlocks, AreAdjacentWhereRowsAreShort) {
  CompiledFunction twice(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{
            a[0].reshape({900, 1, 40, 1}).expand({900, 2, 40, 2}).reshape({1800, 80})};
      },
      {.fullgraph = true, .device = Device::cpu()});
  const Tensor x = arange(0, 36'000, 1, f32).reshape({900, 40});
  const std::vector<float> found = twice.call({x}).front().to_vector<float>();
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], static_cast<float>(i / 160 * 40 + i % 80 / 2)) << i;
  EXPECT_NE(twice.dump().find("f32[40x2]"), std::string::npos) << twice.dump();
}

// Where a host has tiles, rows are packed once and columns are multiplied and stored 64 at a time;
// an earlier reduction along the rows runs over all of them.
TEST(RowBlocks, KeepWholeRowsBesideColumnsThatAreStoredInPieces) {
  auto f = [](const std::vector<Tensor>& a) {
    return std::vector<Tensor>{silu(linear(rms_norm(a[0], a[1]), a[2])) * linear(a[0], a[3])};
  };
  for (std::int64_t columns : {64, 200, 384, 1000})
    for (std::int64_t depth : {96, 520, 2080}) {
      Tensor x = sin(arange(0, 100 * depth, 1, f32)).reshape({100, depth}).to(bf16);
      Tensor gain = cos(arange(0, depth, 1, f32)).to(bf16);
      auto weight = [&](float step) {
        return (sin(arange(0, columns * depth, 1, f32) * step) * 0.05F)
            .reshape({columns, depth})
            .to(bf16);
      };
      std::vector<Tensor> inputs{x, gain, weight(0.7F), weight(1.3F)};
      CompiledFunction compiled(f, {.fullgraph = true, .device = Device::cpu()});
      auto got = compiled.call(inputs).front().to(f32).to_vector<float>();
      auto wanted = f({x.to(f32), gain.to(f32), inputs[2].to(f32), inputs[3].to(f32)})
                        .front()
                        .to_vector<float>();
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], wanted[i], 0.03F * (1 + std::abs(wanted[i])))
            << columns << " x " << depth << ", element " << i;
    }
}

// Products of which a program has whole rows, since these are reduced: the wider, the fewer.
TEST(RowBlocks, OfAGpuHaveAsManyWholeRowsAsItsRegistersHold) {
  auto text_of = [](std::int64_t rows, std::int64_t columns) {
    graph::Capture capture;
    Tensor a = capture.placeholder(f16, {rows, 64}), b = capture.placeholder(f16, {64, columns});
    graph::Graph graph = run_passes(capture.finish({softmax(matmul(a, b), -1)}).graph);
    return graph::make_plan(graph, {.interpret = true, .device = Device::emulated("sm_90a")})
        ->program_text(0);
  };
  EXPECT_NE(text_of(16384, 128).find("f32[64x128]"), std::string::npos);
  EXPECT_NE(text_of(32768, 128).find("f32[128x128]"), std::string::npos);
  EXPECT_NE(text_of(16384, 1024).find("f32[16x1024]"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::row_blocks_test
