// If of ONNX models whose branches may be invalid for the sizes of a call: one graph, and an error
// only when the invalid branch is taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/compile/compile.h"
#include "graph/compile/packages/package.h"
#include "graph/ir/text.h"
#include "graph/tensor/capture.h"
#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "tests/every_device.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::choice_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace testing::onnx;

constexpr int is_bool = 9;

std::string branch(std::string_view attribute, const std::vector<std::string>& nodes) {
  return bytes(5, bytes(1, attribute) +
                      bytes(6, bytes(2, "inner") + graph_of({nodes, {}, {}, {bytes(1, "r")}})) +
                      number(20, 5));
}
std::string integer_tensor(std::string_view name, const std::vector<std::int64_t>& values) {
  return numbers(1, {std::ssize(values)}) + number(2, is_int64) + numbers(7, values) +
         bytes(8, name);
}

const std::string sines = node("Sin", {"x"}, {"r"});
const std::string three = node("Reshape", {"x", "sizes"}, {"r"}, bytes(3, "as three"));

// y of x and a condition c, by branches that give "r".
std::string choosing(const std::vector<std::string>& if_true,
                     const std::vector<std::string>& if_false) {
  return model(graph_of(
      {{node("If", {"c"}, {"y"}, branch("then_branch", if_true) + branch("else_branch", if_false))},
       {integer_tensor("sizes", {3})},
       {value("x", {"n"}), value("c", {"1"}, is_bool)},
       {value("y", {"m"})}}));
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class OnnxChoice : public ::testing::TestWithParam<bool> {
 protected:
  // The condition by which the branch that is valid for two elements is taken.
  bool valid() const { return GetParam(); }
  std::shared_ptr<OnnxModule> load() const {
    const ScratchFolder folder;
    return load_onnx(folder.write(
        "model.onnx", valid() ? choosing({sines}, {three}) : choosing({three}, {sines})));
  }
  static Tensor flag(bool value) { return full({1}, value ? 1 : 0, DType::boolean); }
};
INSTANTIATE_TEST_SUITE_P(Valid, OnnxChoice, ::testing::Bool());

TEST_P(OnnxChoice, AnInvalidBranchDoesNotBreakTheGraph) {
  const auto module = load();
  auto fast = compile(*module, {.fullgraph = true});
  const Tensor x = arange(0, 2).to(f32);
  EXPECT_NEAR(fast({x, flag(valid())})[0][1].item<float>(), std::sin(1.0), 1e-6);
}

TEST_P(OnnxChoice, AnInvalidBranchRaisesItsErrorWhenItIsTaken) {
  const auto module = load();
  auto fast = compile(*module, {.fullgraph = true});
  const Tensor x = arange(0, 2).to(f32);
  for (int turn = 0; turn < 2; ++turn) {
    const std::string error = error_of([&] { fast({x, flag(!valid())}); });
    EXPECT_THAT(error, AllOf(HasSubstr("[reshape] "), HasSubstr("in node \"as three\" (Reshape)")));
    EXPECT_NEAR(fast({x, flag(valid())})[0][1].item<float>(), std::sin(1.0), 1e-6);
  }
}

TEST_P(OnnxChoice, BothBranchesRunForSizesThatBothTake) {
  const auto module = load();
  auto fast = compile(*module, {.fullgraph = true});
  const Tensor x = arange(0, 3).to(f32);
  EXPECT_NEAR(fast({x, flag(valid())})[0][2].item<float>(), std::sin(2.0), 1e-6);
  EXPECT_EQ(fast({x, flag(!valid())})[0][2].item<float>(), 2);
}

TEST_P(OnnxChoice, AnInvalidBranchIsPartOfAPackage) {
  TILEWRIGHT_ON_THE_HOST_ONLY("packages");
  const ScratchFolder folder;
  const auto module = load();
  auto fast = compile(*module, {.fullgraph = true});
  const Tensor x = arange(0, 2).to(f32);
  const std::vector<float> expected = fast({x, flag(valid())})[0].to_vector<float>();
  fast.save_package((folder.path() / "model.twp").string());
  const Package package = load_package(folder.path() / "model.twp");
  EXPECT_EQ(package(x, flag(valid()))[0].to_vector<float>(), expected);
  const std::string error = error_of([&] { package(x, flag(!valid())); });
  EXPECT_EQ(error, error_of([&] { fast({x, flag(!valid())}); }));
  EXPECT_THAT(error, HasSubstr("in node \"as three\" (Reshape)"));
  EXPECT_THAT(package.text(true), HasSubstr("error \"[reshape] "));
}

TEST(OnnxChoices, TwoInvalidBranchesAreAnError) {
  const ScratchFolder folder;
  const auto module = load_onnx(folder.write("model.onnx", choosing({three}, {three})));
  auto fast = compile(*module);
  EXPECT_THAT(error_of([&] {
                fast({ones({2}), full({1}, 1, DType::boolean)});
              }),
              HasSubstr("[reshape] "));
}

TEST(OnnxChoices, AnInvalidBranchOfTwoResultsIsOneOperation) {
  const ScratchFolder folder;
  const std::string other = node("Reshape", {"x", "sizes"}, {"s"});
  auto both = [&](std::string_view attribute, const std::vector<std::string>& nodes) {
    return bytes(5, bytes(1, attribute) +
                        bytes(6, bytes(2, "inner") +
                                     graph_of({nodes, {}, {}, {bytes(1, "r"), bytes(1, "s")}})) +
                        number(20, 5));
  };
  const auto module = load_onnx(folder.write(
      "model.onnx", model(graph_of({{node("If", {"c"}, {"y", "z"},
                                          both("then_branch", {sines, node("Cos", {"x"}, {"s"})}) +
                                              both("else_branch", {three, other}))},
                                    {integer_tensor("sizes", {3})},
                                    {value("x", {"n"}), value("c", {"1"}, is_bool)},
                                    {value("y", {"m"}), value("z", {"m"})}}))));
  auto fast = compile(*module, {.fullgraph = true});
  const Tensor x = arange(0, 2).to(f32), yes = full({1}, 1, DType::boolean);
  const std::vector<Tensor> results = fast({x, yes});
  EXPECT_NEAR(results[0][1].item<float>(), std::sin(1.0), 1e-6);
  EXPECT_NEAR(results[1][1].item<float>(), std::cos(1.0), 1e-6);
  EXPECT_THAT(error_of([&] { fast({x, logical_not(yes)}); }), HasSubstr("[reshape] "));
  graph::Capture capture;
  const std::vector<Tensor> arguments = {capture.placeholder(f32, {2}),
                                         capture.placeholder(DType::boolean, {1})};
  const std::string text = graph::print(capture.finish(module->forward(arguments)).graph);
  ASSERT_THAT(text, HasSubstr("refused_branch"));
  EXPECT_EQ(text.find("refused_branch"), text.rfind("refused_branch")) << text;
}

// A read of data breaks the graph, also where the other branch is invalid.
TEST(OnnxChoices, ABranchOfUnknownSizesBreaksTheGraph) {
  const ScratchFolder folder;
  const auto module = load_onnx(folder.write(
      "model.onnx", choosing({node("NonZero", {"x"}, {"places"}),
                              node("Cast", {"places"}, {"wide"}, attribute("to", is_float)),
                              node("Squeeze", {"wide"}, {"r"})},
                             {three})));
  auto fast = compile(*module, {.tell_breaks = false});
  const Tensor x = ones({2});
  EXPECT_EQ(fast({x, full({1}, 1, DType::boolean)})[0].shape(), Shape({2}));
  EXPECT_THAT(fast.report().at(0).graph_break, HasSubstr("(If)"));
}

}  // namespace
}  // namespace tilewright::choice_test
