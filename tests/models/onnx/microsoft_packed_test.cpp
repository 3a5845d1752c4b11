// Packed weights and tables of com.microsoft that do not fit: the message for each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "tests/models/onnx/files.h"
#include "tests/models/onnx/microsoft_node.h"
#include "tests/scratch_folder.h"

namespace tilewright::microsoft_packed_test {
namespace {

using namespace testing_microsoft;

using ::testing::HasSubstr;
using namespace testing::onnx;

std::string packed_attributes(std::int64_t k, std::int64_t n, std::int64_t bits,
                              std::int64_t block) {
  return attribute("K", k) + attribute("N", n) + attribute("bits", bits) +
         attribute("block_size", block);
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
}  // namespace tilewright::microsoft_packed_test
