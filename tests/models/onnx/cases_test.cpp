// ONNX models compute what the onnx package says of each operator. docs/unsupported_onnx.txt lists
// the exceptions; a case that is neither right nor listed fails, and so does a line there that is
// not true any more. TILEWRIGHT_TEST_CASE=test_add runs the cases of that prefix alone.
#include "tests/models/onnx/cases.h"

#include <gtest/gtest.h>

#include <iostream>

#include "tests/scratch_folder.h"

namespace tilewright::cases_test {
namespace {

using testing::How;
using testing::onnx_cases;
using testing::OnnxCase;
using testing::unsupported_onnx_cases;
using testing::what_is_wrong;

void check_all(How how) {
  std::vector<OnnxCase> cases = onnx_cases("cases.zip");
  ASSERT_FALSE(cases.empty());
  ScratchFolder folder;
  int right = 0;
  for (const OnnxCase& c : cases) {
    std::string found = what_is_wrong(c, folder.path() / "model.onnx", how);
    bool is_excused = unsupported_onnx_cases().contains(c.name);
    right += found.empty();
    EXPECT_TRUE(found.empty() || is_excused)
        << c.name << ": " << found << "\n  repeat: TILEWRIGHT_TEST_CASE=" << c.name;
    EXPECT_FALSE(found.empty() && is_excused) << c.name << " is right, and listed as unsupported";
  }
  std::cout << right << " of " << cases.size() << " cases agree\n";
}

TEST(SlowOnnxCases, AtOnceComputeWhatThePackageSays) { check_all(How::at_once); }
TEST(SlowOnnxCases, CompiledComputeWhatThePackageSays) { check_all(How::compiled); }

}  // namespace
}  // namespace tilewright::cases_test
