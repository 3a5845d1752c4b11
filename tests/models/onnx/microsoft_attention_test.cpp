// Attention of com.microsoft with inputs and attributes that do not fit: the message for each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/onnx/onnx_module.h"
#include "tests/models/onnx/files.h"
#include "tests/models/onnx/microsoft_node.h"
#include "tests/scratch_folder.h"

namespace tilewright::microsoft_attention_test {
namespace {

using namespace testing_microsoft;

using ::testing::HasSubstr;
using namespace testing::onnx;

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

}  // namespace
}  // namespace tilewright::microsoft_attention_test
