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

void check_all(How how, const std::string& archive = "learners.zip") {
  const std::vector<testing::OnnxCase> cases = testing::onnx_cases(archive);
  ASSERT_FALSE(cases.empty());
  ScratchFolder folder;
  for (const testing::OnnxCase& c : cases)
    EXPECT_EQ(testing::what_is_wrong(c, folder.path() / "model.onnx", how), "")
        << c.name << "\n  repeat: TILEWRIGHT_TEST_CASE=" << c.name;
}

TEST(OnnxLearners, AtOnceComputeWhatOnnxRuntimeDoes) { check_all(How::at_once); }
TEST(OnnxLearners, AreOneGraph) { check_all(How::as_one_graph); }
TEST(OnnxEncoders, AtOnceComputeWhatOnnxRuntimeDoes) { check_all(How::at_once, "encoders.zip"); }
TEST(OnnxEncoders, AreOneGraph) { check_all(How::as_one_graph, "encoders.zip"); }

// The error of one node of samples x [n, 2].
std::string error_of_node(const std::string& op, const std::string& attributes,
                          const Tensor& x = ones({1, 2})) {
  ScratchFolder folder;
  try {
    auto module = load_onnx(folder.write(
        "model.onnx", model(graph_of({{node(op, {"x"}, {"y"}, attributes + bytes(7, "ai.onnx.ml"))},
                                      {},
                                      {value("x", {"n", "2"})},
                                      {bytes(1, "y")}}))));
    return to_string(module->forward({x})[0]);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(OnnxEncoders, SayWhatIsNotSupported) {
  const std::string numbers = integers("keys_int64s", {1, 2});
  EXPECT_THAT(error_of_node("LabelEncoder", numbers + texts("values_strings", {"a", "b"})),
              HasSubstr("\"values_strings\" is about texts, which are not supported"));
  EXPECT_THAT(error_of_node("LabelEncoder", numbers), HasSubstr("\"values_int64s\" is missing"));
  EXPECT_THAT(error_of_node("OneHotEncoder", texts("cats_strings", {"a"})),
              HasSubstr("\"cats_strings\" is about texts"));
  EXPECT_THAT(error_of_node("OneHotEncoder", ""), HasSubstr("\"cats_int64s\" has no categories"));
  EXPECT_THAT(error_of_node("OneHotEncoder", integers("cats_int64s", {3}) + attribute("zeros", 0)),
              HasSubstr("[one_hot_categories] index -1 is outside"));
  EXPECT_THAT(error_of_node("Imputer", floats("imputed_value_floats", {1, 2, 3})),
              HasSubstr("[imputed] f32 [3] for f32 [1x2]"));
  EXPECT_THAT(error_of_node("FeatureVectorizer", integers("inputdimensions", {3})),
              HasSubstr("input 0 is [1x2]; 3 columns are wanted"));
  EXPECT_THAT(error_of_node("FeatureVectorizer", integers("inputdimensions", {1, 1})),
              HasSubstr("2 numbers of columns for 1 inputs"));
}

TEST(OnnxEncoders, RefuseMachinesWhoseListsDoNotFit) {
  const std::string labels = integers("classlabels_ints", {1, 2}), rho = floats("rho", {0});
  EXPECT_THAT(error_of_node("SVMRegressor", floats("coefficients", {1, 2, 3}) + rho),
              HasSubstr("3 coefficients for 1 results of samples [1x2]"));
  EXPECT_THAT(error_of_node("SVMRegressor", floats("coefficients", {1, 2})),
              HasSubstr("\"rho\" has no numbers"));
  EXPECT_THAT(
      error_of_node("SVMRegressor", attribute("n_supports", 2) + rho + floats("coefficients", {1})),
      HasSubstr("1 coefficients of 2 support vectors"));
  EXPECT_THAT(
      error_of_node("SVMRegressor", attribute("n_supports", 1) + rho + floats("coefficients", {1}) +
                                        floats("support_vectors", {1})),
      HasSubstr("1 numbers of 1 support vectors, for samples [1x2]"));
  const std::string one_each =
      integers("vectors_per_class", {1, 1}) + floats("support_vectors", {1, 2, 3, 4});
  EXPECT_THAT(error_of_node("SVMClassifier", labels + rho + integers("vectors_per_class", {1})),
              HasSubstr("1 numbers of support vectors for 2 labels"));
  EXPECT_THAT(error_of_node("SVMClassifier", labels + rho + one_each + floats("coefficients", {1})),
              HasSubstr("[pairwise_scores] kernels [1x2], 1 coefficients and 1 offsets"));
  EXPECT_THAT(
      error_of_node("SVMClassifier", labels + rho + one_each + floats("coefficients", {1, 1}) +
                                         text("kernel_type", "NOVEL")),
      HasSubstr("\"kernel_type\" is none of LINEAR, POLY, RBF and SIGMOID"));
  EXPECT_THAT(
      error_of_node("SVMClassifier", labels + rho + one_each + floats("coefficients", {1, 1}) +
                                         text("post_transform", "PROBIT")),
      HasSubstr("\"post_transform\" is PROBIT, which one score of two classes cannot have"));
}

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
      {{.if_true = {1, 2, 0}, .if_false = {2, 2, 0}, .modes = {"BRANCH_LEQ", "BRANCH_LEQ", "LEAF"}},
       "node 2 of a forest is reached twice"},
  };
  for (const Wrong& each : all) EXPECT_THAT(error_of(each.forest), HasSubstr(each.says));
}

}  // namespace
}  // namespace tilewright::learners_test
