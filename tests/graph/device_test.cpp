// Devices: their names, the one that the environment names, and the programs that plans have for
// each.
#include "dsl/launch/device.h"

#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::device_test {
namespace {

TEST(Device, IsTheHostUnlessNamed) {
  Setting unset("TILEWRIGHT_DEVICE", nullptr);
  EXPECT_EQ(Device(), Device::cpu());
  EXPECT_EQ(Options().device.text(), "cpu");
  EXPECT_FALSE(Device::cpu().target().is_gpu());
}

TEST(Device, IsTheOneThatTheEnvironmentNames) {
  Setting set("TILEWRIGHT_DEVICE", "emulated:sm_90a");
  EXPECT_EQ(default_device(), Device::emulated("sm_90a"));
  EXPECT_EQ(Options().device, default_device());
  EXPECT_EQ(graph::PlanOptions().device, default_device());
  Setting wrong("TILEWRIGHT_DEVICE", "sm_90a");
  expect_contains(error_of([] { default_device(); }),
                  "[TILEWRIGHT_DEVICE] unknown device \"sm_90a\"; known are cpu, cuda");
}

TEST(Device, ReadsWhatItWrites) {
  for (const char* text : {"cpu", "emulated:sm_80", "emulated:sm_90a"})
    EXPECT_EQ(Device::parse(text).text(), text);
  EXPECT_EQ(Device::parse("emulated:sm_80"), Device::emulated("sm_80"));
  EXPECT_EQ(Device::emulated("sm_90a").target().sm, 90);
}

TEST(Device, NamesWhatIsKnown) {
  for (const char* text : {"", "gpu", "cpu:0", "sm_80", "emulated", "emulated:", "emulated:sm_1"}) {
    std::string message = error_of([&] { Device::parse(text); });
    expect_contains(message, "[device] unknown device \"");
    expect_contains(message, "cpu, cuda, cuda:0, cuda:1, ..., emulated:sm_80");
  }
  expect_contains(error_of([&] { Device::emulated("avx2"); }), "\"emulated:avx2\"");
}

// The programs that a product of these shapes becomes.
std::vector<std::string> product_programs(const Device& device, const Shape& a, const Shape& b) {
  graph::Capture capture;
  Tensor x = capture.placeholder(DType::bf16, a), y = capture.placeholder(DType::bf16, b);
  graph::Graph graph = capture.finish({relu(matmul(x, y))}).graph;
  auto plan = graph::make_plan(graph::run_passes(graph), {.interpret = true, .device = device});
  std::vector<std::string> names;
  for (const graph::PlanProgram& program : plan->programs()) names.push_back(program.name);
  return names;
}

TEST(Device, TwoProgramsMakeASmallProductOfALongInnerAxis) {
  using Names = std::vector<std::string>;
  Device gpu = Device::emulated("sm_90a");
  EXPECT_EQ(product_programs(gpu, {512, 4096}, {4096, 512}),
            (Names{"partial_matmul", "combine_matmul_max"}));
  EXPECT_EQ(product_programs(gpu, {512, 128}, {128, 512}), (Names{"product_matmul_max"}));
  EXPECT_EQ(product_programs(gpu, {4096, 4096}, {4096, 4096}), (Names{"product_matmul_max"}));
  EXPECT_EQ(product_programs(Device::cpu(), {512, 4096}, {4096, 512}),
            (Names{"product_matmul_max"}));
}

TEST(Device, ProgramsOfALargeProductStoreTheirBlocksOnly) {
  graph::Capture capture;
  Tensor a = capture.placeholder(DType::f16, {4096, 4096}),
         b = capture.placeholder(DType::f16, {4096, 4096});
  graph::Graph graph = capture.finish({matmul(a, b)}).graph;
  auto plan = graph::make_plan(graph, {.interpret = true, .device = Device::emulated("sm_80")});
  std::string text = plan->program_text(0);
  expect_contains(text, "f32[128x128]");
  EXPECT_EQ(text.find("store_desc"), text.rfind("store_desc"));
  EXPECT_GT(text.find("store_desc"), text.rfind("yield")) << text;
}

// As tiles of 64 bits they took so many registers that ptxas spilled some.
TEST(Device, ColumnsAreComparedWithTheEndOfARowIn32Bits) {
  graph::Capture capture;
  Tensor x = capture.placeholder(DType::f32, {2, 40'000});
  graph::Graph graph = capture.finish({amax(x, {1})}).graph;
  auto plan = graph::make_plan(graph, {.interpret = true, .device = Device::emulated("sm_80")});
  expect_contains(plan->program_text(0), ": i32[1x8192]");
  EXPECT_EQ(plan->program_text(0).find(": i64[1x8192]"), std::string::npos);
}

// The programs of decoding with a long cache.
std::vector<graph::PlanProgram> decoding(const Device& device, std::int64_t batch) {
  graph::Capture capture;
  Tensor q = capture.placeholder(DType::bf16, {batch, 32, 1, 128}),
         k = capture.placeholder(DType::bf16, {batch, 8, 4096, 128});
  graph::Graph graph = capture.finish({scaled_dot_product_attention(q, k, k)}).graph;
  auto plan = graph::make_plan(graph, {.interpret = true, .device = device});
  EXPECT_EQ(plan->arena_bytes() > 0, plan->launches() > 1);
  return {plan->programs().begin(), plan->programs().end()};
}

TEST(Device, TwoProgramsDecodeWhereOneWouldLeaveMultiprocessorsIdle) {
  auto programs = decoding(Device::emulated("sm_90a"), 1);
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_EQ(programs[0].name, "attention");
  EXPECT_EQ(programs[1].name, "attention_combine");
  EXPECT_EQ(decoding(Device::emulated("sm_90a"), 32).size(), 1u);
  EXPECT_EQ(decoding(Device::cpu(), 1).size(), 1u);
}

}  // namespace
}  // namespace tilewright::device_test
