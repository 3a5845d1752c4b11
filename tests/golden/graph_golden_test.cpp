// Runs each pass over graphs on the graphs of its golden folder.
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "tests/golden/golden_files.h"

namespace tilewright::graph::graph_golden_test {
namespace {

class GraphPassesGolden : public testing::TestWithParam<Golden> {};

TEST_P(GraphPassesGolden, GivesTheExpectedGraph) {
  const Graph graph = parse(GetParam().halves().first);
  const std::vector<std::string> names{GetParam().pass};
  std::vector<PassTime> times;
  const Graph after = run_named_passes(graph, names, dsl::host_target(), &times);
  GetParam().expect(print(graph), print(after));
  EXPECT_EQ(times.front().changed, !GetParam().leaves())
      << "files named leaves_... are those where nothing may change";
  EXPECT_EQ(print(run_named_passes(after, names, dsl::host_target())), print(after))
      << "a second run changes something";
}

TEST_P(GraphPassesGolden, PrintsAsItWasRead) {
  auto [input, expected] = GetParam().halves();
  EXPECT_EQ(print(parse(input)), input) << "TILEWRIGHT_UPDATE_GOLDEN=1 writes it so";
  EXPECT_EQ(print(parse(expected)), expected);
}

TEST(GraphPassesGoldenFolder, EveryPassHasACaseThatChangesAndOneThatDoesNot) {
  expect_both_kinds(passes(), ".graph");
}

INSTANTIATE_TEST_SUITE_P(Files, GraphPassesGolden, testing::ValuesIn(goldens(".graph")),
                         [](const auto& i) { return i.param.test_name(); });

}  // namespace
}  // namespace tilewright::graph::graph_golden_test
