#include "dsl/codegen/host/passes/host_pipeline.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "dsl/codegen/host/codegen.h"
#include "dsl/codegen/named_passes.h"
#include "dsl/ir/text/text.h"
#include "tests/dsl/pass_names.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::dsl::host::host_pipeline_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// c = exp(a) (b & 15 - 8), of 64 x 64 x 64.
const char* const product_text = R"(func @product(%a: ptr<f32>, %b: ptr<u8>, %c: ptr<f32>) {
  %zero = constant 0 : i64
  %one = constant 1 : i64
  %n = constant 64 : i64
  %da = make_desc %a, %n, %n, %n, %one : desc<f32, 2>
  %db = make_desc %b, %n, %n, %n, %one : desc<u8, 2>
  %dc = make_desc %c, %n, %n, %n, %one : desc<f32, 2>
  %x = load_desc %da, %zero, %zero, [64x64] : f32[64x64]
  %l = sqrt %x : f32[64x64]
  %bits = load_desc %db, %zero, %zero, [64x64] : u8[64x64]
  %m = constant 15 : u8
  %mask = splat %m, [64x64] : u8[64x64]
  %number = and %bits, %mask : u8[64x64]
  %wide = cast %number, f32 : f32[64x64]
  %e = constant 8 : f32
  %eight = splat %e, [64x64] : f32[64x64]
  %r = sub %wide, %eight : f32[64x64]
  %none = constant 0 : f32
  %nothing = splat %none, [64x64] : f32[64x64]
  %s = dot %l, %r, %nothing : f32[64x64]
  store_desc %dc, %s, %zero, %zero
}
)";
ir::Function product() { return ir::parse(product_text); }

std::string code_of(const ir::Function& function, const std::string& target = "avx512") {
  return host_code_text(function, target_named(target), "llvm");
}

ir::Inst& only(ir::Function& function, ir::Op op) {
  return *std::ranges::find(function.body.insts, op, &ir::Inst::op);
}

TEST(HostPipeline, TakesAFunctionThroughItsStages) {
  for (const char* target : {"sse", "amx"}) {
    ir::Function f = product();
    EXPECT_THAT(names_of(schedule(f, {.target = target_named(target)})),
                ElementsAre("form_loop_nests", "tabulate", "pack_products"));
    EXPECT_EQ(f.stage, ir::Stage::scheduled);
    ASSERT_NO_THROW(ir::verify(f));
  }
}

TEST(HostPipeline, CodeGoesOnFromTheStageOfATextToTheSameEnd) {
  for (const char* target : {"avx2", "avx512"}) {
    const std::string whole = code_of(product(), target);
    ir::Function f = product();
    for (const Pass& pass : host_passes()) {
      const std::string name(pass.name);
      run_named_passes(f, std::span(&name, 1), target_named(target));
      EXPECT_TRUE(code_of(ir::parse(ir::print(f)), target) == whole) << target << " after " << name;
    }
  }
}

TEST(HostPipeline, WhatIsSkippedIsDoneTheSlowWay) {
  auto skipping = [](const std::string& names) {
    Setting skip("TILEWRIGHT_SKIP_PASSES", names.c_str());
    return code_of(product());
  };
  EXPECT_NE(code_of(product()).find("permvar"), std::string::npos);
  EXPECT_EQ(skipping("tabulate").find("permvar"), std::string::npos);
  EXPECT_TRUE(skipping("pack_products") != code_of(product()));
  EXPECT_TRUE(skipping("form_loop_nests") == code_of(product())) << "required passes run";
}

TEST(HostPipeline, TheEmitterDoesWhatMarksSay) {
  ir::Function f = product();
  schedule(f, {.target = target_named("avx512")});
  ir::Inst& dot = only(f, ir::Op::dot_);
  ASSERT_EQ(dot.schedule.product, ir::Product::packed);
  ASSERT_TRUE(only(f, ir::Op::sub_).schedule.tabulated);
  // which would add the marks again
  Setting skip("TILEWRIGHT_SKIP_PASSES", "tabulate,pack_products");
  const std::string whole = code_of(f);
  EXPECT_NE(whole.find("permvar"), std::string::npos);
  only(f, ir::Op::sub_).schedule.tabulated = false;
  const std::string computed = code_of(f);
  EXPECT_EQ(computed.find("permvar"), std::string::npos);
  dot.schedule.product = ir::Product::along_n;
  EXPECT_TRUE(code_of(f) != computed);
}

// As are loop nests: sqrt is computed where it is stored, or as a whole before.
TEST(HostPipeline, KeepsWhatMarksSay) {
  ir::Function f = ir::parse(R"(func @f(%x: ptr<f32>, %y: ptr<f32>) scheduled {
  %i = arange 0 to 64 : i32[64]
  %xs = splat %x, [64] : ptr<f32>[64]
  %xp = offset %xs, %i : ptr<f32>[64]
  %a = load %xp : f32[64]
  %r = sqrt %a : f32[64]
  %ys = splat %y, [64] : ptr<f32>[64]
  %yp = offset %ys, %i : ptr<f32>[64]
  store %yp, %r
}
)");
  auto scratch_bytes = [&] { return generate_host_code(f, target_named("sse"))->scratch_bytes; };
  EXPECT_EQ(scratch_bytes(), 0);
  only(f, ir::Op::sqrt_).schedule.kept = true;
  EXPECT_EQ(scratch_bytes(), 64 * 4);
}

TEST(HostPipeline, RefusesSchedulesThatAreNotPossible) {
  auto with = [](const char* target, auto&& damage) {
    return error_of([&] {
      ir::Function f = product();
      schedule(f, {.target = target_named("avx512")});
      damage(f);
      code_of(f, target);
    });
  };
  auto nothing = [](ir::Function&) {};
  EXPECT_EQ(with("avx512", nothing), "no error");
  EXPECT_THAT(with("avx2", nothing), HasSubstr("is tabulated; that takes a host with AVX-512"));
  EXPECT_THAT(
      with("avx512", [](ir::Function& f) { only(f, ir::Op::sqrt_).schedule.tabulated = true; }),
      HasSubstr("depends on one number below 16"));
  EXPECT_THAT(with("avx512",
                   [](ir::Function& f) {
                     only(f, ir::Op::dot_).schedule.product = ir::Product::interleaved;
                   }),
              HasSubstr("is multiplied as interleaved; on this host that is packed, or along_n"));
  EXPECT_THAT(
      with("avx512", [](ir::Function& f) { only(f, ir::Op::dot_).schedule.in_panels = true; }),
      HasSubstr("is multiplied as packed, in panels; on this host that is packed"));
  EXPECT_THAT(
      with("avx512", [](ir::Function& f) { only(f, ir::Op::dot_).schedule.hoisted = true; }),
      HasSubstr("its left operand is hoisted; that takes a product by tiles"));
  EXPECT_THAT(
      with("avx512",
           [](ir::Function& f) { only(f, ir::Op::store_desc_).schedule.in_panels = true; }),
      HasSubstr(
          "is in panels; that takes a loop nest of its own, which stores a block of an array"));
  EXPECT_THAT(
      with("avx512",
           [](ir::Function& f) { f = ir::parse("func @f(%x: ptr<f32>) warps 1 laid_out {\n}\n"); }),
      HasSubstr("@f is laid_out; a host's code is made of a function that is traced or "
                "scheduled"));
}

// The program was scheduled by hand.
TEST(HostPipeline, NamesWhatMustBeKept) {
  auto text = [](const char* use) {
    return concat(R"(func @f(%y: ptr<f32>) scheduled {
  %from = arange 0 to 256 : i32[256]
)",
                  use, R"(
  %values = cast %moved, f32 : f32[16x16]
  %ys = splat %y, [16x16] : ptr<f32>[16x16]
  store %ys, %values
}
)");
  };
  const std::string reshaped = text("  %moved = reshape %from, [16x16] : i32[16x16]");
  EXPECT_THAT(error_of([&] { code_of(ir::parse(reshaped)); }),
              HasSubstr("[reshape] reads elements of %1 at other places than its own"));
  const std::string gathered = text(R"(  %one = expand_dims %from, 1 : i32[256x1]
  %all = broadcast %one, [256x16] : i32[256x16]
  %few = arange 0 to 16 : i32[16]
  %row = expand_dims %few, 0 : i32[1x16]
  %places = broadcast %row, [16x16] : i32[16x16]
  %moved = gather %all, %places, 0 : i32[16x16])");
  EXPECT_THAT(error_of([&] { code_of(ir::parse(gathered)); }),
              HasSubstr("[gather] reads elements of %3 at other places than its own"));
}

}  // namespace
}  // namespace tilewright::dsl::host::host_pipeline_test
