// The verifier's rules about shared memory and barriers, on programs that are right but for one
// thing.
#include <gmock/gmock.h>

#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"
#include "tests/dsl/laid_out_programs.h"

namespace tilewright::ir::verify_shared_test {
namespace {

using namespace testing_layouts;

using testing::HasSubstr;

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
}  // namespace tilewright::ir::verify_shared_test
