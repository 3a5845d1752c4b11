#include "dsl/ir/text/stage_text.h"

#include <gmock/gmock.h>

#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"

namespace tilewright::ir::stage_text_test {
namespace {

using testing::HasSubstr;

// A loop that carries a tile, an if, a schedule, and two layouts.
const char* const laid_out = R"(func @f(%x: ptr<f16>, %go: bool) warps 1 laid_out {
  layout @L0 = [2x32] register (1,0) lane (0,1) (0,2) (0,4) (0,8) (0,16) warp
  layout @L1 = [2x32] register (0,1) lane (0,2) (0,4) (0,8) (0,16) (1,0) warp
  %2 = constant 0 : i64
  %3 = constant 1 : i64
  %4 = make_desc %x, %3, %3, %3, %3 : desc<f16, 2>
  %5 = load_desc %4, %2, %2, [2x32] : f16[2x32] @L0
  %9 = loop %2 to %3 step %3 index %6 with (%7 = %5) schedule (stages 3) {
    %8 = load_desc %4, %6, %2, [2x32] : f16[2x32] @L1 schedule (staged)
    yield %8
  } : f16[2x32] @L1
  %10 = if %go {
    yield %9
  } else {
    yield %5
  } : f16[2x32] @L0
  store_desc %4, %10, %2, %2 schedule (boxed)
}
)";

std::string error_of(std::string text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_with(const std::string& old, const std::string& replacement) {
  std::string text = laid_out;
  auto at = text.find(old);
  if (at == std::string::npos) return "there is no " + old;
  return error_of(text.replace(at, old.size(), replacement));
}

TEST(StageText, ReadsBackAsItWasPrinted) { EXPECT_EQ(print(parse(laid_out)), laid_out); }

TEST(StageText, WhatALoopCarriesLiesAsItsResults) {
  Function f = parse(laid_out);
  const Inst& loop = f.body.insts[4];
  EXPECT_EQ(f.layout(loop.bodies[0].params[1]), f.layout(loop.results[0]));
  EXPECT_EQ(loop.schedule.stages, 3);
}

TEST(StageText, NumbersLayoutsByTheirFirstUseAndLeavesOutTheRest) {
  std::string text = laid_out;
  auto at = text.find("  layout @L0");
  text.insert(at, "  layout @unused = [4] register (1) (2) lane warp\n");
  EXPECT_EQ(print(parse(text)), laid_out);
  Function f = parse(laid_out);
  std::swap(f.layouts[0], f.layouts[1]);
  for (auto& id : f.layout_of)
    if (id >= 0) id = 1 - id;
  EXPECT_EQ(print(f), laid_out);
}

TEST(StageText, KeepsRolesOfWarps) {
  for (const char* text : {"func @f() warps 8 roles (stages 4) {\n}\n",
                           "func @f() cluster 2 warps 4 roles (stages 6, cluster_axis 1) {\n}\n",
                           "func @f() warps 16 {\n}\n"})
    EXPECT_EQ(print(parse(text)), text);
}

// Information about shared memory in the texts of stages: all of it, an instruction's part, and
// awaited copies.
const char* const synchronised =
    R"(func @f(%x: ptr<f32>) warps 4 shared (bytes 144, reserved 128) synchronised {
  layout @L0 = [128] register lane (1) (2) (4) (8) (16) warp (32) (64)
  %1 = arange 0 to 128 : i32[128] @L0
  %2 = reduce %1, sum 0 : i32 schedule (shared 16 at 128)
  %3 = reduce %1, max 0 : i32 schedule (shared 16 at 128, barrier scratch)
  %4 = load %x : f32
  store %x, %4 schedule (barrier array)
}
)";

TEST(StageText, KeepsPlacesInSharedMemoryAndBarriers) {
  EXPECT_EQ(print(parse(synchronised)), synchronised);
  Function f = parse(synchronised);
  EXPECT_EQ(f.shared, (SharedMemory{144, 128}));
  EXPECT_EQ(f.body.insts[2].schedule.shared_bytes, 16);
  EXPECT_EQ(f.body.insts[2].schedule.shared_offset, 128);
  EXPECT_EQ(f.body.insts[2].schedule.barrier, Barrier::scratch);
  EXPECT_EQ(f.body.insts[4].schedule.barrier, Barrier::array);
  std::vector<Function> others(4, f);
  others[0].shared.bytes = 160;
  others[1].body.insts[1].schedule.shared_bytes = 8;
  others[2].body.insts[1].schedule.shared_offset = 0;
  others[3].body.insts[4].schedule.barrier = Barrier::none;
  for (const Function& other : others) EXPECT_NE(content_hash(other), content_hash(f));
}

TEST(StageText, SaysWhatIsWrongWithAPlaceOrABarrier) {
  auto with = [](const std::string& old, const std::string& replacement) {
    std::string text = synchronised;
    auto at = text.find(old);
    if (at == std::string::npos) return "there is no " + old;
    return error_of(text.replace(at, old.size(), replacement));
  };
  EXPECT_THAT(with("(bytes 144", "(144"), HasSubstr("expected 'bytes'"));
  EXPECT_THAT(with(", reserved 128", ", 128"), HasSubstr("expected 'reserved'"));
  EXPECT_THAT(with("16 at 128", "16, 128"), HasSubstr("expected 'at'"));
  EXPECT_THAT(with("barrier array", "barrier"), HasSubstr("expected 'array' or 'scratch'"));
}

TEST(StageText, AnotherLayoutOrScheduleIsAnotherFunction) {
  Function f = parse(laid_out);
  std::vector<Function> others(5, f);
  others[0].body.insts[4].schedule.stages = 4;
  others[1].layouts[0] = f.layouts[1];
  others[2].warps = 2;
  others[3].roles = Roles{};
  others[4].stage = Stage::converted;
  for (const Function& other : others) EXPECT_NE(content_hash(other), content_hash(f));
  EXPECT_EQ(content_hash(parse(laid_out)), content_hash(f));
}

TEST(StageText, SaysWhatIsWrongWithALayout) {
  EXPECT_THAT(error_with("register (1,0) lane", "register (2,0) lane"),
              HasSubstr("[parse] line 2, column 23: a basis of a layout lies outside its shape"));
  EXPECT_THAT(error_with("register (1,0) lane", "register lane"),
              HasSubstr("a layout leaves an element without a place"));
  EXPECT_THAT(error_with("register (1,0) lane", "register (1) lane"),
              HasSubstr("a basis of a layout has not one coordinate an axis"));
  EXPECT_THAT(error_with("[2x32] register (1,0)", "[3x32] register (1,0)"),
              HasSubstr("an axis of a layout is not a power of two"));
  EXPECT_THAT(error_with("register (1,0) lane", "register (1,0"), HasSubstr("expected ')'"));
  EXPECT_THAT(error_with("register (1,0) lane", "register (-1,0) lane"),
              HasSubstr("'-1' is not a coordinate"));
  EXPECT_THAT(error_with("layout @L1", "layout @L0"), HasSubstr("@L0 is defined already"));
  EXPECT_THAT(error_with("f16[2x32] @L1 sch", "f16[2x32] @M sch"),
              HasSubstr("there is no layout @M"));
}

TEST(StageText, SaysWhatIsWrongWithAStageOrASchedule) {
  EXPECT_THAT(error_with("laid_out {", "laid_in {"),
              HasSubstr("'laid_in' is not a stage of a function"));
  EXPECT_THAT(error_with("warps 1", "warps one"), HasSubstr("expected a number of warps"));
  EXPECT_THAT(error_with("(stages 3)", "(stages 300)"),
              HasSubstr("'300' is not a number of stages"));
  EXPECT_THAT(
      error_with("(staged)", "(stage)"),
      HasSubstr("expected stages, staged, deferred, alternating, boxed, shared, barrier, kept, "
                "joined, quarters, tabulated, product, in_panels or hoisted, found "
                "'stage'"));
  EXPECT_THAT(error_of("func @f() warps 8 roles (4) {}"), HasSubstr("expected 'stages'"));
  EXPECT_THAT(error_of("func @f() warps 8 roles (stages 4, axis 1) {}"),
              HasSubstr("expected 'cluster_axis'"));
}

}  // namespace
}  // namespace tilewright::ir::stage_text_test
