// The paths of parameters under each optimizer are PyTorch's, step by step, clipped or not, also
// from a state that PyTorch has saved. Numbers: tools/optimizer_cases.py; tools/training prints a
// table of the distances.
#include <filesystem>

#include "tools/training/optimizer_paths.h"

#include <gtest/gtest.h>

#include "tests/source_folder.h"
#include "tools/training/clip_cases.h"

namespace tilewright::optimizer_paths_test {
namespace {

using tools::PathComparison;
using tools::PathReference;

std::filesystem::path folder() { return source_folder() / "tests/models/training"; }
const PathReference& reference() {
  static const PathReference reference(folder());
  return reference;
}

class OptimizerPaths : public ::testing::TestWithParam<std::string> {};

TEST_P(OptimizerPaths, ArePyTorchs) {
  const PathComparison found = tools::compared_path(reference(), GetParam(), f64);
  ASSERT_TRUE(found.is_supported);
  EXPECT_LE(found.parameters, found.allowed);
  EXPECT_LE(found.losses, found.allowed);
  EXPECT_LE(found.resumed, found.allowed);
  EXPECT_LE(found.state, found.allowed > 1e-6 ? 0.1 : 1e-9) << "of the state after 37 steps";
  EXPECT_EQ(found.plans, 1U);
}

TEST_P(OptimizerPaths, OfF32AreAsNearAsPyTorchs) {
  const PathComparison found = tools::compared_path(reference(), GetParam(), f32);
  EXPECT_LE(found.parameters, found.allowed);
  EXPECT_LE(found.losses, found.allowed);
  EXPECT_LE(found.resumed, found.allowed);
}

INSTANTIATE_TEST_SUITE_P(Cases, OptimizerPaths, ::testing::ValuesIn(reference().names()),
                         [](const auto& info) { return info.param; });

TEST(Clipping, IsPyTorchs) {
  int compared = 0;
  for (const auto& entry : tools::read_json(folder() / "clip.json")) {
    EXPECT_LE(tools::compared_clipping(entry), 1e-12) << entry.dump();
    ++compared;
  }
  EXPECT_EQ(compared, 40);
}

}  // namespace
}  // namespace tilewright::optimizer_paths_test
