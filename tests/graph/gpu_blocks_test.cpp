// The blocks that GPUs are given where programs would be too small or too few.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "graph/compile/compile.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"

namespace tilewright::gpu_blocks_test {
namespace {

Tensor ramp(const Shape& shape, DType dtype = DType::f32) {
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  std::iota(elements.begin(), elements.end(), 1.0F);
  return Tensor::from(elements, shape).to(dtype);
}
Tensor numbers(const std::vector<std::int64_t>& all) {
  return Tensor::from(all, {static_cast<std::int64_t>(all.size())});
}

std::vector<std::string> program_texts(const graph::Captured& captured, const char* device) {
  auto plan = graph::make_plan(graph::run_passes(captured.graph),
                               {.interpret = true, .device = Device::parse(device)});
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < plan->programs().size(); ++i) texts.push_back(plan->program_text(i));
  return texts;
}

TEST(GpuBlocks, FoundRowsAreReadAndWrittenWhereTheyLie) {
  for (const char* device : {"emulated:sm_80", "emulated:sm_90a"})
    for (std::int64_t count : {1, 7, 33, 70})
      for (std::int64_t width : {1, 3, 64}) {
        std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i)
          ids[static_cast<std::size_t>(i)] = (i * 37 + 5) % 101;  // no two are equal
        const Tensor rows = ramp({count, width}), places = numbers(ids);
        auto copied = [&](const Options& options) {
          Tensor target = ramp({2, 101, width}) * -1.0;
          Compiled write = compile(
              [&](const Tensor& source, const Tensor& index) {
                target.index_copy_(1, index,
                                   cat({source.unsqueeze(0), source.unsqueeze(0) * 2}, 0));
                return index_select(target, 1, index) + 1;
              },
              options);
          Tensor read = write(rows, places);
          return std::pair(target.to_vector<float>(), read.to_vector<float>());
        };
        EXPECT_EQ(copied({.device = Device::parse(device)}),
                  copied({.backend = Backend::aot_eager, .device = Device::cpu()}))
            << device << " " << count << "x" << width;
      }
}

// Only two values are divided, so little is computed from the result: it does not make one row of
// the large ones.
TEST(GpuBlocks, ALittleSiblingLeavesLargeStepsTheirPrograms) {
  graph::Capture capture;
  Tensor a = capture.placeholder(DType::f32, {1 << 20}),
         b = capture.placeholder(DType::f32, {1 << 20}),
         rates = capture.placeholder(DType::f32, {2});
  Tensor rate = rates.slice(0, 0, 1);
  const auto texts =
      program_texts(capture.finish({rates + 1, a * rate, b * rate}), "emulated:sm_90a");
  ASSERT_EQ(texts.size(), 2u);
  for (const std::string& text : texts) EXPECT_EQ(text.find("loop"), std::string::npos) << text;
}

// Exponentials are added up while their row's highest element is looked for, if they are relative
// to that; here they are relative to a number, which no element of the row is.
TEST(GpuBlocks, ExponentialsRelativeToANumberAreAddedUpAsTheyAre) {
  const std::int64_t width = 20'000;
  graph::Capture capture;
  Tensor x = capture.placeholder(f32, {1, width});
  Tensor top = amax(full({1, width}, 3), {1}, true);
  auto plan = graph::make_plan(graph::run_passes(capture.finish({sum(exp(x - top), {1})}).graph),
                               {.interpret = true, .device = Device::emulated("sm_80")});
  std::vector<float> row(width, 5);
  void* inputs[] = {row.data()};
  EXPECT_NEAR(*static_cast<const float*>(plan->run(inputs)[0]->data()), width * std::exp(2.0), 1);
}

TEST(GpuBlocks, ProductsOfOneBlockOfRowsAreCutIntoNarrowColumnsOnHopper) {
  for (auto [columns, block] : {std::pair{2048, "f32[128x16]"},
                                {3072, "f32[128x32]"},
                                {5120, "f32[128x64]"},
                                {16384, "f32[128x128]"}}) {
    graph::Capture capture;
    Tensor x = capture.placeholder(DType::bf16, {128, 2048}),
           w = capture.placeholder(DType::bf16, {columns, 2048});
    const auto texts = program_texts(capture.finish({linear(x, w)}), "emulated:sm_90a");
    ASSERT_EQ(texts.size(), 1u) << columns;
    expect_contains(texts[0], block);
  }
}

}  // namespace
}  // namespace tilewright::gpu_blocks_test
