// The declarations of values in an ONNX model, against the computed values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "tests/errors.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::declared_test {
namespace {

using ::testing::HasSubstr;
using namespace testing::onnx;

constexpr int is_string = 8, is_flag = 9, is_double = 11;

std::string inner(const std::string& declared) { return bytes(13, declared); }
// y [2x3] = -relu(x), where h is what relu gives.
std::string negated(const std::string& y, const std::string& more = {},
                    const std::string& x = value("x", {"2", "3"})) {
  return model(graph_of({{node("Relu", {"x"}, {"h"}), node("Neg", {"h"}, {"y"})}, {}, {x}, {y}}) +
               more);
}

class OnnxDeclared : public ::testing::Test {
 protected:
  std::unique_ptr<OnnxModule> load(const std::string& content, OnnxOptions options = {}) {
    return load_onnx(folder_.write("model.onnx", content), options);
  }
  // At once and compiled the same, of [2x3].
  std::string error(const std::string& content, OnnxOptions options = {}) {
    auto module = load(content, options);
    auto fast = compile(*module);
    const std::vector<Tensor> x = {ones({2, 3})};
    const std::string at_once = error_of([&] { module->forward(x); });
    EXPECT_EQ(error_of([&] { fast(x); }), at_once);
    return at_once;
  }
  ScratchFolder folder_;
};

const std::string right = value("y", {"2", "3"});

TEST_F(OnnxDeclared, SizesOfOutputsAreThoseComputed) {
  for (const auto& sizes :
       std::vector<std::vector<std::string>>{{"2", "4"}, {"6"}, {}, {"rows", "9"}}) {
    EXPECT_EQ(error(negated(value("y", sizes))), error_of([] {}));
    EXPECT_EQ(load(negated(value("y", sizes)))->forward({ones({2, 3})})[0].shape(), (Shape{2, 3}));
  }
}

TEST_F(OnnxDeclared, ContradictingDtypesOfOutputsAreErrors) {
  EXPECT_THAT(error(negated(value("y", {"2", "3"}, is_double))),
              HasSubstr("\"y\" is declared as f64 [2x3] and is f32 [2x3]; a model must declare the "
                        "dtype that it computes"));
}

// Tools leave old declarations behind; only a dtype is checked, as ONNX Runtime does.
TEST_F(OnnxDeclared, SizesOfInnerValuesAreThoseComputed) {
  for (const auto& sizes : std::vector<std::vector<std::string>>{{"2", "9"}, {"6"}, {}, {"1", "3"}})
    EXPECT_EQ(error(negated(right, inner(value("h", sizes)))), error_of([] {}));
}

TEST_F(OnnxDeclared, ContradictingDtypesOfInnerValuesAreErrorsOfTheirNode) {
  EXPECT_THAT(
      error(negated(right, inner(value("h", {"2", "3"}, is_int64)))),
      HasSubstr("[onnx] value \"h\" is declared as i64 [2x3] and is f32 [2x3]; a model must "
                "declare the dtype that it computes\n"
                "  in node \"h\" (Relu) of "));
}

TEST_F(OnnxDeclared, WhatFitsOrSaysNothingIsNone) {
  EXPECT_EQ(error(negated(right, inner(value("h", {"2", "3"})))), error_of([] {}));
  EXPECT_EQ(error(negated(value("y", {"rows", "columns"}))), error_of([] {}));
  // Values of no rank, of no type, of elements that are no numbers, and missing ones.
  const std::string no_rank = bytes(1, "h") + bytes(2, bytes(1, number(1, is_float)));
  for (const std::string& each :
       {no_rank, bytes(1, "h"), value("h", {"2", "3"}, is_string), value("nothing", {"7"})})
    EXPECT_EQ(error(negated(right, inner(each))), error_of([] {}));
}

TEST_F(OnnxDeclared, AnInputThatIsGivenBackIsLookedAt) {
  const std::string content =
      model(graph_of({{node("Relu", {"x"}, {"h"})},
                      {tensor("w", {1}, floats_as_bytes({4}))},
                      {value("x", {"a", "b"})},
                      {value("h", {"2", "3"}), value("w", {"1"}, is_double)}}));
  EXPECT_THAT(error(content), HasSubstr("value \"w\" is declared as f64 [1] and is f32 [1]"));
}

// A loop of three turns that doubles s, whose body declares what it is given and gives.
std::string looping(const std::string& turn, const std::string& state, const std::string& result) {
  const GraphParts parts{
      {node("Identity", {"c"}, {"d"}), node("Cast", {"i"}, {"f"}, attribute("to", is_float)),
       node("Add", {"s", "f"}, {"r"})},
      {},
      {turn, value("c", {}, is_flag), state},
      {value("d", {}, is_flag), result}};
  const std::string body =
      bytes(5, bytes(1, "body") + bytes(6, bytes(2, "inner") + graph_of(parts)) + number(20, 5));
  return model(graph_of({{node("Loop", {"n", "", "x"}, {"y"}, body)},
                         {number(2, is_int64) + numbers(7, {3}) + bytes(8, "n")},
                         {value("x", {"2", "3"})},
                         {right}}));
}

TEST_F(OnnxDeclared, BodiesOfLoopsDeclareToo) {
  const std::string turn = value("i", {}, is_int64), state = value("s", {"2", "3"});
  EXPECT_EQ(error(looping(turn, state, value("r", {"2", "3"}))), error_of([] {}));
  EXPECT_EQ(error(looping(turn, value("s", {"6"}), value("r", {"2", "4"}))), error_of([] {}));
  EXPECT_THAT(error(looping(turn, state, value("r", {"2", "3"}, is_double))),
              HasSubstr("value \"r\" is declared as f64 [2x3] and is f32 [2x3]"));
}

// z = -y, where y is -x in one branch and all elements of x on one axis in the other; the
// declarations of y, h and z fit only one of the branches. `made` are nodes that give c.
std::string choosing(const std::string& condition, const std::vector<std::string>& made,
                     const std::string& then_declared, const std::string& z) {
  auto branch = [](std::string_view name, const GraphParts& parts) {
    return bytes(5, bytes(1, name) + bytes(6, bytes(2, "inner") + graph_of(parts)) + number(20, 5));
  };
  std::vector<std::string> nodes = made;
  nodes.push_back(
      node("If", {condition}, {"y"},
           branch("then_branch", {{node("Neg", {"x"}, {"p"})}, {}, {}, {then_declared}}) +
               branch("else_branch",
                      {{node("Reshape", {"x", "all"}, {"q"})}, {}, {}, {value("q", {"6"})}})));
  nodes.push_back(node("Relu", {"y"}, {"h"}));
  nodes.push_back(node("Neg", {"h"}, {"z"}));
  return model(
      graph_of({nodes,
                {numbers(1, {1}) + number(2, is_int64) + numbers(7, {-1}) + bytes(8, "all"),
                 numbers(1, {1}) + number(2, is_int64) + numbers(7, {3}) + bytes(8, "three"),
                 number(2, is_flag) + numbers(5, {1}) + bytes(8, "yes"),
                 number(2, is_flag) + numbers(5, {0}) + bytes(8, "no")},
                {value("x", {"2", "3"})},
                {z}}) +
      inner(value("y", {"6"})) + inner(value("h", {"6"})));
}
const std::vector<std::string> by_sizes = {node("Shape", {"x"}, {"sizes"}, attribute("start", 1)),
                                           node("Equal", {"sizes", "three"}, {"c"})};
const std::vector<std::string> by_data = {node("ReduceMax", {"x"}, {"m"}, attribute("keepdims", 0)),
                                          node("Cast", {"m"}, {"c"}, attribute("to", is_flag))};

// PyTorch writes down what one branch gives, for both.
TEST_F(OnnxDeclared, ABranchThatTheHostChoosesGivesItsOwnSizes) {
  const std::string p = value("p", {"2", "3"}), all = value("z", {"6"});
  for (const auto& [condition, made] :
       {std::pair{"yes", std::vector<std::string>{}}, {"c", by_sizes}}) {
    EXPECT_EQ(error(choosing(condition, made, p, all)), error_of([] {})) << condition;
    EXPECT_EQ(error(choosing(condition, made, value("p", {"6"}), all)), error_of([] {}));
    auto module = load(choosing(condition, made, p, all));
    EXPECT_EQ(module->forward({ones({2, 3})})[0].shape(), (Shape{2, 3}));
  }
  EXPECT_EQ(load(choosing("no", {}, p, all))->forward({ones({2, 3})})[0].shape(), Shape{6});
  // Another dtype is refused.
  EXPECT_THAT(error(choosing("yes", {}, value("p", {"2", "3"}, is_double), all)),
              HasSubstr("value \"p\" is declared as f64 [2x3] and is f32 [2x3]"));
}

TEST_F(OnnxDeclared, ABranchThatTheDataChoosesGivesItsOwnSizes) {
  auto module = load(choosing("c", by_data, value("p", {"2", "3"}), value("z", {"6"})));
  EXPECT_EQ(module->forward({ones({2, 3})})[0].shape(), (Shape{2, 3}));
}

// As ONNX Runtime hands them over: with as many axes as the body says.
TEST_F(OnnxDeclared, TheNumberOfATurnMayHaveAnAxis) {
  EXPECT_THAT(
      error(looping(value("i", {"1"}, is_int64), value("s", {"2", "3"}), value("r", {"2", "3"}))),
      error_of([] {}));
}

}  // namespace
}  // namespace tilewright::declared_test
