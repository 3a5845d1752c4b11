// Inputs of exported programs that the application holds constant (tools/control_flow_cases.py
// writes rate.pt2): x [n, 5], a rate, which chooses a branch, and k, how many columns are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "graph/compile/compile.h"
#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/source_folder.h"

namespace tilewright::exported_constants_test {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path program = source_folder() / "tests/models/control_flow/rate.pt2";

Tensor number(std::int64_t value) { return Tensor::scalar<std::int64_t>(value); }
std::string error(std::map<std::string, Tensor> constants) {
  return error_of([&] { load_exported(program, {.constants = std::move(constants)}); });
}

// (1 * 2 + 1) * 16000 and (1 * 3 - 1) * 8000, by the module in Python.
TEST(ExportedConstants, DecideBranchesAndSizes) {
  for (const auto& [rate, wanted] : {std::pair{16000, 48000.F}, {8000, 16000.F}}) {
    const auto module =
        load_exported(program, {.constants = {{"sr", number(rate)}, {"k", number(2)}}});
    ASSERT_EQ(module->inputs().size(), 1U);
    EXPECT_EQ(module->inputs()[0].name, "x");
    auto fast = compile(*module, {.fullgraph = true});
    for (std::int64_t rows : {1, 3}) {
      const Tensor x = ones({rows, 5});
      for (const Tensor& y : {module->forward({x})[0], fast({x})[0]}) {
        EXPECT_EQ(y.shape(), (Shape{rows, 2}));
        EXPECT_EQ(y.to_vector<float>()[0], wanted);
      }
    }
    // The branch is chosen before: it is a launch, and so is the product with the rate, of k
    // columns.
    EXPECT_EQ(fast.report().at(0).launches, 2);
    EXPECT_EQ(fast.explain().find("cond"), std::string::npos);
  }
}

TEST(ExportedConstants, OneAloneLeavesTheOthersInputs) {
  const auto module = load_exported(program, {.constants = {{"sr", number(16000)}}});
  ASSERT_EQ(module->inputs().size(), 2U);
  EXPECT_EQ(module->forward({ones({1, 5}), number(4)})[0].shape(), (Shape{1, 4}));
  const auto by_size = load_exported(program, {.constants = {{"x", ones({2, 5})}}});
  EXPECT_EQ(by_size->forward({number(16000), number(3)})[0].shape(), (Shape{2, 3}));
}

TEST(ExportedConstants, ThatAreNoInputsOrDoNotFitAreErrors) {
  EXPECT_THAT(error({{"rate", number(1)}}),
              HasSubstr("no input is \"rate\", which is to be constant; it takes \"x\", \"sr\", "
                        "\"k\""));
  EXPECT_THAT(error({{"sr", full({}, 1.0)}}),
              HasSubstr("the constant \"sr\" is f32 [scalar]; the input is i64 [scalar]"));
  EXPECT_THAT(error({{"x", ones({2, 4})}}), HasSubstr("the constant \"x\" is f32 [2x4]; the input "
                                                      "is f32 ["));
}

TEST(ExportedConstants, AreShownByInspect) {
  const ProgramSummary summary =
      inspect_exported(program, {.constants = {{"sr", number(1)}, {"k", number(2)}}});
  ASSERT_EQ(summary.inputs.size(), 1U);
}

}  // namespace
}  // namespace tilewright::exported_constants_test
