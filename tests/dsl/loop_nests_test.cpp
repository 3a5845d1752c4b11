#include "dsl/ir/loop_nests.h"

#include <gmock/gmock.h>

#include "dsl/ir/text/text.h"
#include "dsl/ir/verify.h"
#include "tests/errors.h"

namespace tilewright::ir::loop_nests_test {
namespace {

using testing::HasSubstr;

// Two loop nests: e and its sum, and two stores.
const char* const scheduled = R"(func @f(%x: ptr<f32>, %y: ptr<f32>, %z: ptr<f32>) scheduled {
  %zero = constant 0 : i64
  %one = constant 1 : i64
  %n = constant 32 : i64
  %dx = make_desc %x, %n, %n, %n, %one : desc<f32, 2>
  %dy = make_desc %y, %n, %n, %n, %one : desc<f32, 2>
  %dz = make_desc %z, %n, %n, %n, %one : desc<f32, 2>
  %a = load_desc %dx, %zero, %zero, [32x32] : f32[32x32]
  %e = exp %a : f32[32x32] schedule (kept)
  %s = reduce %e, sum 1 : f32[32] schedule (joined)
  %t = permute %e, (1, 0) : f32[32x32]
  %u = expand_dims %s, 0 : f32[1x32]
  store_desc %dy, %e, %zero, %zero
  store_desc %dz, %e, %zero, %zero schedule (joined)
}
)";

std::string error_with(const std::string& old, const std::string& replacement) {
  std::string text = scheduled;
  auto at = text.find(old);
  if (at == std::string::npos) return "there is no " + old;
  return error_of([&] { verify(parse(text.replace(at, old.size(), replacement))); });
}

TEST(LoopNests, AreReadOffTheText) {
  EXPECT_EQ(error_with("", ""), "no error");
  Function f = parse(scheduled);
  std::vector<bool> roots;
  for (const Inst& inst : f.body.insts) roots.push_back(is_root(f, inst));
  EXPECT_THAT(roots, testing::ElementsAre(false, false, false, false, false, false, false, true,
                                          true, false, false, true, true));
  EXPECT_EQ(domain_of(f, f.body.insts[8]), (Shape{32, 32}));
}

TEST(LoopNests, MarksStandWhereTheyMeanSomething) {
  EXPECT_THAT(error_with("scheduled {", "{"),
              HasSubstr("says how a host goes about it; the function is traced"));
  EXPECT_THAT(error_with("%zero = constant 0 : i64", "%zero = constant 0 : i64 schedule (kept)"),
              HasSubstr("[constant] is kept; only a tile that would be computed"));
  EXPECT_THAT(error_with("sum 1 : f32[32] schedule (joined)", "sum 1 : f32[32] schedule (kept)"),
              HasSubstr("[reduce] is kept; only a tile"));
  EXPECT_THAT(
      error_with("%a = load_desc %dx, %zero, %zero, [32x32] : f32[32x32]",
                 "%a = load_desc %dx, %zero, %zero, [32x32] : f32[32x32] schedule "
                 "(joined)"),
      HasSubstr("is joined to a loop nest; only instructions that go through a tile can be"));
  EXPECT_THAT(error_with("(kept)", "(kept, quarters 3)"),
              HasSubstr("[exp] is done for a part of the vectors; only a prefetch_desc can be"));
  EXPECT_THAT(error_with("  store_desc %dy",
                         "  prefetch_desc %dx, %zero, %zero, [32x32] schedule (quarters 0)\n"
                         "  store_desc %dy"),
              HasSubstr("is done for none of four vectors"));
  EXPECT_THAT(error_with("expand_dims %s, 0 : f32[1x32]",
                         "expand_dims %s, 0 : f32[1x32] schedule (tabulated)"),
              HasSubstr("is tabulated; only an elementwise tile of f32 can be"));
  EXPECT_THAT(error_with("(kept)", "(kept, in_panels)"),
              HasSubstr("[exp] is in panels; only operands of a dot and values of a store_desc"));
  EXPECT_THAT(error_with("(kept)", "(kept, product packed)"),
              HasSubstr("[exp] says how operands are multiplied; only a dot multiplies"));
}

TEST(LoopNests, GoThroughOneShape) {
  EXPECT_THAT(error_with("store_desc %dy, %e, %zero, %zero",
                         "store_desc %dy, %u, %zero, %zero schedule (joined)"),
              HasSubstr("goes through 1x32 and is joined to a loop nest that goes through 32x32"));
  EXPECT_THAT(error_with("(kept)", "(kept, joined)"),
              HasSubstr("is joined to the previous loop nest, but there is none"));
}

TEST(LoopNests, NeedWhatTheyMakeAtTheirOwnPositionsOnly) {
  EXPECT_THAT(error_with("store_desc %dy, %e, %zero, %zero",
                         "store_desc %dy, %t, %zero, %zero schedule (joined)"),
              HasSubstr("of which it needs other elements first"));
  EXPECT_THAT(error_with("store_desc %dy, %e, %zero, %zero",
                         "%b = broadcast %u, [32x32] : f32[32x32]\n"
                         "  store_desc %dy, %b, %zero, %zero schedule (joined)"),
              HasSubstr("of which it needs all elements first"));
}

TEST(LoopNests, KeepTheOrderOfWhatTheyWrite) {
  EXPECT_THAT(error_with("store_desc %dz, %e", "store_desc %dy, %a"),
              HasSubstr("is joined to a loop nest in which its array is touched too"));
  EXPECT_THAT(error_with("store_desc %dz, %e", "store_desc %dx, %e"),
              HasSubstr("reads an array that the program writes, wherever its value is needed; it "
                        "must be kept"));
  std::string text = scheduled;
  for (auto [old, replacement] :
       {std::pair("store_desc %dz, %e", "store_desc %dx, %e"),
        std::pair("[32x32] : f32[32x32]\n", "[32x32] : f32[32x32] schedule (kept)\n"),
        std::pair("f32[32x32] schedule (kept)\n  %s", "f32[32x32] schedule (kept, joined)\n  %s"),
        std::pair("%dy, %e, %zero, %zero", "%dy, %e, %zero, %zero schedule (joined)")})
    text.replace(text.find(old), std::string_view(old).size(), replacement);
  EXPECT_THAT(error_of([&] { verify(parse(text)); }),
              HasSubstr("is joined to a loop nest in which its array is touched too"));
}

}  // namespace
}  // namespace tilewright::ir::loop_nests_test
