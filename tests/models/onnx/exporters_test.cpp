// Models with habits of converters: nodes in any order, functions of the model's own, names of axes
// without a meaning, old declarations. Results are those of ONNX Runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/onnx/onnx_module.h"
#include "tests/errors.h"
#include "tests/models/onnx/cases.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::exporters_test {
namespace {

using ::testing::HasSubstr;
using namespace testing::onnx;
using testing::How;

void check_all(How how) {
  const std::vector<testing::OnnxCase> cases = testing::onnx_cases("exporters.zip");
  ASSERT_FALSE(cases.empty());
  ScratchFolder folder;
  for (const testing::OnnxCase& c : cases)
    EXPECT_EQ(testing::what_is_wrong(c, folder.path() / "model.onnx", how), "")
        << c.name << "\n  repeat: TILEWRIGHT_TEST_CASE=" << c.name;
}

TEST(OnnxExporters, ModelsWithTheirHabitsAreRightAtOnce) { check_all(How::at_once); }
TEST(OnnxExporters, ModelsWithTheirHabitsAreRightCompiled) { check_all(How::compiled); }

std::string error_of_model(const std::vector<std::string>& nodes, const std::string& more = {}) {
  ScratchFolder folder;
  const std::string content =
      model(graph_of({nodes, {}, {value("x", {"2"})}, {value("y", {"2"})}})) + more;
  return error_of([&] { load_onnx(folder.write("model.onnx", content)); });
}

TEST(OnnxOrder, NamesTheNodesOfACycle) {
  EXPECT_THAT(
      error_of_model({node("Add", {"x", "c"}, {"y"}, bytes(3, "first")),
                      node("Neg", {"y"}, {"b"}, bytes(3, "second")), node("Abs", {"b"}, {"c"})}),
      HasSubstr("its nodes are in a cycle: node \"first\" (Add), which reads node \"c\" "
                "(Abs), which reads node \"second\" (Neg), which reads node \"first\" "
                "(Add); no node may need its own results"));
}

// As long as a file may have: the nodes are not followed by recursion.
TEST(OnnxOrder, IsFoundForALongChain) {
  std::vector<std::string> nodes;
  constexpr int count = 100000;
  for (int i = count; i > 0; --i)
    nodes.push_back(node("Neg", {i == 1 ? "x" : concat("v", i - 1)},
                         {i == count ? std::string("y") : concat("v", i)}));
  EXPECT_EQ(error_of_model(nodes), error_of([] {}));
}

std::string function(std::string_view name, const std::vector<std::string>& nodes,
                     std::string_view domain = "own") {
  std::string all = bytes(1, name) + bytes(4, "a") + bytes(5, "b");
  for (const std::string& each : nodes) all += bytes(7, each);
  return bytes(25, all + bytes(10, domain));
}
const std::string of_own = bytes(7, "own");

TEST(OnnxFunctions, ThatCallThemselvesOrAreCalledWronglyAreRefused) {
  const std::string call = node("F", {"x"}, {"y"}, of_own);
  const std::string f = function("F", {node("Neg", {"a"}, {"b"})});
  EXPECT_EQ(error_of_model({call}, f), error_of([] {}));
  EXPECT_THAT(error_of_model({call}, f + f), HasSubstr("two functions have the name \"own.F\""));
  EXPECT_THAT(error_of_model({call}, function("F", {node("F", {"a"}, {"b"}, of_own)})),
              HasSubstr("node \"y/b\" (own.F) calls a function within itself"));
  EXPECT_THAT(error_of_model({node("F", {"x", "x"}, {"y"}, of_own)}, f),
              HasSubstr("node \"y\" (own.F) has 2 inputs and 1 outputs; its function takes up to 1 "
                        "and 1"));
  EXPECT_THAT(error_of_model({call}, function("F", {node("Neg", {"x"}, {"b"})})),
              HasSubstr("node \"y/b\" (Neg) read \"x\", which nothing gives"));
  EXPECT_THAT(error_of_model({call}, function("F", {node("Neg", {"a"}, {"c"})})),
              HasSubstr("node \"y\" (own.F) read \"b\", which nothing gives"));
  EXPECT_THAT(error_of_model({node("F", {""}, {"y"}, of_own)},
                             function("F", {node("Identity", {"a"}, {"c"})})),
              HasSubstr("read \"b\", which nothing gives"));
  EXPECT_THAT(
      error_of_model({call}, function("F", {node("Neg", {"c"}, {"b"}), node("Neg", {"b"}, {"c"})})),
      HasSubstr("its nodes are in a cycle"));
}

// Standard operators keep their meaning, whatever functions of their names a file has.
TEST(OnnxFunctions, DoNotReplaceStandardOperators) {
  ScratchFolder folder;
  const std::string content =
      model(graph_of({{node("Abs", {"x"}, {"y"})}, {}, {value("x", {"2"})}, {value("y", {"2"})}})) +
      function("Abs", {node("Neg", {"a"}, {"b"})}, "");
  const auto module = load_onnx(folder.write("model.onnx", content));
  EXPECT_EQ(module->forward({full({2}, 3.0)})[0].to_vector<float>()[0], 3);
}

// Each of thirty functions calls the one before twice: a thousand million nodes of a few lines.
TEST(OnnxFunctions, ThatGrowWithoutBoundAreRefused) {
  std::string all = function("F0", {node("Neg", {"a"}, {"b"})});
  for (int i = 1; i < 30; ++i)
    all += function(concat("F", i), {node(concat("F", i - 1), {"a"}, {"c"}, of_own),
                                     node(concat("F", i - 1), {"c"}, {"b"}, of_own)});
  EXPECT_THAT(error_of_model({node("F29", {"x"}, {"y"}, of_own)}, all),
              HasSubstr("with those of the functions that it calls"));
}

}  // namespace
}  // namespace tilewright::exporters_test
