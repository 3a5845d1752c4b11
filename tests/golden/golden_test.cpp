// Runs each pass over tile programs on the programs of its golden folders. A folder is named after
// the pass, and after the target if that is not any host: expand_math.sm_80.
#include "dsl/codegen/named_passes.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "tests/golden/golden_files.h"

namespace tilewright::dsl::golden_test {
namespace {

class TilePassesGolden : public testing::TestWithParam<Golden> {};

TEST_P(TilePassesGolden, GivesTheExpectedProgram) {
  ir::Function function = ir::parse(GetParam().halves().first);
  std::string before = ir::print(function);
  std::vector<std::string> names{GetParam().pass};
  const std::string& target = GetParam().target;
  bool changed = run_named_passes(function, names, target.empty() ? Target{} : target_named(target))
                     .front()
                     .changed;
  GetParam().expect(before, ir::print(function));
  EXPECT_EQ(changed, !GetParam().leaves())
      << "files named leaves_... are those where nothing may change";
}

TEST_P(TilePassesGolden, PrintsAsItWasRead) {
  auto [input, expected] = GetParam().halves();
  EXPECT_EQ(ir::print(ir::parse(input)), input) << "TILEWRIGHT_UPDATE_GOLDEN=1 renumbers it";
  EXPECT_EQ(ir::print(ir::parse(expected)), expected);
}

TEST(TilePassesGoldenFolder, EveryPassHasACaseThatChangesAndOneThatDoesNot) {
  expect_both_kinds(pass_names(), ".tile");
}

INSTANTIATE_TEST_SUITE_P(Files, TilePassesGolden, testing::ValuesIn(goldens(".tile")),
                         [](const auto& i) { return i.param.test_name(); });

}  // namespace
}  // namespace tilewright::dsl::golden_test
