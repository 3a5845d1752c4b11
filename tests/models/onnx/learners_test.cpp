// Models of the domain ai.onnx.ml: the results of ONNX Runtime, at once and as one graph, and
// errors for invalid forests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "tests/models/onnx/cases.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::learners_test {
namespace {

using ::testing::HasSubstr;
using namespace testing::onnx;
using testing::How;

void check_all(How how) {
  const std::vector<testing::OnnxCase> cases = testing::onnx_cases("learners.zip");
  ASSERT_FALSE(cases.empty());
  ScratchFolder folder;
  for (const testing::OnnxCase& c : cases)
    EXPECT_EQ(testing::what_is_wrong(c, folder.path() / "model.onnx", how), "")
        << c.name << "\n  repeat: TILEWRIGHT_TEST_CASE=" << c.name;
}

TEST(OnnxLearners, AtOnceComputeWhatOnnxRuntimeDoes) { check_all(How::at_once); }
TEST(OnnxLearners, AreOneGraph) { check_all(How::as_one_graph); }

// A tree of a branch and two leaves, with what is to be wrong in it.
struct Forest {
  std::vector<std::int64_t> trees = {0, 0, 0}, nodes = {0, 1, 2}, features = {1, 0, 0},
                            if_true = {1, 0, 0}, if_false = {2, 0, 0}, weighed = {1, 2},
                            columns = {0, 0};
  std::vector<std::string> modes = {"BRANCH_LEQ", "LEAF", "LEAF"};
};
std::string error_of(const Forest& f) {
  const std::string attributes =
      integers("nodes_treeids", f.trees) + integers("nodes_nodeids", f.nodes) +
      integers("nodes_featureids", f.features) + integers("nodes_truenodeids", f.if_true) +
      integers("nodes_falsenodeids", f.if_false) + floats("nodes_values", {0.5, 0, 0}) +
      texts("nodes_modes", f.modes) + integers("target_treeids", {0, 0}) +
      integers("target_nodeids", f.weighed) + integers("target_ids", f.columns) +
      floats("target_weights", {3, 4}) + bytes(7, "ai.onnx.ml");
  ScratchFolder folder;
  try {
    auto module = load_onnx(folder.write(
        "model.onnx", model(graph_of({{node("TreeEnsembleRegressor", {"x"}, {"y"}, attributes)},
                                      {},
                                      {value("x", {"n", "2"})},
                                      {value("y", {"n", "1"})}}))));
    return to_string(module->forward({full({1, 2}, 0.25)})[0]);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(OnnxLearners, RefuseForestsThatAreNone) {
  struct Wrong {
    Forest forest;
    const char* says;
  };
  const std::vector<Wrong> all = {
      {{}, "3"},
      {{.features = {2, 0, 0}}, "asks for feature 2 of samples that have 2"},
      {{.features = {-1, 0, 0}}, "asks for feature -1"},
      {{.if_true = {7, 0, 0}}, "tree 0 has no node 7"},
      {{.if_true = {0, 0, 0}}, "node 0 of a forest is reached from no root"},
      {{.if_true = {2, 0, 0}}, "1 trees has 2 nodes to which no branch goes"},
      {{.if_true = {1, 0, 0}, .if_false = {1, 0, 0}}, "has 2 nodes to which no branch goes"},
      {{.nodes = {0, 1, 1}}, "tree 0 has two nodes 1"},
      {{.nodes = {0, 1}}, "lists of a forest have 3, 2, 3"},
      {{.weighed = {1, 9}}, "a weight of node 9 of tree 0 for result 0"},
      {{.columns = {0, 1}}, "a weight of node 2 of tree 0 for result 1"},
      {{.columns = {0}}, "lists of 2, 2, 1 and 2 entries"},
      {{.modes = {"BRANCH_MEMBER", "LEAF", "LEAF"}}, "of the mode BRANCH_MEMBER is not supported"},
      {{.if_true = {1, 0, 0}, .if_false = {2, 2, 0}, .modes = {"BRANCH_LEQ", "BRANCH_LT", "LEAF"}},
       "branches of the modes BRANCH_LEQ and BRANCH_LT"},
      {{.if_true = {1, 2, 0}, .if_false = {2, 2, 0}, .modes = {"BRANCH_LEQ", "BRANCH_LEQ", "LEAF"}},
       "node 2 of a forest is reached twice"},
  };
  for (const Wrong& each : all) EXPECT_THAT(error_of(each.forest), HasSubstr(each.says));
}

}  // namespace
}  // namespace tilewright::learners_test
