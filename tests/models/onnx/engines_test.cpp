// Nodes for which ONNX Runtime and PyTorch agree where ONNX's reference differs: the results of
// ONNX Runtime (docs/onnx_differences.md).
#include <gtest/gtest.h>

#include "tests/models/onnx/cases.h"
#include "tests/scratch_folder.h"

namespace tilewright::engines_test {
namespace {

using testing::How;

void check_all(How how) {
  const std::vector<testing::OnnxCase> cases = testing::onnx_cases("engines.zip");
  ASSERT_FALSE(cases.empty());
  ScratchFolder folder;
  for (const testing::OnnxCase& c : cases)
    EXPECT_EQ(testing::what_is_wrong(c, folder.path() / "model.onnx", how), "")
        << c.name << "\n  repeat: TILEWRIGHT_TEST_CASE=" << c.name;
}

TEST(OnnxEngines, AgreeAtOnce) { check_all(How::at_once); }
TEST(SlowOnnxEngines, AgreeCompiled) { check_all(How::compiled); }

}  // namespace
}  // namespace tilewright::engines_test
