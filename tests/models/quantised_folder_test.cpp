// Quantised weights of folders that are damaged or of an unknown kind: the messages name the
// tensor or the member, its value, and what would be right. Values are compared in
// published_test.cpp.
#include "models/formats/quantised_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/formats/stored_parts.h"
#include "tests/errors.h"

namespace tilewright::quantised_folder_test {
namespace {

using ::testing::HasSubstr;
using Tensors = std::map<std::string, Tensor>;

template <typename T>
Tensor filled(const Shape& shape, T value) {
  return Tensor::from(std::vector<T>(static_cast<std::size_t>(element_count(shape)), value), shape);
}

// `config` is the members of quantization_config.
Weights read(const Tensors& tensors, const std::string& config) {
  const std::string text = R"({"dtype": "float16", "quantization_config": {)" + config + "}}";
  return dequantised_weights(Weights::of(tensors),
                             ConfigFields(text, formats::formats_operation, "c"));
}
std::string error_with(const Tensors& tensors, const std::string& config) {
  return error_of([&] { read(tensors, config); });
}

const std::string gptq = R"("quant_method": "gptq", "bits": 4, "group_size": 32)";
Tensors gptq_tensors() {
  return {{"a.qweight", filled<std::int32_t>({8, 8}, 0x76543210)},
          {"a.qzeros", filled<std::int32_t>({2, 1}, 0x33333333)},
          {"a.scales", filled<float>({2, 8}, 0.5F)}};
}

TEST(QuantisedFolder, ReadsGptq) {
  const Weights weights = read(gptq_tensors(), gptq);
  EXPECT_EQ(weights.names(), std::vector<std::string>{"a.weight"});
  const Tensor weight = weights.tensor("a.weight");
  ASSERT_EQ(weight.shape(), Shape({8, 64}));
  // Zero points are stored less 1: codes 0 to 7 are (code - 4) / 2.
  for (std::int64_t i = 0; i < weight.count(); ++i)
    ASSERT_EQ(weight.to_vector<float>()[static_cast<std::size_t>(i)],
              static_cast<float>(i % 8 - 4) / 2);
}

TEST(QuantisedFolder, ReadsTwoBitsAndOtherZeroPoints) {
  Tensors tensors = {{"a.qweight", filled<std::int32_t>({2, 16}, 0x1b)},
                     {"a.qzeros", filled<std::int32_t>({1, 1}, 0)},
                     {"a.scales", filled<float>({1, 16}, 2.F)}};
  const std::string config =
      R"("quant_method": "gptq", "bits": 2, "group_size": -1, "checkpoint_format": "gptq_v2")";
  const auto values = read(tensors, config).tensor("a.weight").to_vector<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 5),
            (std::vector<float>{6, 4, 2, 0, 0}));
}

TEST(QuantisedFolder, NamesAnUnknownMethodAndTheKnownOnes) {
  EXPECT_THAT(error_with({}, R"("quant_method": "magic")"),
              HasSubstr("[quantised_folder] c: quantization_config.quant_method is magic; known "
                        "are bitsandbytes, gptq, awq, compressed-tensors, fp8, mxfp4"));
  EXPECT_THAT(error_with({}, ""), HasSubstr("has no quantization_config.quant_method"));
  EXPECT_THAT(
      error_of([] {
        dequantised_weights(
            {}, ConfigFields(R"({"dtype": "int8", "quantization_config": {"quant_method": "awq"}})",
                             formats::formats_operation, "c"));
      }),
      HasSubstr("c: dtype is int8; known are float16, bfloat16, float32"));
}

TEST(QuantisedFolder, NamesMissingPartsAndWrongShapes) {
  Tensors tensors = gptq_tensors();
  tensors.erase("a.scales");
  EXPECT_THAT(error_with(tensors, gptq),
              HasSubstr("there is no tensor \"a.scales\"; f16 or bf16 or f32 2x8 is needed to "
                        "decode the weight beside it"));
  tensors["a.scales"] = filled<float>({1, 8}, 1.F);
  EXPECT_THAT(error_with(tensors, gptq),
              HasSubstr("tensor \"a.scales\" is f32 1x8; f16 or bf16 or f32 2x8 is needed"));
  tensors = gptq_tensors();
  tensors["a.qzeros"] = filled<float>({2, 1}, 1.F);
  EXPECT_THAT(error_with(tensors, gptq), HasSubstr("tensor \"a.qzeros\" is f32 2x1; i32 2x1"));
  tensors["a.qweight"] = filled<std::int32_t>({8}, 1);
  EXPECT_THAT(error_with(tensors, gptq), HasSubstr("is 8; a matrix of words is needed"));
  tensors["a.qweight"] = filled<std::int32_t>({8, 3}, 1);
  EXPECT_THAT(error_with(tensors, gptq), HasSubstr("is of 3 columns; a multiple of 8 is needed"));
  tensors = gptq_tensors();
  tensors["a.g_idx"] = filled<std::int32_t>({64}, 2);
  const Weights weights = read(tensors, gptq);
  EXPECT_THAT(error_of([&] { weights.tensor("a.weight"); }),
              HasSubstr("tensor \"a.g_idx\" has the group 2 at 0; there are 2"));
}

TEST(QuantisedFolder, NamesSettingsThatAreNotSupported) {
  const std::pair<const char*, const char*> refused[] = {
      {R"("quant_method": "gptq", "bits": 3, "group_size": 32)", "bits is 3; 2, 4 or 8 is needed"},
      {R"("quant_method": "gptq", "bits": 4, "group_size": 0)", "group_size is 0; from 1 to"},
      {R"("quant_method": "gptq", "bits": 4, "group_size": 32, "checkpoint_format": "marlin")",
       "checkpoint_format is marlin; gptq or gptq_v2 is needed"},
      {R"("quant_method": "awq", "bits": 8, "group_size": 32)", "bits is 8; 4 is needed"},
      {R"("quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemv")",
       "version is gemv; gemm is needed"},
      {R"("quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": false)",
       "zero_point is false; true is needed"},
      {R"("quant_method": "fp8", "weight_block_size": [128])",
       "weight_block_size is of 1 numbers; two numbers above 0 are needed"},
      {R"("quant_method": "compressed-tensors")", "config_groups is missing; an object is needed"},
      {R"("quant_method": "compressed-tensors", "config_groups": {})",
       "config_groups is of 0 groups; one group is needed"},
      {R"("quant_method": "compressed-tensors", "config_groups": {"g": {}})",
       "config_groups.g.weights is missing; an object is needed"},
      {R"("quant_method": "compressed-tensors", "config_groups":
          {"g": {"weights": {"num_bits": 3}}})",
       "num_bits is 3; 4 or 8 is needed"},
      {R"("quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 8,
          "strategy": "block", "block_structure": [0, 1]}}})",
       "two numbers above 0 are needed"}};
  for (const auto& [config, message] : refused)
    EXPECT_THAT(error_with({}, config), HasSubstr(message)) << config;
}

TEST(QuantisedFolder, NamesStatesOfBitsandbytesThatAreWrong) {
  const std::string name = "a.weight", mark = ".quant_state.bitsandbytes__nf4";
  auto with_state = [&](const std::string& text) {
    return Tensors{
        {name, filled<std::uint8_t>({32, 1}, 0)},
        {name + mark, Tensor::from(std::vector<std::uint8_t>(text.begin(), text.end()))}};
  };
  const std::string config = R"("quant_method": "bitsandbytes")";
  const std::pair<const char*, const char*> refused[] = {
      {R"({"quant_type": "nf5"})", "quant_type is nf5; nf4 or fp4 is needed"},
      {R"({"quant_type": "nf4", "blocksize": 0})", "blocksize is 0; from 1 to 65536"},
      {R"({"quant_type": "nf4", "blocksize": 64, "dtype": "int8"})",
       "dtype is int8; known are float16, bfloat16, float32"},
      {R"({"quant_type": "nf4", "blocksize": 64, "shape": [4]})",
       "shape is 4; two sizes above 0 are needed"},
      {R"({"quant_type": "nf4", "blocksize": 64, "shape": [2, 64]})",
       "tensor \"a.weight\" is u8 32x1; u8 64x1 is needed"},
      {"{", "[quantised_folder] a.weight.quant_state.bitsandbytes__nf4"}};
  for (const auto& [state, message] : refused)
    EXPECT_THAT(error_with(with_state(state), config), HasSubstr(message)) << state;
  Tensors tensors = with_state("");
  tensors[name + mark] = filled<std::uint8_t>({70'000}, ' ');
  EXPECT_THAT(error_with(tensors, config), HasSubstr("has 70000 bytes; a JSON text of 65536"));
  tensors = {{"b.weight", filled<std::int8_t>({2, 4}, 1)},
             {"b.SCB", filled<float>({2}, 1.F)},
             {"b.weight_format", filled<std::uint8_t>({}, 1)}};
  EXPECT_THAT(error_with(tensors, config), HasSubstr("\"b.weight_format\" is 1; 0, for rows"));
}

TEST(QuantisedFolder, NamesScalesThatDoNotFit) {
  const std::string config = R"("quant_method": "compressed-tensors", "config_groups":
      {"g": {"weights": {"num_bits": 4, "strategy": "group"}}})";
  Tensors tensors = {{"a.weight", filled<std::int8_t>({4, 8}, 1)},
                     {"a.weight_scale", filled<float>({3, 1}, 1.F)}};
  EXPECT_THAT(error_with(tensors, config),
              HasSubstr("tensor \"a.weight_scale\" is 3x1; of a weight 4x8 [1], [4, 1], or"));
  tensors["a.weight"] = filled<std::int8_t>({4}, 1);
  EXPECT_THAT(error_with(tensors, config), HasSubstr("\"a.weight\" is 4; a matrix is needed"));
  tensors = {{"a.weight_packed", filled<std::int32_t>({4, 1}, 1)},
             {"a.weight_shape", Tensor::from(std::vector<std::int64_t>{4, 9})},
             {"a.weight_scale", filled<float>({4, 3}, 1.F)}};
  EXPECT_THAT(error_with(tensors, config),
              HasSubstr("\"a.weight_shape\" is [4, 9]; the words are 4x1, of 8 weights each"));
  tensors["a.weight_shape"] = Tensor::from(std::vector<std::int64_t>{4, 8});
  EXPECT_THAT(error_with(tensors, config),
              HasSubstr("is 4x3; [4, groups] is needed, of equally many of the 8 columns"));
  tensors = {{"a_blocks", filled<std::uint8_t>({2, 3}, 1)}};
  EXPECT_THAT(error_with(tensors, R"("quant_method": "mxfp4")"),
              HasSubstr("\"a_blocks\" is 2x3; [experts, out, in / 32, 16] is needed"));
}

TEST(QuantisedFolder, NamesATensorThatIsThereTwice) {
  Tensors tensors = gptq_tensors();
  tensors["a.weight"] = filled<float>({8, 64}, 1.F);
  EXPECT_THAT(error_with(tensors, gptq),
              HasSubstr("tensor \"a.weight\" is there, and is computed"));
}

}  // namespace
}  // namespace tilewright::quantised_folder_test
