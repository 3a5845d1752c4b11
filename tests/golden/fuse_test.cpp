// Tests fusion: files of tests/golden/fuse hold a graph, a line of dashes, and the tasks and
// regions that a plan on the host has of it. One idea a file, which its name says; in those named
// leaves_... nothing is fused. TILEWRIGHT_UPDATE_GOLDEN=1 in the environment rewrites what differs:
// a change of fusion is then read as a difference of these files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "graph/ir/text.h"
#include "graph/regions/text/text.h"
#include "graph/run/plan_tasks.h"
#include "runtime/base/env.h"
#include "tests/source_folder.h"

namespace tilewright::graph::fuse_test {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view divider = "----\n";

std::vector<fs::path> files() {
  std::vector<fs::path> all;
  const fs::path folder = source_folder() / "tests/golden/fuse";
  for (const auto& entry : fs::directory_iterator(folder)) all.push_back(entry.path());
  std::ranges::sort(all);
  return all;
}

class Fusion : public testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    std::ostringstream text;
    text << std::ifstream(GetParam()).rdbuf();
    const std::string whole = text.str();
    const auto at = whole.find(divider);
    before = whole.substr(0, at);
    after = at == whole.npos ? "" : whole.substr(at + divider.size());
  }
  std::string before, after;
};

TEST_P(Fusion, GivesTheExpectedRegions) {
  const Graph graph = parse(before);
  EXPECT_EQ(print(graph), before);
  const FusedTasks tasks = fused_tasks(graph, {.device = Device::cpu()});
  const std::string now = print(tasks.list, tasks.regions);
  if (env::update_golden() && now != after)
    std::ofstream(GetParam()) << before << divider << now;
  else
    EXPECT_EQ(now, after);
  const bool nothing = GetParam().stem().string().starts_with("leaves_");
  EXPECT_EQ(tasks.regions.size() == tasks.list.tasks.size(), nothing)
      << "files named leaves_... are those where nothing may be fused";
}

TEST_P(Fusion, PrintsAsItWasRead) {
  const FusedTasks again = parse_tasks(after);
  EXPECT_EQ(print(again.list, again.regions), after);
}

INSTANTIATE_TEST_SUITE_P(Files, Fusion, testing::ValuesIn(files()),
                         [](const auto& i) { return i.param.stem().string(); });

}  // namespace
}  // namespace tilewright::graph::fuse_test
