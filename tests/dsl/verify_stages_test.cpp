#include "dsl/ir/verify_stages.h"

#include <gmock/gmock.h>

#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"

namespace tilewright::ir::verify_stages_test {
namespace {

using testing::HasSubstr;

// @R has a row in each register, @C lies across: what is converted from one to the other moves.
const std::string layouts =
    "  layout @R = [2x32] register (1,0) lane (0,1) (0,2) (0,4) (0,8) (0,16) warp\n"
    "  layout @C = [2x32] register (0,1) lane (0,2) (0,4) (0,8) (0,16) (1,0) warp\n"
    "  layout @T = [32x2] register (0,1) lane (1,0) (2,0) (4,0) (8,0) (16,0) warp\n"
    "  layout @V = [32] register lane (1) (2) (4) (8) (16) warp\n"
    "  layout @W = [32] register (1) lane (2) (4) (8) (16) (0) warp\n"
    "  layout @O = [1] register lane (0) (0) (0) (0) (0) warp\n"
    "  %0 = constant 1 : f32\n  %z = constant 0 : i64\n  %go = constant true : bool\n"
    "  %n = constant 64 : i64\n  %one = constant 1 : i64\n"
    "  %r = splat %0, [2x32] : f32[2x32] @R\n  %c = splat %0, [2x32] : f32[2x32] @C\n";

std::string verdict(const std::string& body, const std::string& head = "warps 1 converted") {
  try {
    parse("func @f(%x: ptr<f32>) " + head + " {\n" + layouts + body + "}\n");
  } catch (const Error& error) {
    return error.what();
  }
  return "fine";
}

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

// A loop with a ring, exchanges before, in and after it, and accesses to two arrays.
const std::string exchanges =
    "  layout @L = [128] register lane (1) (2) (4) (8) (16) warp (32) (64)\n"
    "  %z = constant 0 : i64\n  %n = constant 3 : i64\n  %one = constant 1 : i64\n"
    "  %a = arange 0 to 128 : i32[128] @L\n"
    "  %s = reduce %a, sum 0 : i32 schedule (shared 16 at 64)\n"
    "  loop %z to %n step %one index %i schedule (stages 2, shared 256 at 64, barrier scratch) {\n"
    "    %t = reduce %a, sum 0 : i32 schedule (shared 16 at 320)\n"
    "    %u = reduce %a, max 0 : i32 schedule (shared 16 at 320, barrier scratch)\n"
    "    store %x, %u schedule (barrier array)\n"
    "    yield\n  }\n"
    "  %v = reduce %a, min 0 : i32 schedule (shared 16 at 64, barrier scratch)\n"
    "  %l = load %x : i32\n  store %y, %l\n";

std::string exchanges_with(const std::string& old, const std::string& replacement,
                           std::string head = "shared (bytes 336, reserved 64) synchronised") {
  std::string text =
      "func @f(%x: ptr<i32>, %y: ptr<i32>) warps 4 " + head + " {\n" + exchanges + "}\n";
  auto at = text.find(old);
  if (at == std::string::npos) return "there is no " + old;
  try {
    parse(text.replace(at, old.size(), replacement));
  } catch (const Error& error) {
    return error.what();
  }
  return "fine";
}

TEST(VerifyShared, WhatIsInUseAtOneTimeLiesApart) {
  EXPECT_EQ(exchanges_with("", ""), "fine");
  EXPECT_THAT(exchanges_with("16 at 320)", "16 at 312)"),
              HasSubstr("[reduce] its bytes of shared memory, 312 to 328, overlap those of a loop "
                        "around it, 64 to 320"));
  EXPECT_THAT(exchanges_with("16 at 64", "16 at 48"),
              HasSubstr("48 to 64, lie outside the function's 64 to 336"));
  EXPECT_THAT(exchanges_with("16 at 320)", "16 at 328)"), HasSubstr("lie outside"));
  EXPECT_THAT(exchanges_with("bytes 336", "bytes 32"),
              HasSubstr("[func] reserves 64 of 32 bytes of shared memory"));
}

TEST(VerifyShared, StagesSayNoMoreThanTheirPassesHaveDecided) {
  EXPECT_THAT(exchanges_with("", "", "shared (bytes 336, reserved 64) converted"),
              HasSubstr("has places in shared memory, and is converted"));
  EXPECT_THAT(exchanges_with("", "", "converted"),
              HasSubstr("has a place in shared memory; the function is only converted"));
  EXPECT_THAT(exchanges_with("", "", "shared (bytes 336, reserved 64) allocated"),
              HasSubstr("[loop] has a barrier; the function is only allocated"));
  EXPECT_THAT(exchanges_with("arange 0 to 128 : i32[128] @L",
                             "arange 0 to 128 : i32[128] @L schedule (shared 16 at 64)"),
              HasSubstr("only exchanges, products and loops with stages have"));
  EXPECT_THAT(exchanges_with("stages 2, ", ""), HasSubstr("[loop] has a place in shared memory"));
  EXPECT_THAT(exchanges_with("load %x : i32", "load %x : i32 schedule (barrier scratch)"),
              HasSubstr("has a barrier before its scratch, and no place in shared memory"));
  EXPECT_THAT(exchanges_with("16 at 64)", "16 at 64, barrier array)"),
              HasSubstr("only a load, a store or an atomic has an array"));
}

TEST(VerifyShared, ThreadsMeetBetweenAccessesThatConflict) {
  EXPECT_THAT(
      exchanges_with("at 64, barrier scratch) {", "at 64) {"),
      HasSubstr("[loop] writes bytes 64 to 320 of shared memory, of which other threads may "
                "still read 64 to 80; there must be a barrier before"));
  EXPECT_THAT(exchanges_with("at 320, barrier scratch)", "at 320)"),
              HasSubstr("[reduce] writes bytes 320 to 336"));
  EXPECT_THAT(
      exchanges_with("at 64, barrier scratch)\n", "at 64)\n"),
      HasSubstr("[reduce] writes bytes 64 to 80 of shared memory, of which other threads may "
                "still read 64 to 320"));
  EXPECT_EQ(exchanges_with(" schedule (barrier array)", ""), "fine") << "a ring's turns meet";
  EXPECT_EQ(exchanges_with("16 at 320, barrier scratch", "8 at 336",
                           "shared (bytes 344, reserved 64) synchronised"),
            "fine")
      << "what lies apart needs no barrier";
}

// Which all threads of all its programs come to.
TEST(VerifyShared, AnExchangeInAClusterIsABarrier) {
  auto verdict_of = [](const std::string& head, const std::string& between) {
    try {
      parse("func @f(%x: ptr<f32>, %v: f32) " + head + " warps 1 synchronised {\n  store %x, %v\n" +
            between + "  %l = load %x : f32\n}\n");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("fine");
  };
  const std::string exchange = "  %s = cluster_reduce %v, sum 0 : f32\n";
  const std::string other = "  %s = add %v, %v : f32\n";
  EXPECT_EQ(verdict_of("cluster 2", exchange), "fine");
  EXPECT_THAT(verdict_of("cluster 2", other), HasSubstr("[load] reads an array"));
  EXPECT_THAT(verdict_of("", exchange), HasSubstr("[load] reads an array"));
}

TEST(VerifyShared, CopiesOfBlocksWaitByOtherMeansThanBarriers) {
  auto verdict_of = [](const std::string& schedule) {
    return verdict(
        "  %d = make_desc %x, %n, %n, %n, %one : desc<f32, 2>\n"
        "  store_desc %d, %r, %z, %z schedule (" +
            schedule + ")\n",
        "warps 1 synchronised");
  };
  EXPECT_EQ(verdict_of("boxed"), "fine");
  EXPECT_EQ(verdict_of("barrier array"), "fine");
  EXPECT_THAT(verdict_of("boxed, barrier array"),
              HasSubstr("[store_desc] has a barrier before its array; only a load, a store or an "
                        "atomic has an array, and staged and boxed accesses wait by other means"));
}

TEST(VerifyShared, AnArrayIsFollowedThroughLoopsAndIfs) {
  auto verdict_of = [](const std::string& body) {
    try {
      parse(
          "func @f(%x: ptr<i32>, %go: bool) warps 1 synchronised {\n"
          "  %z = constant 0 : i64\n  %n = constant 3 : i64\n  %one = constant 1 : i64\n"
          "  %v = constant 7 : i32\n" +
          body + "}\n");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("fine");
  };
  EXPECT_THAT(verdict_of("  store %x, %v\n  %l = load %x : i32\n"),
              HasSubstr("[load] reads an array that other threads may have written"));
  EXPECT_THAT(verdict_of("  %l = load %x : i32\n  store %x, %l\n"),
              HasSubstr("[store] writes an array that other threads may still read"));
  const std::string loop = "  %e = loop %z to %n step %one index %i with (%p = %x) {\n";
  const std::string turn = "    %q = offset %p, %one : ptr<i32>\n";
  EXPECT_THAT(verdict_of(loop + turn + "    store %p, %v\n    yield %q\n  } : ptr<i32>\n"),
              HasSubstr("[store] writes an array that other threads may have written"));
  EXPECT_EQ(verdict_of(loop + turn + "    %l = load %p : i32\n    yield %q\n  } : ptr<i32>\n"),
            "fine");
  EXPECT_THAT(verdict_of(loop + turn +
                         "    yield %q\n  } : ptr<i32>\n  store %e, %v\n"
                         "  %l = load %x : i32\n"),
              HasSubstr("[load] reads an array that other threads may have written"));
  const std::string sides =
      "  %e = if %go {\n    yield %x\n  } else {\n    store %x, %v\n"
      "    yield %x\n  } : ptr<i32>\n";
  EXPECT_THAT(verdict_of(sides + "  %l = load %e : i32\n"), HasSubstr("[load] reads an array"));
  EXPECT_EQ(verdict_of(sides + "  %l = load %e : i32 schedule (barrier array)\n"), "fine");
}

}  // namespace
}  // namespace tilewright::ir::verify_stages_test
