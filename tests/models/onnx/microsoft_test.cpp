// Operators of ONNX Runtime's own domain, com.microsoft: what it gives for them, at once and as one
// graph, and errors for what they do not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "tests/models/onnx/cases.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::microsoft_test {
namespace {

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

// A tensor of zeros, but where it has one element, which is given.
struct Input {
  std::vector<std::int64_t> sizes;
  int dtype = is_float;
  std::int64_t value = 1;
  bool is_missing = false;
};
constexpr int is_u8 = 2, is_i8 = 3, is_i32 = 6;
const Input missing = {{}, is_float, 0, true};

std::string error_of(std::string_view op, const std::vector<Input>& inputs,
                     const std::string& attributes = {}, std::string_view domain = "com.microsoft",
                     const std::vector<std::string>& outputs = {"y"}) {
  GraphParts parts;
  std::vector<std::string> names;
  for (const Input& input : inputs) {
    names.push_back(input.is_missing ? "" : concat("x", names.size()));
    if (input.is_missing) continue;
    std::int64_t count = 1;
    for (std::int64_t size : input.sizes) count *= size;
    const std::int64_t element = input.dtype == is_float || input.dtype == is_i32 ? 4
                                 : input.dtype == is_int64                        ? 8
                                                                                  : 1;
    std::string raw(static_cast<std::size_t>(count * element), '\0');
    if (count == 1 && input.dtype != is_float)
      for (std::size_t i = 0; i < raw.size(); ++i)
        raw[i] = static_cast<char>(static_cast<std::uint64_t>(input.value) >> (8 * i));
    parts.tensors.push_back(tensor(names.back(), input.sizes, raw, input.dtype));
  }
  parts.nodes = {node(op, names, outputs, attributes + bytes(7, domain))};
  for (const std::string& output : outputs) parts.outputs.push_back(bytes(1, output));
  ScratchFolder folder;
  try {
    load_onnx(folder.write("model.onnx", model(graph_of(parts))))->forward({});
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

const Input one = {{}}, u8_zero = {{}, is_u8, 0}, u8_matrix = {{3, 4}, is_u8};

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

std::string packed_attributes(std::int64_t k, std::int64_t n, std::int64_t bits,
                              std::int64_t block) {
  return attribute("K", k) + attribute("N", n) + attribute("bits", bits) +
         attribute("block_size", block);
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

TEST(OnnxMicrosoft, RefuseAttentionThatDoesNotFit) {
  const Input x = {{2, 3, 8}}, weight = {{8, 24}}, heads_of_4 = {{2, 2, 5, 4}};
  const Input lengths = {{2}, is_i32}, three = {{}, is_i32, 3};
  const std::string two = attribute("num_heads", 2), grouped = two + attribute("kv_num_heads", 2);
  struct Wrong {
    const char* op;
    std::vector<Input> inputs;
    std::string attributes;
    const char* says;
  };
  const std::vector<Wrong> all = {
      {"Attention", {x, weight}, "", "\"num_heads\" is missing"},
      {"Attention", {x, weight}, attribute("num_heads", 0), "\"num_heads\" is 0"},
      {"Attention", {x, weight}, attribute("num_heads", 3), "[2x3x8] in 3 heads"},
      {"Attention", {x, {{7, 24}}}, two, "x [2x3x8] times a weight [7x24]"},
      {"Attention", {x, weight, {{7}}}, two, "a bias [7] for [2x3x24]"},
      {"Attention", {x, weight}, two + attribute("do_rotary", 1), "\"do_rotary\" is not supported"},
      {"Attention",
       {x, weight},
       two + integers("qkv_hidden_sizes", {8, 4, 12}),
       "values of the sizes [8x4x12] of [2x3x24]"},
      {"Attention",
       {x, weight},
       two + integers("qkv_hidden_sizes", {INT64_MAX, INT64_MAX, 26}),
       "queries, keys and values of the sizes ["},
      {"Attention", {x, weight, missing, {{2, 9}, is_i32}}, two, "a mask [2x9] for 2 rows of 3"},
      {"Attention", {x, weight, missing, {{2, 3}}}, two, "a mask, is f32; i32 is wanted"},
      {"Attention", {x, weight, missing, missing, x}, two, "former keys and values [2x3x8]"},
      {"Attention",
       {x, weight, missing, missing, {{2, 2, 2, 3, 5}}},
       two,
       "former keys [2x2x3x5] before [2x2x3x4]"},
      {"Attention",
       {x, weight, missing, missing, missing, {{1, 2, 3, 9}}},
       two,
       "a bias of scores [1x2x3x9]"},
      {"QAttention", {weight, weight}, two, "x [8x24] times a weight [8x24]"},
      {"MultiHeadAttention", {x}, two, "packed into one tensor are not supported"},
      {"MultiHeadAttention", {x, heads_of_4, x}, two, "queries [2x2x3x4], keys [2x2x5x4]"},
      {"MultiHeadAttention", {x, x, x, {{7}}}, two, "a bias [7] for queries and keys of 8"},
      {"MultiHeadAttention",
       {x, x, x, missing, missing, missing, heads_of_4},
       two,
       "former keys or values alone"},
      {"MultiHeadAttention",
       {x, {{2, 2, 2, 4}}, {{2, 2, 2, 4}}},
       two + attribute("unidirectional", 1),
       "3 queries and 2 keys"},
      {"RotaryEmbedding", {x, {{1}, is_int64}, {{9}}, {{9}}}, "", "a table of cosines [9]"},
      {"RotaryEmbedding",
       {x, {{1}, is_int64}, {{9, 2}}, {{9, 3}}},
       "",
       "cosines [9x2] and sines [9x3]"},
      {"RotaryEmbedding", {{{8}}, {{1}, is_int64}, {{9, 2}}, {{9, 2}}}, "", "[8]; [batch, steps"},
      {"RotaryEmbedding",
       {x, {{2, 2}, is_int64}, {{9, 2}}, {{9, 2}}},
       "",
       "places [2x2] for [2x3x8]"},
      {"RotaryEmbedding",
       {x, {{1}, is_int64, 7}, {{9, 2}}, {{9, 2}}},
       "",
       "id 9 is outside a table of 9 rows"},
      {"RotaryEmbedding",
       {x, {{1}, is_int64}, {{9, 2}}, {{9, 2}}},
       attribute("rotary_embedding_dim", 6),
       "rotary_embedding_dim 6 with 0 heads"},
      {"GroupQueryAttention",
       {x, x, x, missing, missing, {{3}, is_i32}, three},
       grouped,
       "seqlens_k is i32 [3]; i32 [2] is wanted"},
      {"GroupQueryAttention",
       {x, x, x, missing, missing, lengths, {{}, is_i32, 4}},
       grouped,
       "3 new rows, 4 rows in all and a cache of 0"},
      {"GroupQueryAttention",
       {x, x, x, missing, missing, lengths, {{}, is_i32, 2}},
       grouped,
       "3 new rows, 2 rows in all"},
      {"GroupQueryAttention",
       {x, x, x, heads_of_4, missing, lengths, three},
       grouped,
       "former keys or values alone"},
      {"GroupQueryAttention",
       {x, x, x, {{2, 2, 5, 3}}, {{2, 2, 5, 3}}, lengths, three},
       grouped,
       "former keys or values, is f32 [2x2x5x3] before [2x2x3x4]"},
      {"GroupQueryAttention",
       {x, x, missing, missing, missing, lengths, three},
       grouped,
       "keys or values alone"},
      {"GroupQueryAttention",
       {x, x, x, missing, missing, lengths, three},
       two + attribute("kv_num_heads", 4),
       "2 heads of queries and 4 of keys"},
      {"GroupQueryAttention",
       {x, x, x, missing, missing, lengths, three},
       grouped + attribute("smooth_softmax", 1),
       "\"smooth_softmax\" is not supported"},
      {"GroupQueryAttention",
       {x, x, x, missing, missing, lengths, three},
       grouped + text("k_quant_type", "PER_TENSOR"),
       "\"k_quant_type\" is not NONE"},
      {"GroupQueryAttention",
       {x, x, x, missing, missing, lengths, three},
       grouped + attribute("local_window_size", 0),
       "\"local_window_size\" is 0"},
      {"GroupQueryAttention",
       {x, x, x, missing, missing, lengths, three, missing, missing, missing, missing, {{2}}},
       grouped,
       "input 11 is not supported"},
      {"GroupQueryAttention",
       {x, x, x, missing, missing, lengths, three, {{9, 2}}, {{9, 2}}, {{1, 3}, is_int64}},
       grouped + attribute("do_rotary", 1),
       "position_ids [1x3]; [2x3] are wanted"},
  };
  for (const Wrong& each : all)
    EXPECT_THAT(error_of(each.op, each.inputs, each.attributes), HasSubstr(each.says)) << each.op;
}

TEST(OnnxMicrosoft, RefusePackedWeightsThatDoNotFit) {
  const Input x = {{2, 32}}, weight = {{6, 1, 16}, is_u8}, scales = {{6}};
  const std::string usual = packed_attributes(32, 6, 4, 32);
  auto error = [](const std::vector<Input>& inputs, const std::string& attributes) {
    return error_of("MatMulNBits", inputs, attributes);
  };
  EXPECT_EQ(error({x, weight, scales}, usual), "no error");
  EXPECT_THAT(error({x, weight, scales}, packed_attributes(32, 6, 3, 32)),
              HasSubstr("\"bits\" is not one of 2, 4 and 8"));
  for (std::int64_t block : {std::int64_t{0}, std::int64_t{24}, INT64_MIN, INT64_MAX})
    EXPECT_THAT(error({x, weight, scales}, packed_attributes(32, 6, 4, block)),
                HasSubstr(concat("\"block_size\" is ", block, "; a power of two from 16 on")));
  for (std::int64_t n : {std::int64_t{0}, std::int64_t{-6}, INT64_MAX})
    EXPECT_THAT(error({x, weight, scales}, packed_attributes(32, n, 4, 32)),
                HasSubstr(concat("a weight of N = ", n, " and K = 32")));
  EXPECT_THAT(error({x, weight, scales}, packed_attributes(64, 6, 4, 32)),
              HasSubstr("the weight is u8 [6x1x16]; u8 [6x2x16] are wanted"));
  EXPECT_THAT(error({x, weight, {{5}}}, usual), HasSubstr("scales f32 [5] for a matrix f32"));
  EXPECT_THAT(error({{{2, 31}}, weight, scales}, usual),
              HasSubstr("a matrix [2x31] times a weight of K = 32"));
  EXPECT_THAT(error({x, weight, scales, {{5}, is_u8}}, usual),
              HasSubstr("zero points u8 [5]; u8 [6x1] are wanted"));
  EXPECT_THAT(error({x, weight, scales, {{5}}}, usual),
              HasSubstr("zero points f32 [5]; f32 [6x1] are wanted"));
  EXPECT_THAT(error({x, weight, scales, missing, {{32}, is_i32}}, usual),
              HasSubstr("the order of columns (g_idx), is not supported"));
  EXPECT_THAT(error({x, weight, scales, missing, missing, {{7}}}, usual),
              HasSubstr("a bias [7] for 6 results"));
  EXPECT_THAT(error({x, weight, scales}, usual + attribute("weight_prepacked", 1)),
              HasSubstr("\"weight_prepacked\" is not supported"));
}

TEST(OnnxMicrosoft, RefusePackedTablesThatDoNotFit) {
  const Input table = {{5, 16}, is_u8}, ids = {{2}, is_int64}, scales = {{5, 2}};
  auto error = [](const std::vector<Input>& inputs, const std::string& attributes = {}) {
    return error_of("GatherBlockQuantized", inputs, attribute("block_size", 16) + attributes);
  };
  EXPECT_EQ(error({table, ids, scales}), "no error");
  EXPECT_THAT(error({{{5, 16}}, ids, scales}), HasSubstr("a table f32 [5x16] with scales [5x2]"));
  EXPECT_THAT(error({table, ids, scales}, attribute("gather_axis", 1)),
              HasSubstr("\"gather_axis\" is not 0"));
  EXPECT_THAT(error({table, ids, scales}, attribute("quantize_axis", 0)),
              HasSubstr("\"quantize_axis\" is not the last one"));
  EXPECT_THAT(error({table, ids, {{5, 3}}}), HasSubstr("scales f32 [5x3]; floats [5x2]"));
  EXPECT_THAT(error({table, {{2}}, scales}), HasSubstr("indices are f32; integers are wanted"));
  EXPECT_THAT(error({table, ids, scales, {{5, 2}, is_u8}}),
              HasSubstr("zero points u8 [5x2]; u8 [5x1] are wanted"));
  EXPECT_THAT(error({table, {{1}, is_int64, 5}, scales}), HasSubstr("index 5 is outside 5 places"));
}

}  // namespace
}  // namespace tilewright::microsoft_test
