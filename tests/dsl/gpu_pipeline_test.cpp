#include "dsl/codegen/gpu/passes/gpu_pipeline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/named_passes.h"
#include "dsl/ir/text/text.h"
#include "dsl/ir/verify.h"
#include "tests/dsl/occurrences.h"
#include "tests/dsl/pass_names.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::dsl::gpu::gpu_pipeline_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// c = a b, of 128 x 128 x 256.
const std::string product_text = R"(func @product(%a: ptr<f16>, %b: ptr<f16>, %c: ptr<f32>) {
  %m = constant 128 : i64
  %k = constant 256 : i64
  %one = constant 1 : i64
  %da = make_desc %a, %m, %k, %k, %one : desc<f16, 2>
  %db = make_desc %b, %k, %m, %m, %one : desc<f16, 2>
  %dc = make_desc %c, %m, %m, %m, %one : desc<f32, 2>
  %zero = constant 0 : i64
  %step = constant 64 : i64
  %nothing = constant 0 : f32
  %none = splat %nothing, [128x128] : f32[128x128]
  %sum = loop %zero to %k step %step index %i with (%acc = %none) {
    %l = load_desc %da, %zero, %i, [128x64] : f16[128x64]
    %r = load_desc %db, %i, %zero, [64x128] : f16[64x128]
    %next = dot %l, %r, %acc : f32[128x128]
    yield %next
  } : f32[128x128]
  store_desc %dc, %sum, %zero, %zero
}
)";
ir::Function product() { return ir::parse(product_text); }

// PTX without the kernel's name, which is a hash of the program.
std::string code_of(const ir::Function& function, const char* target) {
  Ptx ptx = generate_ptx(function, target_named(target));
  std::string text = ptx.text;
  for (auto at = text.find(ptx.entry); at != std::string::npos; at = text.find(ptx.entry))
    text.erase(at, ptx.entry.size());
  return text;
}

TEST(GpuPipeline, TakesAFunctionThroughItsStages) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    ir::Function f = product();
    EXPECT_THAT(names_of(schedule(f, {.target = target_named(target)})),
                ElementsAre("specialise_warps", "assign_layouts", "pipeline_loads",
                            "insert_conversions", "allocate_shared", "insert_barriers"));
    EXPECT_EQ(f.stage, ir::Stage::synchronised);
    ASSERT_NO_THROW(ir::verify(f));
  }
}

TEST(GpuPipeline, CodeGoesOnFromTheStageOfATextToTheSameEnd) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    const std::string whole = code_of(product(), target);
    ir::Function f = product();
    for (const Pass& pass : gpu_passes()) {
      const std::string name(pass.name);
      run_named_passes(f, std::span(&name, 1), target_named(target));
      EXPECT_EQ(code_of(ir::parse(ir::print(f)), target), whole) << target << " after " << name;
    }
  }
}

TEST(GpuPipeline, WhatIsSkippedIsDoneTheSlowWay) {
  auto skipping = [](std::vector<std::string> skip) {
    ir::Function f = product();
    schedule(f, {.target = target_named("sm_90a"), .skip = std::move(skip)});
    return code_of(f, "sm_90a");
  };
  EXPECT_THAT(skipping({}), HasSubstr("cp.async.bulk.tensor"));
  std::string pipelined = skipping({"specialise_warps"});
  EXPECT_THAT(pipelined, Not(HasSubstr("cp.async.bulk")));
  EXPECT_THAT(pipelined, AllOf(HasSubstr("cp.async.cg"), HasSubstr("wgmma")));
  std::string plain = skipping({"specialise_warps", "pipeline_loads"});
  EXPECT_THAT(plain, AllOf(Not(HasSubstr("cp.async")), HasSubstr("mma.sync")));
  EXPECT_THAT(error_of([&] { skipping({"assign_layouts"}); }),
              HasSubstr("the pass 'assign_layouts' cannot be skipped"));
}

// Rounded to tf32 on the way to registers, where wgmma would cut it off in shared memory: nothing
// there has to be made visible to it.
TEST(GpuPipeline, F32ThatRunsAheadIsNotMadeVisibleToWarpgroups) {
  std::string text = product_text;
  for (auto [from, to] : {std::pair{"f16", "f32"},
                          {"constant 64", "constant 16"},
                          {"128x64", "128x16"},
                          {"64x128", "16x128"},
                          {"%r, %acc", "%r, %acc, tf32"}})
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
      text.replace(at, std::string_view(from).size(), to);
  ir::Function f = ir::parse(text);
  schedule(f, {.target = target_named("sm_90a"), .skip = {"specialise_warps"}});
  EXPECT_THAT(code_of(f, "sm_90a"), AllOf(HasSubstr("cp.async.cg"), HasSubstr("mma.sync"),
                                          Not(HasSubstr("fence.proxy.async"))));
}

TEST(GpuPipeline, TheEnvironmentSkipsStopsAndDumps) {
  {
    Setting skip("TILEWRIGHT_SKIP_PASSES", "specialise_warps,pipeline_loads");
    EXPECT_THAT(code_of(product(), "sm_90a"), Not(HasSubstr("cp.async")));
  }
  for (const char* last : {"dead_code", "specialise_warps"}) {
    Setting stop("TILEWRIGHT_STOP_AFTER", last);
    ir::Function f = product();
    auto names = names_of(schedule(f, {.target = target_named("sm_80")}));
    EXPECT_THAT(names, Not(testing::Contains("pipeline_loads"))) << last;
    EXPECT_EQ(f.stage, ir::Stage::synchronised) << "required passes run";
  }
  Setting dump("TILEWRIGHT_DUMP", "assign_layouts");
  testing::internal::CaptureStderr();
  code_of(product(), "sm_80");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("// after assign_layouts\nfunc @product("));
}

TEST(GpuPipeline, ThreadsMeetWhereMarksSay) {
  ir::Function f = product();
  schedule(f, {.target = target_named("sm_80")});
  auto barriers = [&] { return count_of(code_of(f, "sm_80"), "bar.sync"); };
  const int needed = barriers();
  ir::Barrier& mark = f.body.insts.back().schedule.barrier;
  ASSERT_EQ(std::exchange(mark, ir::Barrier::array), ir::Barrier::none);
  EXPECT_EQ(barriers(), needed + 1);
}

TEST(GpuPipeline, APassTakesAFunctionOfItsStageOnly) {
  auto run = [](const char* name, const char* before) {
    return error_of([&] {
      ir::Function f = product();
      std::vector<std::string> names{name};
      if (*before != 0) names.insert(names.begin(), before);
      run_named_passes(f, names, target_named("sm_80"));
    });
  };
  EXPECT_THAT(run("pipeline_loads", ""),
              HasSubstr("[pipeline_loads] @product is traced; the pass takes a function that is "
                        "laid_out"));
  EXPECT_THAT(
      run("simplify", "assign_layouts"),
      HasSubstr("[simplify] @product is laid_out; the pass takes a function that is traced"));
}

// A schedule in a text is followed or refused, never silently ignored.
TEST(GpuPipeline, RefusesSchedulesThatAreNotPossible) {
  const std::vector<std::string> until_converted{"specialise_warps", "assign_layouts",
                                                 "pipeline_loads", "insert_conversions"};
  auto damaged = [&](const char* target, const std::string& old, const std::string& replacement) {
    ir::Function f = product();
    run_named_passes(f, until_converted, target_named(target));
    std::string text = ir::print(f);
    auto at = text.find(old);
    if (at == std::string::npos) return "no " + old;
    return error_of([&] {
      generate_ptx(ir::parse(text.replace(at, old.size(), replacement)), target_named(target));
    });
  };
  EXPECT_EQ(damaged("sm_80", "(stages 2)", "(stages 3)"), "no error");
  EXPECT_THAT(damaged("sm_80", "(stages 2)", "(stages 60)"), HasSubstr("bytes of shared memory"));
  EXPECT_THAT(damaged("sm_80", " schedule (stages 2)", ""),
              HasSubstr("2 loads of @product are staged in no loop that has stages"));
  EXPECT_THAT(damaged("sm_80", " warps 8", " warps 8 roles (stages 4)"),
              HasSubstr("says that its warps have roles which sm_80 cannot give them"));
  EXPECT_THAT(damaged("sm_90a", "roles (stages 6)", "roles (stages 30)"),
              HasSubstr("says that its warps have roles which sm_90a cannot give them"));
  EXPECT_EQ(damaged("sm_90a", " schedule (deferred)", ""), "no error");
  EXPECT_THAT(damaged("sm_80", "register (0,1) (8,0)", "register (8,0) (0,1)"),
              HasSubstr("does not lie where the instructions of sm_80 have it"));
  EXPECT_THAT(damaged("sm_90a", " schedule (staged)", ""), HasSubstr("cannot give them"));
  EXPECT_THAT(error_of([] {
                std::string text = ir::print(product());
                for (auto at = text.find("f16"); at != text.npos; at = text.find("f16"))
                  text.replace(at, 3, "f32");  // which tensor cores do not multiply as it is
                text.insert(text.find(" {"), " warps 8 roles (stages 2)");
                ir::Function f = ir::parse(text);
                schedule(f, {.target = target_named("sm_90a")});
                generate_ptx(f, target_named("sm_90a"));
              }),
              HasSubstr("cannot give them"));
  EXPECT_THAT(error_of([] {
                ir::Function f = product();
                schedule(f, {.target = target_named("sm_90a")});
                generate_ptx(f, target_named("sm_90a"), launch_table(f, 2));
              }),
              HasSubstr("several launches are one only where warps have no roles"));
}

// The thread that fetches blocks finds out where they begin by itself, and meets nobody.
TEST(GpuPipeline, RefusesBarriersWhereTheProducerComes) {
  std::string text = product_text;
  for (auto [old, replacement] : {std::pair("%c: ptr<f32>)", "%c: ptr<f32>, %at: ptr<i64>)"),
                                  std::pair("  %step", "  %first = load %at : i64\n  %step"),
                                  std::pair("%da, %zero", "%da, %first")})
    text.replace(text.find(old), std::string_view(old).size(), replacement);
  ir::Function f = ir::parse(text);
  schedule(f, {.target = target_named("sm_90a")});
  ASSERT_TRUE(f.roles);
  ASSERT_NO_THROW(code_of(f, "sm_90a"));
  auto load = std::ranges::find(f.body.insts, ir::Op::load_, &ir::Inst::op);
  load->schedule.barrier = ir::Barrier::array;
  EXPECT_THAT(error_of([&] { code_of(f, "sm_90a"); }),
              HasSubstr("has a barrier, where the thread that fetches blocks does not come"));
}

// Here the last bit of a lane's number says nothing that its registers do not hold.
TEST(GpuPipeline, LanesThatHoldTheSameElementsCountOnce) {
  ir::Function f = ir::parse(R"(func @f(%y: ptr<i32>) warps 1 laid_out {
  layout @L = [32] register (1) lane (1) (2) (4) (8) (16) warp
  %x = arange 0 to 32 : i32[32] @L
  %sum = reduce %x, sum 0 : i32
  store %y, %sum
}
)");
  for (const char* target : {"sm_80", "sm_90a"}) {
    std::int32_t sum = 0;
    Argument argument{};
    argument.pointer = &sum;
    Grid grid;
    generate_emulated(f, target_named(target))->run(&argument, grid.size, 0, 1, nullptr);
    EXPECT_EQ(sum, 31 * 32 / 2) << target;
  }
}

// Of 8 bytes each, which begin at a multiple of 8: one read of the constant cache, not two.
TEST(GpuPipeline, ArgumentsInALaunchTableAreReadWhole) {
  ir::Function f = ir::parse(R"(func @f(%x: ptr<f32>, %y: ptr<f32>) {
  %v = load %x : f32
  store %y, %v
}
)");
  std::string text = generate_ptx(f, target_named("sm_80"), launch_table(f, 2)).text;
  EXPECT_EQ(count_of(text, "ld.param.b64"), 2);
}

}  // namespace
}  // namespace tilewright::dsl::gpu::gpu_pipeline_test
