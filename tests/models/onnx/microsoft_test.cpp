// Operators of ONNX Runtime's own domain, com.microsoft: what it gives for them, at once and as one
// graph, and errors for what they do not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/onnx/onnx_module.h"
#include "tests/models/onnx/cases.h"
#include "tests/models/onnx/files.h"
#include "tests/models/onnx/microsoft_node.h"
#include "tests/scratch_folder.h"

namespace tilewright::microsoft_test {
namespace {

using namespace testing_microsoft;

using ::testing::HasSubstr;
using namespace testing::onnx;
using testing::How;

void check_all(How how) {
  const std::vector<testing::OnnxCase> cases = testing::onnx_cases("microsoft.zip");
  ASSERT_FALSE(cases.empty());
  ScratchFolder folder;
  for (const testing::OnnxCase& c : cases) {
    // How many elements differ is data.
    const bool reads_data = c.name == "unique" && how == How::as_one_graph;
    EXPECT_EQ(
        testing::what_is_wrong(c, folder.path() / "model.onnx", reads_data ? How::compiled : how),
        "")
        << c.name << "\n  repeat: TILEWRIGHT_TEST_CASE=" << c.name;
  }
}

TEST(OnnxMicrosoft, AtOnceComputeWhatOnnxRuntimeDoes) { check_all(How::at_once); }
TEST(OnnxMicrosoft, AreOneGraph) { check_all(How::as_one_graph); }

TEST(OnnxMicrosoft, NameTheNode) {
  EXPECT_THAT(error_of("QLinearAdd", {{{2}}, one, u8_zero, {{2}}, one, u8_zero, one, u8_zero}),
              HasSubstr("[onnx] input 0 is f32; integers of 8 bits are wanted\n  in node \"y\" "
                        "(com.microsoft.QLinearAdd) of "));
}

// Of 2 hidden values from 3 inputs; weights of that type, with so many scales.
std::vector<Input> lstm_inputs(int weights, std::int64_t scales) {
  std::vector<Input> inputs = {{{2, 1, 3}}, {{1, 3, 8}, weights}, {{1, 2, 8}, is_u8}};
  inputs.insert(inputs.end(), 5, missing);
  for (std::int64_t count : {scales, std::int64_t{1}}) {
    inputs.push_back({{count}});
    inputs.push_back({{count}, is_u8});
  }
  return inputs;
}

TEST(OnnxMicrosoft, RefuseIntegersThatDoNotFit) {
  const Input two = {{2}}, i8_matrix = {{3, 4}, is_i8}, i8_zero = {{}, is_i8, 0};
  const Input wide = {{5, 6}, is_u8}, image = {{1, 2, 4, 4}, is_u8};
  struct Wrong {
    const char* op;
    std::vector<Input> inputs;
    std::string attributes;
    const char* says;
  };
  const std::vector<Wrong> all = {
      {"QLinearAdd",
       {u8_matrix, two, u8_zero, u8_matrix, one, u8_zero, one, u8_zero},
       "",
       "input 1, a scale, is f32 [2]; one f32 is wanted"},
      {"QLinearMul",
       {u8_matrix, one, i8_zero, u8_matrix, one, u8_zero, one, u8_zero},
       "",
       "input 2, a zero point, is i8 [scalar]; one u8 is wanted"},
      {"QLinearAdd",
       {u8_matrix, one, u8_zero, i8_matrix, one, i8_zero, one, u8_zero},
       "",
       "operands are u8 and i8"},
      {"QLinearAdd", {u8_matrix, one, u8_zero, u8_matrix, one, u8_zero}, "", "input 6 is missing"},
      {"QLinearSoftmax", {u8_matrix, one, u8_zero, one, u8_zero}, "", "\"opset\" is missing"},
      {"QLinearSoftmax",
       {u8_zero, one, u8_zero, one, u8_zero},
       attribute("opset", 13),
       "a softmax of one number has no axis"},
      {"QLinearConcat", {one, u8_zero, u8_matrix, one}, attribute("axis", 0), "4 inputs; a scale"},
      {"QLinearConcat",
       {one, u8_zero, u8_matrix, one, u8_zero},
       attribute("axis", 5),
       "axis 5 is outside the rank 2"},
      {"QLinearWhere",
       {u8_matrix, u8_matrix, one, u8_zero, u8_matrix, one, u8_zero, one, u8_zero},
       "",
       "the condition is u8; bool is wanted"},
      {"QLinearAveragePool",
       {u8_matrix, one, u8_zero, one, u8_zero},
       "",
       "[3x4] has no axes besides batch and channels"},
      {"QLinearAveragePool",
       {image, one, u8_zero, one, u8_zero},
       integers("kernel_shape", {2, 2}) + attribute("ceil_mode", 1) +
           attribute("count_include_pad", 1),
       "\"ceil_mode\" is not supported where padding counts"},
      {"QGemm", {image, one, u8_zero, u8_matrix, one, u8_zero}, "", "are no matrices"},
      {"QGemm", {u8_matrix, one, u8_zero, wide, one, u8_zero}, "", "[3x4] times [5x6]"},
      {"QGemm",
       {u8_matrix, one, u8_zero, u8_matrix, two, u8_zero},
       attribute("transB", 1),
       "input 4, a scale or zero point, is [2]; one is wanted, or one for each of 3 columns"},
      {"QGemm",
       {u8_matrix, one, u8_zero, u8_matrix, one, i8_zero},
       attribute("transB", 1),
       "input 5, a zero point, is i8; u8 is wanted"},
      {"QGemm",
       {u8_matrix, one, u8_zero, u8_matrix, one, u8_zero, two},
       attribute("transB", 1),
       "[scaled_gemm] what is added is f32 [2] to [3x3]"},
      {"QGemm",
       {u8_matrix, one, u8_zero, u8_matrix, one, u8_zero, {{1, 3, 3}, is_i32}},
       attribute("transB", 1),
       "[scaled_gemm] what is added is i32 [1x3x3] to [3x3]"},
      {"QGemm",
       {u8_matrix, one, u8_zero, u8_matrix, one, u8_zero, missing, one},
       attribute("transB", 1),
       "a scale or a zero point alone"},
      {"MatMulIntegerToFloat",
       {u8_matrix, {{4, 5}, is_u8}, one, one, u8_zero, u8_zero, two},
       "",
       "a bias [2] for [3x5]"},
      {"MatMulIntegerToFloat",
       {u8_matrix, {{4, 5}, is_u8}, one, u8_zero},
       "",
       "input 3, a scale, is u8; f32 is wanted"},
      {"DynamicQuantizeMatMul", {u8_matrix, u8_matrix, one}, "", "x is u8"},
      {"DynamicQuantizeLSTM", lstm_inputs(is_float, 1), attribute("hidden_size", 2),
       "input 1 is f32 [1x3x8]; integers of 8 bits"},
      {"DynamicQuantizeLSTM", lstm_inputs(is_u8, 3), attribute("hidden_size", 2),
       "a scale [3] and a zero point [3] of weights [1x3x8]"},
  };
  for (const Wrong& each : all)
    EXPECT_THAT(error_of(each.op, each.inputs, each.attributes), HasSubstr(each.says)) << each.op;
}

TEST(OnnxMicrosoft, RefuseWhatFusedOperatorsDoNotTake) {
  const Input x = {{2, 3, 8}}, last = {{8}}, seven = {{7}}, matrix = {{3, 4}};
  const Input ids = {{2, 3}, is_i32}, table = {{5, 8}}, image = {{1, 2, 4, 4}},
              kernel = {{3, 2, 3, 3}};
  struct Wrong {
    const char* op;
    std::vector<Input> inputs;
    std::string attributes;
    const char* says;
  };
  const std::vector<Wrong> all = {
      {"BiasGelu", {x, seven}, "", "a bias [7] for [2x3x8]"},
      {"BiasGelu", {x}, "", "input 1 is missing"},
      {"FusedGemm", {x, matrix}, "", "[2x3x8] and [3x4] are no matrices"},
      {"FusedGemm",
       {matrix, {{4, 2}}},
       text("activation", "Mish"),
       "\"activation\" is not one of Relu, Sigmoid"},
      {"FusedGemm", {matrix, {{4, 2}}}, text("activation", "Clip"), "is Clip, which is not"},
      {"FusedGemm",
       {matrix, {{4, 2}}},
       text("activation", "Relu") + real("activation_gamma", 2),
       "\"activation_gamma\" is of an activation"},
      {"FusedConv", {image, kernel, missing, x}, "", "[2x3x8] is added to [1x3x2x2]"},
      {"FusedConv",
       {image, kernel},
       text("activation", "Clip") + floats("activation_params", {1}),
       "\"activation_params\" has 1 numbers for the activation Clip; it takes 2"},
      {"FusedMatMul", {last, matrix}, attribute("transA", 1), "[8] is not a matrix"},
      {"SkipLayerNormalization", {x, {{3, 3, 8}}, last}, "", "a skip [3x3x8] to [2x3x8]"},
      {"SkipLayerNormalization", {x, x, seven}, "", "gamma [7] for [2x3x8]"},
      {"SkipLayerNormalization", {x, x, last, seven}, "", "beta [7] for [2x3x8]"},
      {"SkipLayerNormalization", {last, last, last}, "", "input 0 is [8]; [batch, steps, size]"},
      {"SkipSimplifiedLayerNormalization", {x, x, seven}, "", "gamma [7] for [2x3x8]"},
      {"SimplifiedLayerNormalization", {x, seven}, "", "a scale [7] for the axes from 2 on"},
      {"EmbedLayerNormalization",
       {x, missing, table, table, missing, last, last},
       "",
       "ids are [2x3x8]; [batch, steps] is wanted"},
      {"EmbedLayerNormalization",
       {ids, missing, last, table, missing, last, last},
       "",
       "input 2 is [8] and ids are i32 [2x3]"},
      {"EmbedLayerNormalization",
       {{{1, 1}, is_i32, -1}, missing, table, table, missing, last, last},
       "",
       "id -1 is outside a table of 5 rows"},
      {"EmbedLayerNormalization",
       {ids, ids, table, table, missing, last, last},
       "",
       "ids of segments or their table alone"},
      {"EmbedLayerNormalization",
       {ids, {{2, 2}, is_i32}, table, table, table, last, last},
       "",
       "segments [2x2] for ids [2x3]"},
      {"EmbedLayerNormalization",
       {ids, missing, table, table, missing, last, last, {{2, 2}, is_i32}},
       "",
       "a mask [2x2] for ids [2x3]"},
      {"EmbedLayerNormalization",
       {ids, missing, table, table, missing, last, last, missing, {{2, 2}, is_i32}},
       "",
       "places [2x2] for ids [2x3]"},
      {"Inverse", {matrix}, "", "[3x4] are no square matrices"},
      {"Unique", {matrix}, "", "[3x4] is no list"},
      {"ExpandDims", {matrix, {{}, is_i32, 9}}, "", "axis 9 is outside the rank 3"},
  };
  for (const Wrong& each : all)
    EXPECT_THAT(error_of(each.op, each.inputs, each.attributes), HasSubstr(each.says)) << each.op;
  EXPECT_THAT(error_of("SkipLayerNormalization", {x, x, last}, "", "com.microsoft", {"y", "mean"}),
              HasSubstr("results 1 and 2, the mean and the inverse deviation, are read"));
}

}  // namespace
}  // namespace tilewright::microsoft_test
