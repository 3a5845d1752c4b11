#include "dsl/ir/rewrite.h"

#include <gmock/gmock.h>

#include "dsl/ir/text/text.h"
#include "dsl/ir/verify.h"
#include "runtime/base/error.h"

namespace tilewright::ir::rewrite_test {
namespace {

const char* const nested = R"(func @f(%n: i64) {
  %1 = constant 0 : i64
  %2 = constant 1 : i64
  %9, %10 = loop %1 to %n step %2 index %3 with (%4 = %1, %5 = %2) {
    %6 = add %4, %3 : i64
    %7 = mul %6, %n : i64
    %8 = add %5, %2 : i64
    yield %6, %8
  } : i64, i64
  %11 = add %9, %1 : i64
}
)";

TEST(Rewrite, ReplacesUsesInNestedBlocksAndFollowsChains) {
  Function f = parse(nested);
  Replacements replacements;
  replacements.add(1, 2);
  replacements.add(2, 0);
  replace_uses(f, replacements);
  EXPECT_EQ(f.body.insts[2].operands, (std::vector<Value>{0, 0, 0, 0, 0}));
  EXPECT_EQ(f.body.insts[2].bodies[0].insts[2].operands, (std::vector<Value>{5, 0}));
  verify(f);
}

TEST(Rewrite, ACycleOfReplacementsIsABug) {
  Replacements replacements;
  replacements.add(1, 2);
  replacements.add(2, 1);
  EXPECT_THROW(replacements(1), InternalError);
}

TEST(Rewrite, CountsUsesInNestedBlocksAndOfYields) {
  std::vector<std::uint32_t> uses = count_uses(parse(nested));
  EXPECT_EQ(uses[0], 2U);  // the high bound, and mul in the loop
  EXPECT_EQ(uses[1], 3U);
  EXPECT_EQ(uses[6], 2U);
  EXPECT_EQ(uses[7], 0U);
}

TEST(Rewrite, FreeValuesAreThoseThatABlockTakesFromOutside) {
  Function f = parse(nested);
  EXPECT_THAT(free_values(f.body.insts[2].bodies[0]), testing::ElementsAre(0, 2));
}

TEST(Rewrite, KeepingSomeResultsOfALoopDropsTheirWholePlace) {
  Function f = parse(nested);
  Inst& loop = f.body.insts[2];
  keep_results(loop, {true, false});
  EXPECT_EQ(loop.results.size(), 1U);
  EXPECT_EQ(loop.operands.size(), 4U);
  EXPECT_EQ(loop.bodies[0].params.size(), 2U);
  EXPECT_EQ(loop.bodies[0].insts.back().operands.size(), 1U);
  loop.bodies[0].insts.erase(loop.bodies[0].insts.begin() + 2);  // used the dropped parameter
  verify(f);
}

TEST(Rewrite, CompactRenumbersInOrderOfDefinitionAndForgetsTheDead) {
  Function f = parse(nested);
  f.new_value(Type::scalar(DType::f32));
  f.body.insts.erase(f.body.insts.end() - 1);
  compact(f);
  EXPECT_EQ(f.types.size(), 11U);
  verify(f);
  EXPECT_EQ(f.body.insts[2].results, (std::vector<Value>{9, 10}));
  EXPECT_EQ(content_hash(f), content_hash(parse(print(f))));
}

}  // namespace
}  // namespace tilewright::ir::rewrite_test
