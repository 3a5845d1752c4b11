// The effect of launch knobs on a GPU's code.
#include <gtest/gtest.h>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"
#include "dsl/passes/pipeline.h"
#include "dsl/target/target.h"

namespace tilewright::dsl::kernel_knobs_test {
namespace {

// c = a b^T of 512 x 512, in blocks of 64 x 64.
Kernel product() {
  return Kernel("product",
                [](Pointer a, Pointer b, Pointer c) {
                  Desc rows = make_desc(a, {512, 512}, {512, 1}),
                       columns = make_desc(b, {512, 512}, {512, 1});
                  Tile row = program_id(0) * 64, column = program_id(1) * 64;
                  Var sum = full({64, 64}, 0, f32);
                  for (Tile k : range(0, 512, 64))
                    sum = dot(load(rows, {row, k}, {64, 64}),
                              trans(load(columns, {column, k}, {64, 64})), sum);
                  store(make_desc(c, {512, 512}, {512, 1}), {row, column}, sum);
                },
                {"a", "b", "c"});
}

gpu::Ptx ptx_of(const Knobs& knobs, const char* target) {
  ir::Function function = product().with(knobs).trace({bf16, bf16, f32});
  EXPECT_EQ(ir::print(ir::parse(ir::print(function))), ir::print(function));
  EXPECT_EQ(ir::content_hash(ir::parse(ir::print(function))), ir::content_hash(function));
  run_passes(function, {.target = target_named(target)});
  return gpu::generate_ptx(function, target_named(target));
}

TEST(KernelKnobs, StagesAreAsManyAsWished) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    const gpu::Ptx one = ptx_of({.num_stages = 1}, target), two = ptx_of({.num_stages = 2}, target),
                   three = ptx_of({.num_stages = 3}, target);
    EXPECT_EQ(one.text.find("cp.async"), std::string::npos) << target;
    EXPECT_NE(two.text.find("cp.async"), std::string::npos) << target;
    EXPECT_LT(two.shared_bytes, three.shared_bytes) << target;
  }
}

TEST(KernelKnobs, RegistersAreAsManyAsWished) {
  EXPECT_NE(ptx_of({.maxnreg = 96}, "sm_80").text.find("\n.maxnreg 96\n"), std::string::npos);
  EXPECT_EQ(ptx_of({}, "sm_80").text.find(".maxnreg"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::dsl::kernel_knobs_test
