// Each family by a small configuration of its own: the fields read, the fields refused, and that
// its model does the same row by row as at once. transformers_folder_test compares them with
// transformers.
#include "models/decoder/decoder_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "graph/compile/compile.h"
#include "graph/ir/text.h"
#include "graph/tensor/capture.h"
#include "models/decoder/decoder.h"
#include "models/generate/generate.h"
#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/models/token_ids.h"
#include "tests/setting.h"
#include "tests/tensors.h"

namespace tilewright::decoder_families_test {
namespace {

using testing::at;
using ::testing::HasSubstr;
using testing::ids_of;
using testing::ScratchFolder;

constexpr std::string_view sizes =
    R"("num_hidden_layers":3,"hidden_size":24,"intermediate_size":40,"num_attention_heads":6,
       "vocab_size":50,"max_position_embeddings":32)";
constexpr std::string_view gpt2_sizes =
    R"("n_layer":3,"n_embd":24,"n_head":6,"n_positions":32,"vocab_size":50)";
constexpr std::string_view gptj_sizes =
    R"("n_layer":3,"n_embd":24,"n_head":3,"n_positions":32,"vocab_size":50,"rotary_dim":4)";
constexpr std::string_view gpt_neox_sizes =
    R"("num_hidden_layers":3,"hidden_size":24,"intermediate_size":40,"num_attention_heads":3,
       "vocab_size":50,"max_position_embeddings":32)";
constexpr std::string_view opt_sizes =
    R"("num_hidden_layers":3,"hidden_size":24,"ffn_dim":40,"num_attention_heads":6,
       "vocab_size":50,"max_position_embeddings":32)";

// Members of families with experts.
std::string expert_members(std::string_view family) {
  const bool has_widths = family == "qwen2_moe" || family == "qwen3_moe";
  const bool has_experts = has_widths || family == "mixtral" || family == "olmoe" ||
                           family == "granitemoe" || family == "gpt_oss";
  if (!has_experts) return "";
  std::string text = R"(,"num_local_experts":4,"num_experts_per_tok":2)";
  if (has_widths) text += R"(,"moe_intermediate_size":16,"mlp_only_layers":[1])";
  if (family == "qwen2_moe") text += R"(,"shared_expert_intermediate_size":12)";
  return text;
}

// A configuration of the family with more members.
std::string config_text(std::string_view family, std::string_view more = "") {
  bool is_named_as_gpt = family == "gpt2" || family == "gptj";
  std::string_view own = is_named_as_gpt ? gpt2_sizes : sizes;
  if (family == "gptj") own = gptj_sizes;
  if (family == "gpt_neox") own = gpt_neox_sizes;
  if (family == "opt") own = opt_sizes;
  bool has_heads = !is_named_as_gpt && family != "gpt_neox" && family != "opt";
  return concat("{\"model_type\":\"", family, "\",", own,
                has_heads ? ",\"num_key_value_heads\":2,\"head_dim\":8" : "",
                expert_members(family), more.empty() ? "" : ",", more, "}");
}
DecoderConfig config_of(std::string_view family, std::string_view more = "") {
  return parse_decoder_config(config_text(family, more), "c");
}
std::string error_with(std::string_view family, std::string_view more) {
  return error_of([&] { config_of(family, more); });
}

const std::vector<std::int64_t> text = {3, 17, 5, 44, 30, 21, 8, 9, 40, 2};

std::vector<float> last_logits(Decoder& model, const std::vector<std::int64_t>& ids) {
  Tensor logits = model.forward(ids_of(ids));
  return logits.select(1, logits.size(1) - 1).to_vector<float>();
}

class Family : public ::testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Families, Family, ::testing::ValuesIn(decoder_families()),
                         [](const auto& info) { return std::string(info.param); });

// Algorithms are chosen for a device when a graph is compiled, not when it is captured.
TEST_P(Family, IsCapturedTheSameOnEveryDevice) {
  auto model = random_decoder(config_of(GetParam()), 1);
  auto state = model->new_state();
  auto captured_on = [&](const char* name) {
    Setting device("TILEWRIGHT_DEVICE", name);
    graph::Capture capture;
    const Tensor ids = capture.placeholder(i64, {1, 10}), position = capture.placeholder(i64, {1});
    return graph::print(capture.finish({model->decode_last(ids, position, *state)}).graph);
  };
  const std::string host = captured_on("cpu");
  EXPECT_EQ(captured_on("emulated:sm_80"), host);
  EXPECT_EQ(captured_on("emulated:sm_90a"), host);
}

TEST_P(Family, HasTheParametersOfItsConfiguration) {
  DecoderConfig config = config_of(GetParam());
  EXPECT_EQ(config.family, GetParam());
  EXPECT_EQ(random_decoder(config, 1)->parameter_count(), config.parameter_count());
}

// The cache, the positions, masks, windows and caps at work.
TEST_P(Family, RowByRowGivesTheLogitsOfAllRowsAtOnce) {
  DecoderConfig config = config_of(GetParam());
  for (LayerAttention& own : config.layer_attention)
    if (own.window > 0) own.window = 4;
  auto model = random_decoder(config, 1);
  auto state = model->new_state();
  auto logits = model->forward(ids_of(text)).to_vector<float>();
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto row = model->decode_last(ids_of({text[i]}), at(static_cast<std::int64_t>(i)), *state)
                   .to_vector<float>();
    for (std::size_t j = 0; j < row.size(); ++j)
      ASSERT_NEAR(row[j], logits[i * row.size() + j], 1e-4) << "row " << i << ", logit " << j;
  }
}

TEST_P(Family, GivesNearlyTheSameLogitsInBf16) {
  DecoderConfig config = config_of(GetParam());
  auto wide = random_decoder(config, 1), narrow = random_decoder(config, 1, {.dtype = bf16});
  Compiled step = compile(*narrow, {.fullgraph = true});
  auto expected = wide->forward(ids_of(text)).to_vector<float>();
  auto actual = step(ids_of(text)).to_vector<float>();
  EXPECT_LT(relative_difference(actual, expected), 0.05);
}

TEST_P(Family, RefusesAMemberThatItDoesNotKnow) {
  EXPECT_THAT(error_with(GetParam(), "\"use_magic\":0.5"),
              HasSubstr("[decoder_config] c: use_magic is 0.5, which this library does not use"));
  EXPECT_EQ(error_with(GetParam(),
                       "\"use_magic\":null,\"torch_dtype\":\"bfloat16\","
                       "\"transformers_version\":\"4.40.0\",\"use_cache\":true"),
            "no error");
}

TEST(DecoderFamilies, AreNamedWhereOneIsNotKnown) {
  const std::string error = error_with("bert", "");
  EXPECT_THAT(error, HasSubstr("model_type is \"bert\"; supported are \"llama\", \"mistral\", "
                               "\"qwen2\", \"qwen3\", \"gpt2\""));
  EXPECT_THAT(error,
              HasSubstr("; export a model of another kind, by torch.export to a .pt2 file or "
                        "to ONNX, and load that (tilewright run FILE)"));
}

TEST(DecoderFamilies, RefuseValuesThatAreNotSupportedByName) {
  const std::tuple<const char*, const char*, const char*> refused[] = {
      {"llama", "\"hidden_act\":\"gelu_10\"", "hidden_act is \"gelu_10\"; supported are \"silu\""},
      {"llama", "\"is_encoder_decoder\":true", "is_encoder_decoder is true; supported is false"},
      {"llama", "\"pruned_heads\":{\"0\":[1]}", "pruned_heads.0 is an array, which"},
      {"qwen3_moe", "\"decoder_sparse_step\":0", "decoder_sparse_step is 0; from 1 to 1024"},
      {"mistral", "\"sliding_window\":0", "sliding_window is 0; from 1 to"},
      {"qwen2", "\"use_mrope\":true", "use_mrope is true; supported is false"},
      {"qwen2", "\"layer_types\":[\"full_attention\"]", "layer_types names 1 layers; there are 3"},
      {"qwen3", "\"layer_types\":[\"chunked_attention\",\"a\",\"b\"]",
       "layer_types holds \"chunked_attention\"; known are \"full_attention\" and"},
      {"qwen3", "\"layer_types\":3", "layer_types is 3; a list of strings is needed"},
      {"qwen3", "\"layer_types\":[1]", "layer_types holds 1; strings are needed"},
      {"phi3", R"("rope_scaling":{"type":"longrope","short_factor":4})",
       "rope_scaling.short_factor is 4; a list of numbers is needed"},
      {"phi3", R"("rope_scaling":{"type":"longrope","short_factor":["a"]})",
       "rope_scaling.short_factor holds \"a\"; numbers are needed"},
      {"gpt2", "\"add_cross_attention\":true", "add_cross_attention is true; supported is false"},
      {"gpt2", "\"layer_norm_epsilon\":2.0", "layer_norm_epsilon is 2; above 0 and below 1"},
      {"gemma", "\"use_bidirectional_attention\":true", "use_bidirectional_attention is true"},
      {"gemma2", "\"attn_logit_softcapping\":-1", "a cap is -1; 0 (none) or more is allowed"},
      {"gemma3_text", "\"sliding_window_pattern\":0", "sliding_window_pattern is 0; from 1"},
      {"smollm3", "\"no_rope_layers\":[1,0]", "no_rope_layers has 2 numbers; there are 3 layers"},
      {"smollm3", "\"no_rope_layer_interval\":0", "no_rope_layer_interval is 0; from 1"},
      {"granite", "\"logits_scaling\":0", "logits_scaling is 0; logits are divided by it"},
      {"olmo", "\"clip_qkv\":-8", "clip_qkv is -8; a number above 0 is needed"},
      {"stablelm", "\"qk_layernorm\":true", "qk_layernorm is true; supported is false"},
      {"phi", "\"tie_word_embeddings\":true",
       "the output matrix has a bias and is the embedding's"},
      {"gptj", "\"n_inner\":-1", "n_inner is -1; from 1 to"},
      {"opt", "\"do_layer_norm_before\":false", "do_layer_norm_before is false; supported is true"},
      {"opt", "\"word_embed_proj_dim\":12",
       "word_embed_proj_dim is 12; supported is hidden_size, 24"},
      {"cohere2", "\"sliding_window_pattern\":0", "sliding_window_pattern is 0; from 1"},
      {"cohere", "\"use_qk_norm\":true", "use_qk_norm is true; supported is false"},
  };
  for (auto [family, members, error] : refused)
    EXPECT_THAT(error_with(family, members), HasSubstr(error)) << family << " with " << members;
}

TEST(DecoderFamilies, ReadWindowsByTheirMembers) {
  auto windows = [](const DecoderConfig& config) {
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < config.layers; ++i) found.push_back(config.attention_of(i).window);
    return found;
  };
  using Windows = std::vector<std::int64_t>;
  EXPECT_EQ(windows(config_of("llama")), (Windows{0, 0, 0}));
  EXPECT_EQ(windows(config_of("mistral", "\"sliding_window\":9")), (Windows{9, 9, 9}));
  EXPECT_EQ(windows(config_of("mistral", "\"sliding_window\":null")), (Windows{0, 0, 0}));
  EXPECT_EQ(windows(config_of("mistral")), (Windows{4096, 4096, 4096}));
  std::string_view qwen = R"("sliding_window":7,"max_window_layers":1)";
  EXPECT_EQ(windows(config_of("qwen2", qwen)), (Windows{0, 0, 0}));
  EXPECT_EQ(windows(config_of("qwen2", concat(qwen, ",\"use_sliding_window\":true"))),
            (Windows{0, 7, 7}));
  EXPECT_EQ(windows(config_of("qwen3", R"("sliding_window":7,"use_sliding_window":true,
      "layer_types":["sliding_attention","full_attention","full_attention"])")),
            (Windows{7, 0, 0}));
  EXPECT_EQ(windows(config_of("gemma2", "\"sliding_window\":5")), (Windows{5, 0, 5}));
}

TEST(DecoderFamilies, ReadTheNumbersOfFormulas) {
  DecoderConfig granite = config_of("granite", R"("embedding_multiplier":12,"logits_scaling":8,
      "residual_multiplier":0.22,"attention_multiplier":0.015625)");
  EXPECT_EQ(granite.embedding_factor, 12);
  EXPECT_EQ(granite.logit_factor, 0.125);
  EXPECT_EQ(granite.residual_factor, 0.22);
  EXPECT_EQ(granite.attention_scale, 0.015625);
  DecoderConfig gemma = config_of("gemma2", R"("query_pre_attn_scalar":16,
      "attn_logit_softcapping":null,"final_logit_softcapping":20)");
  EXPECT_EQ(gemma.attention_scale, 0.25);
  EXPECT_EQ(gemma.attention_cap, 0);
  EXPECT_EQ(gemma.logit_cap, 20);
  DecoderConfig old = config_of("gemma3_text", R"("rope_theta":1e6,"rope_local_base_freq":1e4,
      "rope_scaling":{"rope_type":"linear","factor":8},"sliding_window_pattern":2)");
  ASSERT_EQ(old.ropes.size(), 2U);
  EXPECT_EQ(old.ropes[0].factor, 8);
  EXPECT_EQ(old.ropes[1].theta, 1e4);
  EXPECT_EQ(old.attention_of(0).rope, 1);
  EXPECT_EQ(old.attention_of(1).rope, 0);
  DecoderConfig neox = config_of("gpt_neox", R"("rotary_pct":0.5,"rotary_emb_base":500,
      "partial_rotary_factor":0.25,"rope_theta":10000)");
  EXPECT_EQ(neox.ropes.at(0).theta, 500);
  EXPECT_EQ(neox.ropes.at(0).rotary_share, 0.5);
  EXPECT_EQ(config_of("smollm3", "\"no_rope_layers\":[1,0,1]").attention_of(1).rope, -1);
  EXPECT_EQ(config_of("gpt2", "\"scale_attn_weights\":false").attention_form(0).scores.scale, 1);
  EXPECT_EQ(
      config_of("gpt2", R"("scale_attn_weights":false,"scale_attn_by_inverse_layer_idx":true)")
          .attention_form(2)
          .scores.scale,
      1.0 / 3);
}

// A row of one layer sees as many keys as the window has, its own among them.
TEST(DecoderFamilies, AWindowHidesWhatIsBeforeIt) {
  DecoderConfig config = config_of("mistral", "\"sliding_window\":4");
  config.layers = 1;
  config.layer_attention.resize(1);
  auto model = random_decoder(config, 3);
  std::vector<float> logits = last_logits(*model, text);
  std::vector<std::int64_t> outside = text, inside = text;
  outside[text.size() - 5] = 49;
  inside[text.size() - 4] = 49;
  EXPECT_EQ(last_logits(*model, outside), logits);
  EXPECT_NE(last_logits(*model, inside), logits);
}

TEST(DecoderFamilies, ATextEndsWhereGenerationConfigSays) {
  ScratchFolder folder;
  folder.write("config.json", config_text("llama", R"("bos_token_id":1,"eos_token_id":2)"));
  auto ends = [&] { return Decoder(read_decoder_config(folder.path())).stop_ids(); };
  using Ids = std::vector<std::int64_t>;
  EXPECT_EQ(ends(), (Ids{2, 1}));
  folder.write("generation_config.json", R"({"eos_token_id":[2,7],"temperature":0.6})");
  EXPECT_EQ(ends(), (Ids{2, 7}));
  folder.write("generation_config.json", R"({"bos_token_id":1})");
  EXPECT_EQ(ends(), (Ids{2}));
  // No text has an id outside the vocabulary: it ends none.
  folder.write("generation_config.json", R"({"eos_token_id":[50,3]})");
  EXPECT_EQ(ends(), (Ids{2, 3}));
  folder.write("config.json", config_text("llama", R"("bos_token_id":50,"eos_token_id":[-1,999])"));
  EXPECT_EQ(ends(), (Ids{3}));
}

TEST(DecoderFamilies, AGenerationConfigThatIsALinkToNowhereIsNotAbsent) {
  ScratchFolder folder;
  folder.write("config.json", config_text("llama", R"("bos_token_id":1,"eos_token_id":2)"));
  std::filesystem::path link = folder.path() / "generation_config.json";
  for (const char* target : {"none.json", "generation_config.json"}) {
    std::filesystem::create_symlink(target, link);
    for (bool may_leave : {false, true})
      expect_contains(
          error_of([&] { read_decoder_config(folder.path(), {.links_may_leave = may_leave}); }),
          link.string() + ": cannot be opened: ");
    std::filesystem::remove(link);
  }
}

constexpr std::string_view long_texts =
    R"("original_max_position_embeddings":12,"rope_parameters":{"rope_type":"longrope",
       "short_factor":[1,1.5,2,2.5],"long_factor":[3,4,5,6]})";

// A text that grows beyond the short ones is read again with the other factors: each token is the
// one that the text read at once gives.
TEST(Generate, ReadsATextAgainWhereItBecomesALongOne) {
  DecoderConfig config = config_of("phi3", long_texts);
  auto model = random_decoder(config, 5);
  EXPECT_EQ(model->reread_beyond(), 12);
  std::string vocabulary;
  for (int i = 0; i < 50; ++i)
    vocabulary += concat(i ? "," : "", "\"", static_cast<char>('A' + i), "\":", i);
  vocabulary.replace(vocabulary.find("\"\\\""), 3, "\"~\"");  // a backslash needs an escape
  Tokenizer tokenizer = Tokenizer::parse(
      concat(R"({"decoder":{"type":"Fuse"},"model":{"type":"BPE","unk_token":"A","merges":[],)",
             "\"vocab\":{", vocabulary, "}}}"),
      "letters");
  for (std::string_view prompt : {"BCDE", "BCDEFGHIJKLMNOPQRSTU"})
    for (std::int64_t steps : {0, 4}) {
      TextGenerator generator(*model, tokenizer);
      Generation result = generator.generate(
          prompt, {.max_new_tokens = 28 - std::ssize(prompt), .steps_a_round = steps});
      for (std::size_t i = prompt.size(); i < result.ids.size(); ++i) {
        std::vector<std::int64_t> before(result.ids.begin(),
                                         result.ids.begin() + static_cast<std::ptrdiff_t>(i));
        std::vector<float> logits = last_logits(*model, before);
        EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(), result.ids[i])
            << "at " << i;
      }
      EXPECT_EQ(result.ids.size(), 28U);
    }
}

TEST(Decoder, AnnouncesTheLengthOfATextThatIsReadInPieces) {
  DecoderConfig config = config_of("phi3", long_texts);
  for (bool freezing : {false, true}) {
    auto model = random_decoder(config, 5);
    auto state = model->new_state();
    Compiled step = compile(
        [&](const Tensor& ids, const Tensor& p) { return model->decode_last(ids, p, *state); },
        {.fullgraph = true, .freezing = freezing});
    std::vector<std::int64_t> longer = text;
    longer.insert(longer.end(), {1, 2, 3, 4});
    std::vector<float> whole = last_logits(*model, longer);
    Tensor ids = ids_of(longer);
    auto pieces = [&](std::int64_t announced) {
      state->expect(announced);
      step(ids.slice(1, 0, 7).clone(), at(0));
      return step(ids.slice(1, 7, 14).clone(), at(7)).to_vector<float>();
    };
    std::vector<float> announced = pieces(14), silent = pieces(0);
    double worst = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_NEAR(announced[i], whole[i], 1e-4);
      worst = std::max(worst, std::abs(double{silent[i]} - whole[i]));
    }
    EXPECT_GT(worst, 1e-4);
  }
}

}  // namespace
}  // namespace tilewright::decoder_families_test
