// Operators of ONNX Runtime's own domain, com.microsoft: what it gives for them, at once and as one
// graph, and errors for what they do not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "tests/models/onnx/cases.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace testing::onnx;
using testing::How;

void check_all(How how) {
  const std::vector<testing::OnnxCase> cases = testing::onnx_cases("microsoft.zip");
  ASSERT_FALSE(cases.empty());
  ScratchFolder folder;
  for (const testing::OnnxCase& c : cases)
    EXPECT_EQ(testing::what_is_wrong(c, folder.path() / "model.onnx", how), "")
        << c.name << "\n  repeat: TILEWRIGHT_TEST_CASE=" << c.name;
}

TEST(OnnxMicrosoft, AtOnceComputeWhatOnnxRuntimeDoes) { check_all(How::at_once); }
TEST(OnnxMicrosoft, AreOneGraph) { check_all(How::as_one_graph); }

}  // namespace
}  // namespace tilewright
