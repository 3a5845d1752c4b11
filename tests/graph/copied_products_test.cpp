// Blocks of products on Hopper: wide ones where TMA fetches what they take, and those
// of other GPUs where it cannot, since then nobody but the multiplying threads would load it.
#include <gtest/gtest.h>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"

namespace tilewright::graph::copied_products_test {
namespace {

struct Product {
  DType dtype = DType::bf16;
  bool turns_left = false, turns_right = false;  // contiguous along rows; along the inner axis
  std::int64_t size = 4096;
  std::int64_t skips = 0;  // elements before each row of both operands, which count in its stride
  bool is_unaligned = false;
};

ir::Function program_of(const Product& p, const char* target = "sm_90a") {
  Capture capture;
  auto operand = [&](bool turns) {
    Tensor x = capture.placeholder(p.dtype, {p.size, p.size + p.skips});
    x = x.slice(1, p.skips, p.size + p.skips);
    return turns ? x.transpose(0, 1) : x;
  };
  Tensor left = operand(p.turns_left);
  Tensor product = matmul(left, operand(p.turns_right)).to(DType::bf16);
  auto plan = make_plan(run_passes(capture.finish({product}).graph),
                        {.interpret = true,
                         .matmul_precision = MatmulPrecision::high,
                         .device = Device::emulated(target),
                         .inputs = {{.is_aligned = !p.is_unaligned}, {}}});
  return ir::parse(plan->program_text(0));
}

// The columns of the product's block.
std::int64_t columns_of(const ir::Function& program) {
  std::int64_t columns = 0;
  ir::for_each_inst(program.body, [&](const ir::Inst& inst) {
    if (inst.op == ir::Op::dot_) columns = program.type(inst.results[0]).shape[1];
  });
  return columns;
}

// True if a dedicated thread issues TMA copies: registers are moved only there.
bool has_roles(const ir::Function& program) {
  ir::Function simplified = program;
  dsl::run_passes(simplified, {.target = dsl::target_named("sm_90a")});
  std::string text = dsl::gpu::generate_ptx(simplified, dsl::target_named("sm_90a")).text;
  return text.find("setmaxnreg") != std::string::npos;
}

TEST(CopiedProducts, AreWide) {
  for (const Product& p :
       {Product{}, Product{.turns_left = true}, Product{.turns_right = true},
        Product{.dtype = DType::f16, .turns_left = true, .turns_right = true},
        Product{.dtype = DType::f32, .turns_right = true},
        Product{.dtype = DType::f8e4m3, .turns_right = true}, Product{.size = 3000},
        Product{.skips = 8}, Product{.dtype = DType::f32, .turns_right = true, .skips = 4}}) {
    ir::Function program = program_of(p);
    EXPECT_EQ(columns_of(program), 256) << ir::print(program);
    EXPECT_TRUE(has_roles(program)) << ir::print(program);
  }
}

TEST(CopiedProducts, OthersHaveTheBlocksOfOtherGpus) {
  for (const Product& p :
       {Product{.size = 3001}, Product{.dtype = DType::f16, .turns_left = true, .size = 4100},
        Product{.turns_right = true, .size = 3999}, Product{.skips = 3}, Product{.skips = 4},
        Product{.is_unaligned = true}, Product{.dtype = DType::f32},
        Product{.dtype = DType::f32, .turns_left = true, .turns_right = true},
        Product{.dtype = DType::f32, .turns_right = true, .skips = 2},
        Product{.dtype = DType::f8e4m3, .turns_left = true, .turns_right = true},
        Product{.dtype = DType::f8e4m3, .turns_right = true, .skips = 8}}) {
    ir::Function program = program_of(p);
    EXPECT_EQ(columns_of(program), columns_of(program_of(p, "sm_80"))) << ir::print(program);
    EXPECT_FALSE(has_roles(program)) << ir::print(program);
  }
}

}  // namespace
}  // namespace tilewright::graph::copied_products_test
