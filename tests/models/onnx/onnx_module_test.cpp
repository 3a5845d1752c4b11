// ONNX models as modules: what they take and give, at once and compiled, and what is refused.
#include "models/onnx/onnx_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "graph/compile/compile.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::onnx_module_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace testing::onnx;

// Rows of x, [batch, 2], times w, [2, 3], and halved along the batch by sizes that are computed.
std::string halving_model() {
  std::string w = floats_as_bytes({1, 2, 3, 4, 5, 6});
  std::string integers = number(2, is_int64);
  return model(graph_of(
      {{node("MatMul", {"x", "w"}, {"h"}), node("Shape", {"h"}, {"sizes"}),
        node("Gather", {"sizes", "zero"}, {"batch"}), node("Div", {"batch", "two"}, {"half"}),
        node("Concat", {"half", "rest"}, {"wanted"}, attribute("axis", 0)),
        node("Reshape", {"h", "wanted"}, {"y"})},
       {tensor("w", {2, 3}, w), numbers(1, {1}) + integers + numbers(7, {0}) + bytes(8, "zero"),
        numbers(1, {1}) + integers + numbers(7, {2}) + bytes(8, "two"),
        numbers(1, {1}) + integers + numbers(7, {-1}) + bytes(8, "rest")},
       {value("x", {"batch", "2"})},
       {value("y", {"half", "6"})}}));
}

std::string error_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class OnnxFile : public ::testing::Test {
 protected:
  std::unique_ptr<OnnxModule> load(const std::string& content, OnnxOptions options = {}) {
    return load_onnx(folder_.write("model.onnx", content), options);
  }
  ScratchFolder folder_;
};

TEST_F(OnnxFile, IsAModuleWithNamesAndSizes) {
  auto module = load(halving_model());
  ASSERT_EQ(module->inputs().size(), 1U);
  EXPECT_EQ(module->inputs()[0].name, "x");
  EXPECT_EQ(module->inputs()[0].shape, (Shape{-1, 2}));
  EXPECT_EQ(module->inputs()[0].dynamic[0].size, "batch");
  EXPECT_THAT(module->outputs(), ElementsAre("y"));
  EXPECT_EQ(module->opset(), 17);
  // Integers are constants.
  ASSERT_EQ(module->named_parameters().size(), 1U);
  EXPECT_EQ(module->named_parameters()[0].name, "w");
}

TEST_F(OnnxFile, NamesTheNodeWhoseIndexIsOutside) {
  auto module = load(model(graph_of({{node("Gather", {"w", "x"}, {"y"})},
                                     {tensor("w", {2, 3}, floats_as_bytes({1, 2, 3, 4, 5, 6}))},
                                     {value("x", {"2"}, is_int64)},
                                     {value("y", {"2", "3"})}})));
  const std::vector<Tensor> inputs = {Tensor::from<std::int64_t>({0, 7}, {2})};
  auto fast = compile(*module, {.index_checks = IndexChecks::all});
  for (const std::string& error :
       {error_of([&] { module->forward(inputs); }), error_of([&] { fast(inputs); })}) {
    EXPECT_THAT(error, HasSubstr("7 is outside"));
    EXPECT_THAT(error, HasSubstr("\n  in node \"y\" (Gather) of "));
    EXPECT_THAT(error, HasSubstr("model.onnx"));
  }
}

TEST_F(OnnxFile, ComputesAtOnceAndCompiledWithSizesThatDiffer) {
  auto module = load(halving_model());
  auto fast = compile(*module);
  for (std::int64_t batch : {2, 4, 6}) {
    Tensor x = (arange(0, batch * 2).to(f32)).reshape({batch, 2}).clone();
    std::vector<float> expected;
    for (std::int64_t row = 0; row < batch; ++row)
      for (int column = 0; column < 3; ++column)
        expected.push_back(
            static_cast<float>(2 * row * (column + 1) + (2 * row + 1) * (column + 4)));
    Tensor at_once = module->forward({x})[0], compiled = fast({x})[0];
    EXPECT_EQ(at_once.shape(), (Shape{batch / 2, 6}));
    EXPECT_EQ(compiled.shape(), (Shape{batch / 2, 6}));
    EXPECT_EQ(at_once.to_vector<float>(), expected);
    EXPECT_EQ(compiled.to_vector<float>(), expected);
  }
}

TEST_F(OnnxFile, HasSizesThatAreComputedWithoutABreakOfTheGraph) {
  auto module = load(halving_model());
  auto fast = compile(*module, {.fullgraph = true});
  EXPECT_EQ(fast({ones({4, 2})})[0].shape(), (Shape{2, 6}));
}

TEST_F(OnnxFile, FollowsItsParameters) {
  auto module = load(halving_model());
  auto fast = compile(*module);
  EXPECT_EQ(fast({ones({2, 2})})[0].to_vector<float>()[0], 5);
  module->named_parameters()[0].tensor.copy_from(zeros({2, 3}));
  EXPECT_EQ(fast({ones({2, 2})})[0].to_vector<float>()[0], 0);
}

TEST_F(OnnxFile, RefusesInputsThatItDoesNotTake) {
  auto module = load(halving_model());
  auto error = [&](const std::vector<Tensor>& inputs) {
    return error_of([&] { module->forward(inputs); });
  };
  EXPECT_THAT(error({}), HasSubstr("[onnx] the program takes 1 inputs; 0 are given"));
  EXPECT_THAT(error({ones({2, 3})}),
              HasSubstr("[onnx] input \"x\": axis 1 has size 3; the program takes 2"));
  EXPECT_THAT(error({ones({2})}), HasSubstr("rank 1; the program takes rank 2"));
  EXPECT_THAT(error({ones({2, 2}, f64)}), HasSubstr("is f64; the program takes f32"));
}

TEST_F(OnnxFile, ListsAllOperatorsThatAreMissing) {
  std::string content = model(graph_of(
      {{node("Novel", {"x"}, {"a"}), node("Strange", {"a"}, {"b"}), node("Novel", {"b"}, {"y"})},
       {},
       {value("x", {"2"})},
       {value("y", {"2"})}}));
  std::string error = error_of([&] { load(content); });
  EXPECT_THAT(error, HasSubstr("2 operators are not supported in operator set 17:\n"
                               "  Novel, 2 times, first at node \"a\"\n"
                               "  Strange, 1 time, first at node \"b\""));
  ProgramSummary summary = inspect_onnx(folder_.path() / "model.onnx");
  EXPECT_EQ(summary.operators.size(), 2U);
  EXPECT_FALSE(summary.operators[0].is_known);
}

TEST_F(OnnxFile, RefusesWhatAnOperatorWasNotAskedFor) {
  auto with = [&](const std::string& node) {
    auto module = load(model(graph_of({{node}, {}, {value("x", {"2"})}, {value("y", {"2"})}})));
    return error_of([&] { module->forward({ones({2})}); });
  };
  EXPECT_THAT(with(node("Relu", {"x"}, {"y"}, attribute("novel", 1))),
              HasSubstr("the attribute \"novel\" is not supported"));
  EXPECT_THAT(with(node("Relu", {"x", "x"}, {"y"})), HasSubstr("input 1 is not supported"));
  EXPECT_THAT(with(node("Relu", {"x"}, {"y", "z"})), Not(HasSubstr("no error")));
  EXPECT_THAT(with(node("Relu", {}, {"y"})),
              HasSubstr("input 0 is missing\n  in node \"y\" (Relu) of "));
  EXPECT_THAT(with(node("Concat", {"x", "x"}, {"y"})), HasSubstr("\"axis\" is missing"));
}

TEST_F(OnnxFile, RefusesIndicesOfTheFileThatAreOutside) {
  for (const char* op : {"Gather", "GatherElements"})
    for (std::int64_t place : {std::int64_t{2}, std::int64_t{-3}, INT64_MAX}) {
      auto module = load(model(
          graph_of({{node(op, {"x", "i"}, {"y"})},
                    {numbers(1, {1}) + number(2, is_int64) + numbers(7, {place}) + bytes(8, "i")},
                    {value("x", {"2"})},
                    {value("y", {"1"})}})));
      auto fast = compile(*module);
      for (const std::string& error : {error_of([&] { module->forward({full({2}, 1)}); }),
                                       error_of([&] { fast({full({2}, 1)}); })})
        EXPECT_THAT(error, HasSubstr(concat("index ", place, " is outside an axis of size 2")));
    }
}

TEST_F(OnnxFile, HasTensorsInOtherFilesOfItsFolder) {
  std::string parts = "before--" + floats_as_bytes({3, 4});
  folder_.write("weights.bin", parts);
  std::string content = model(graph_of({{node("Mul", {"x", "w"}, {"y"})},
                                        {tensor_elsewhere("w", {2}, "weights.bin", "8", "8")},
                                        {value("x", {"2"})},
                                        {value("y", {"2"})}}));
  for (Reading reading : {Reading::as_needed, Reading::copied, Reading::mapped}) {
    auto module = load(content, {.reading = reading});
    EXPECT_THAT(module->forward({ones({2})})[0].to_vector<float>(), ElementsAre(3, 4));
  }
}

TEST(OnnxOperators, HaveOneMeaningForEachOperatorSet) {
  std::set<std::string_view> names;
  for (std::string_view name : onnx::operator_names()) {
    EXPECT_TRUE(names.insert(name).second) << name;
    const onnx::Operator* newest = onnx::find_operator(name, 99);
    ASSERT_NE(newest, nullptr) << name;
    EXPECT_EQ(onnx::find_operator(name, newest->since), newest) << name;
    EXPECT_NE(onnx::find_operator(name, newest->since - 1), newest) << name;
  }
  EXPECT_GE(names.size(), 150U);
}

}  // namespace
}  // namespace tilewright::onnx_module_test
