#include "models/decoder/decoder_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::decoder_config_test {
namespace {

using ::testing::HasSubstr;

// A right configuration with members added or replaced (the last text before a name wins here).
std::string config_text(std::string_view name = "", std::string_view value = "") {
  std::pair<std::string_view, std::string_view> members[] = {
      {"model_type", "\"llama\""},       {"hidden_act", "\"silu\""},
      {"num_hidden_layers", "2"},        {"hidden_size", "64"},
      {"intermediate_size", "128"},      {"num_attention_heads", "8"},
      {"num_key_value_heads", "4"},      {"vocab_size", "512"},
      {"max_position_embeddings", "256"}};
  std::string text = "{";
  bool replaced = name.empty();
  for (auto [key, old] : members) {
    text += concat(text.size() > 1 ? "," : "", "\"", key, "\":", key == name ? value : old);
    replaced |= key == name;
  }
  if (!replaced) text += concat(",\"", name, "\":", value);
  return text + "}";
}
std::string error_with(std::string_view name, std::string_view value) {
  return error_of([&] { parse_decoder_config(config_text(name, value), "c"); });
}

TEST(DecoderConfig, ReadsSizesAndFillsInWhatIsLeftOut) {
  DecoderConfig config = parse_decoder_config(config_text("eos_token_id", "[2, 3]"), "c");
  EXPECT_EQ(config.head_size, 8);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.ropes.at(0).theta, 10000);
  EXPECT_EQ(config.bos, -1);
  EXPECT_EQ(config.eos, (std::vector<std::int64_t>{2, 3}));
  EXPECT_FALSE(config.tied_embeddings);
  EXPECT_EQ(parse_decoder_config(config_text("head_dim", "16"), "c").head_size, 16);
  EXPECT_EQ(parse_decoder_config(config_text("rope_scaling", "null"), "c").layers, 2);
}

TEST(DecoderConfig, RefusesNumbersOutsideTheirLimits) {
  EXPECT_THAT(
      error_with("num_hidden_layers", "1025"),
      HasSubstr("[decoder_config] c: num_hidden_layers is 1025; from 1 to 1024 is allowed"));
  EXPECT_THAT(error_with("num_hidden_layers", "0"), HasSubstr("is 0; from 1"));
  EXPECT_THAT(error_with("hidden_size", "65544"), HasSubstr("hidden_size is 65544"));
  EXPECT_THAT(error_with("vocab_size", "4194305"), HasSubstr("vocab_size is 4194305"));
  EXPECT_THAT(error_with("intermediate_size", "-5"), HasSubstr("intermediate_size is -5"));
  EXPECT_THAT(error_with("max_position_embeddings", "0"), HasSubstr("is 0; from 1"));
  EXPECT_THAT(error_with("num_attention_heads", "0"), HasSubstr("num_attention_heads is 0"));
  EXPECT_THAT(error_with("rms_norm_eps", "0"), HasSubstr("rms_norm_eps is 0"));
  EXPECT_THAT(error_with("rope_theta", "-1"), HasSubstr("rope_theta is -1"));
  DecoderConfig config = decoder_config("tiny");
  config.eos = {1, 900};
  EXPECT_THAT(error_of([&] { check_config(config, "c"); }), HasSubstr("eos_token_id is 900"));
  config.bos = 64;
  EXPECT_THAT(error_of([&] { check_config(config, "c"); }), HasSubstr("bos_token_id is 64"));
}

TEST(DecoderConfig, RefusesSizesThatDoNotDivide) {
  EXPECT_THAT(error_with("hidden_size", "60"),
              HasSubstr("hidden_size 60 is not a multiple of 8 attention heads"));
  EXPECT_THAT(error_with("num_key_value_heads", "3"),
              HasSubstr("8 attention heads are not a multiple of 3 key and value heads"));
  EXPECT_THAT(error_with("head_dim", "7"), HasSubstr("needs an even one"));
}

TEST(DecoderConfig, RefusesFormsThatContradictThemselves) {
  auto error = [](auto change) {
    DecoderConfig config = decoder_config("tiny");
    change(config);
    return error_of([&] { check_config(config, "c"); });
  };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  EXPECT_THAT(error([](DecoderConfig& c) { c.norm_eps = 0; }),
              HasSubstr("[decoder_config] c: the epsilon of the norms is 0; above 0"));
  EXPECT_THAT(error([=](DecoderConfig& c) { c.attention_scale = infinite; }),
              HasSubstr("the scale of the attention is inf; a finite number is needed"));
  EXPECT_THAT(error([](DecoderConfig& c) { c.logit_cap = -1; }), HasSubstr("a cap is -1"));
  EXPECT_THAT(error([](DecoderConfig& c) { c.layer_attention.resize(1); }),
              HasSubstr("the kinds of 1 layers are given; there are 2 layers"));
  EXPECT_THAT(error([](DecoderConfig& c) {
                c.layer_attention = {{}, {.rope = 1}};
              }),
              HasSubstr("a layer has a window of 0 and the rotary positions 1; 0 or more, and less "
                        "than 1, are allowed"));
  EXPECT_THAT(error([](DecoderConfig& c) { c.head_bias = true; }),
              HasSubstr("the output matrix has a bias and is the embedding's"));
}

TEST(DecoderConfig, RefusesValuesOfTheWrongType) {
  EXPECT_THAT(error_with("hidden_size", "\"64\""),
              HasSubstr("hidden_size is \"64\"; an integer is needed"));
  EXPECT_THAT(error_with("hidden_size", "1e3"), HasSubstr("an integer is needed"));
  EXPECT_THAT(error_with("vocab_size", "null"), HasSubstr("has no vocab_size"));
  EXPECT_THAT(error_with("tie_word_embeddings", "1"), HasSubstr("true or false is needed"));
  EXPECT_THAT(error_with("rms_norm_eps", "[]"), HasSubstr("is an array; a number is needed"));
  EXPECT_THAT(error_with("eos_token_id", "[\"x\"]"), HasSubstr("holds \"x\""));
  EXPECT_THAT(error_with("eos_token_id", "[2, -7]"),
              HasSubstr("eos_token_id is -7; an id is 0 or more, and -1 stands for none"));
  EXPECT_THAT(error_with("eos_token_id", "-2"), HasSubstr("eos_token_id is -2; an id"));
  EXPECT_THAT(error_with("bos_token_id", "-2"), HasSubstr("bos_token_id is -2; an id"));
}

TEST(DecoderConfig, RefusesTextThatIsNotOneObject) {
  auto error = [](std::string_view text) {
    return error_of([&] { parse_decoder_config(text, "c"); });
  };
  EXPECT_THAT(error("[]"), HasSubstr("is an array; an object is needed"));
  EXPECT_THAT(error("{\"a\":1,\"a\":2}"), HasSubstr("the key \"a\" appears twice"));
  EXPECT_THAT(error(std::string(1000, '[')), HasSubstr("nested deeper than 16 levels"));
  EXPECT_THAT(error(std::string(2 << 20, ' ')), HasSubstr("at most 1048576 are allowed"));
  EXPECT_THAT(error("nul"), HasSubstr("not valid JSON"));
}

TEST(DecoderConfig, KnowsItsNamedSizes) {
  for (std::string_view name : decoder_config_names())
    EXPECT_GT(decoder_config(name).parameter_count(), 0) << name;
  EXPECT_EQ(decoder_config("llama2_7b").parameter_count(), 6738415616);
  EXPECT_THAT(error_of([] { decoder_config("huge"); }),
              HasSubstr("there is no configuration \"huge\"; there are tiny,"));
  EXPECT_THAT(error_of([] { decoder_config("huge"); }), HasSubstr(", gpt2, gpt2_medium"));
}

}  // namespace
}  // namespace tilewright::decoder_config_test
