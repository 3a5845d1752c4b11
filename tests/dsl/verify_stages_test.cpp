#include "dsl/ir/verify_stages.h"

#include <gmock/gmock.h>

#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"
#include "tests/dsl/laid_out_programs.h"

namespace tilewright::ir::verify_stages_test {
namespace {

using namespace testing_layouts;

using testing::HasSubstr;

TEST(VerifyLayouts, EveryTileHasOneOverTheWarpsOfTheBlock) {
  EXPECT_EQ(verdict(""), "fine");
  EXPECT_THAT(verdict("  %t = add %r, %r : f32[2x32]\n"), HasSubstr("f32[2x32] has no layout"));
  EXPECT_THAT(verdict("  %t = constant 2 : f32 @R\n"), HasSubstr("only tiles do"));
  EXPECT_THAT(verdict("  %t = splat %0, [4x32] : f32[4x32] @R\n"),
              HasSubstr("is one of 2x32; it must be of 4x32"));
  EXPECT_EQ(verdict("  %t = splat %0, [2x20] : f32[2x20] @R\n"), "fine");
  EXPECT_THAT(verdict("", "warps 2 converted"),
              HasSubstr("over 32 lanes of 1 warps; it must be over 32 of 2"));
  EXPECT_THAT(verdict("", "converted"), HasSubstr("[func] is converted over no warps"));
  EXPECT_THAT(verdict("", "warps 1"), HasSubstr("has a layout; the function is only traced"));
  EXPECT_THAT(verdict("", "warps 3 laid_out"), HasSubstr("it must be a power of two, up to 32"));
}

TEST(VerifyLayouts, OperandsMayLieElsewhereUntilTheyAreConverted) {
  const std::string add = "  %t = add %r, %c : f32[2x32] @R\n";
  EXPECT_EQ(verdict(add, "warps 1 laid_out"), "fine");
  EXPECT_THAT(verdict(add), HasSubstr("[add] an operand, %"));
  EXPECT_EQ(verdict("  %d = convert_layout %c : f32[2x32] @R\n  %t = add %r, %d : f32[2x32] @R\n"),
            "fine");
}

TEST(VerifyLayouts, ShapeOperationsNameTheirOperandAnew) {
  EXPECT_EQ(verdict("  %t = permute %r, (1, 0) : f32[32x2] @T\n"), "fine");
  EXPECT_THAT(verdict("  %t = permute %c, (1, 0) : f32[32x2] @T\n"),
              HasSubstr("[permute] its operand"));
}

TEST(VerifyLayouts, AScalarThatIsReshapedLiesNowhere) {
  EXPECT_EQ(verdict("  %t = reshape %0, [1] : f32[1] @O\n"), "fine");
}

TEST(VerifyLayouts, AReductionGivesItsOperandsLayoutWithoutTheAxis) {
  EXPECT_NE(verdict("  %t = reduce %r, sum 0 : f32[32] @W\n"), "fine");
  EXPECT_THAT(verdict("  %t = reduce %r, sum 0 : f32[32] @V\n"),
              HasSubstr("does not lie as its operand does without the axis"));
  EXPECT_EQ(verdict("  %t = reduce %c, sum 0 : f32[32] @W\n"), "fine");
}

TEST(VerifyLayouts, WhatIsCarriedOrYieldedLiesAsTheResult) {
  EXPECT_THAT(
      verdict("  %t = if %go {\n    yield %r\n  } else {\n    yield %c\n  } : f32[2x32] @R\n"),
      HasSubstr("[if] the yielded value"));
  const std::string loop = "  %t = loop %z to %z step %z index %i with (%a = %";
  EXPECT_THAT(verdict(loop + "c) {\n    yield %a\n  } : f32[2x32] @R\n"),
              HasSubstr("[loop] an initial value"));
  EXPECT_THAT(verdict(loop + "r) {\n    yield %c\n  } : f32[2x32] @R\n"),
              HasSubstr("[loop] the yielded value"));
  EXPECT_EQ(verdict(loop + "r) {\n    yield %a\n  } : f32[2x32] @R\n"), "fine");
}

TEST(VerifyLayouts, SchedulesStandWhereTheyMeanSomething) {
  EXPECT_THAT(verdict("  %t = add %r, %r : f32[2x32] @R schedule (staged)\n"),
              HasSubstr("[add] is staged; only a load_desc can be"));
  EXPECT_THAT(verdict("  %t = add %r, %r : f32[2x32] @R schedule (deferred)\n"),
              HasSubstr("[add] is deferred; only a dot can be"));
  EXPECT_THAT(verdict("  %t = add %r, %r : f32[2x32] @R schedule (boxed)\n"),
              HasSubstr("[add] is boxed; only a store_desc can be"));
  EXPECT_THAT(verdict("  %t = add %r, %r : f32[2x32] @R schedule (alternating)\n"),
              HasSubstr("[add] is alternating; only a loop can be"));
  EXPECT_THAT(verdict("  %t = add %r, %r : f32[2x32] @R schedule (stages 2)\n"),
              HasSubstr("[add] has stages; only a loop has"));
  EXPECT_THAT(verdict("  loop %z to %z step %z index %i schedule (stages 1) {\n    yield\n  }\n"),
              HasSubstr("a ring of 1 stage; it must have 2 or more, or none"));
}

TEST(VerifyLayouts, RolesHaveWarpsStagesAndAnAxisThatExist) {
  auto roles = [](const std::string& head) {
    try {
      parse("func @f() " + head + " {\n}\n");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("fine");
  };
  EXPECT_EQ(roles("warps 4 roles (stages 2)"), "fine");
  EXPECT_EQ(roles("warps 4 roles (stages 255)"), "fine");
  EXPECT_THAT(roles("warps 4 roles (stages 256)"), HasSubstr("and at most 255"));
  EXPECT_THAT(roles("warps 2 roles (stages 2)"), HasSubstr("with roles these are 4 or 8"));
  EXPECT_THAT(roles("warps 4 roles (stages 1)"), HasSubstr("rings of 1 stages"));
  EXPECT_THAT(roles("warps 4 roles (stages 2, cluster_axis 3)"), HasSubstr("along axis 3"));
}

TEST(VerifyLayouts, OnlyTilesAreConverted) {
  EXPECT_THAT(verdict("  %t = convert_layout %0 : f32\n"),
              HasSubstr("the operand is f32; it must be a tile"));
}

}  // namespace
}  // namespace tilewright::ir::verify_stages_test
