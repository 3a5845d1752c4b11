// GPT-2 against Hugging Face's, on weights that both make from a formula (gpt2_logits.py).
#include "models/decoder/decoder.h"
#include "models/decoder/decoder_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/compile/compile.h"
#include "models/decoder/load_model.h"
#include "models/generate/generate.h"
#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/models/gpt2_logits.h"
#include "tests/models/token_ids.h"
#include "tests/tensors.h"

namespace tilewright::gpt2_test {
namespace {

using testing::at;
using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr std::int64_t vocabulary = 96;

Tensor ids_of(std::span<const std::int64_t> ids) { return Tensor::from(ids, {1, std::ssize(ids)}); }

// Name by name: waves, about 1 for norms.
std::map<std::string, Tensor> waves() {
  std::map<std::string, Tensor> state = random_decoder(decoder_config("gpt2_tiny"), 1)->state();
  double order = 0;
  for (auto& [name, tensor] : state) {
    ++order;
    bool is_norm = name.find(".ln_") != std::string::npos && name.ends_with("weight");
    std::vector<float> values;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      double wave = std::sin(12.9898 * static_cast<double>(i + 1) + 78.233 * order);
      values.push_back(static_cast<float>(is_norm ? 1 + 0.1 * wave : 0.2 * wave));
    }
    tensor.copy_from(Tensor::from(values, tensor.shape()));
  }
  return state;
}

std::unique_ptr<Decoder> gpt2_of_waves() {
  auto model = std::make_unique<Decoder>(decoder_config("gpt2_tiny"));
  model->load(Weights::of(waves()));
  return model;
}

void expect_logits(const Tensor& logits, std::size_t first_row) {
  auto values = logits.to_vector<float>();
  ASSERT_LE(first_row * vocabulary + values.size(), std::size(gpt2_logits));
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], gpt2_logits[first_row * vocabulary + i], 2e-3)
        << "row " << first_row + i / vocabulary << ", logit " << i % vocabulary;
}

constexpr const char* tiny_config = R"({"model_type":"gpt2","activation_function":"gelu_new",
  "n_layer":2,"n_embd":64,"n_head":4,"n_positions":64,"vocab_size":96,"n_inner":null,
  "bos_token_id":95,"eos_token_id":95,"resid_pdrop":0.1})";
std::string config_with(std::string_view name, std::string_view value) {
  std::string text = tiny_config;
  return text.replace(text.size() - 1, 1, concat(",\"", name, "\":", value, "}"));
}

struct Way {
  const char* name;
  Options options;
};
const Way ways[] = {{"eager", {.backend = Backend::eager}},
                    {"default", {.fullgraph = true}},
                    {"reduce_overhead", {.mode = Mode::reduce_overhead}}};
class Gpt2Logits : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Modes, Gpt2Logits, ::testing::ValuesIn(ways),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Gpt2Logits, AreHuggingFaces) {
  auto model = gpt2_of_waves();
  auto forward = compile(*model, GetParam().options);
  expect_logits(forward(ids_of(gpt2_ids)), 0);
}

// A prompt and then steps: positions, the cache and the mask at work.
TEST_P(Gpt2Logits, AreTheSameStepByStep) {
  auto model = gpt2_of_waves();
  auto state = model->new_state();
  Compiled step =
      compile([&](const Tensor& ids,
                  const Tensor& position) { return model->decode_last(ids, position, *state); },
              GetParam().options);
  std::span<const std::int64_t> ids = gpt2_ids;
  constexpr std::size_t prompt = 4;
  expect_logits(step(ids_of(ids.first(prompt)), at(0)), prompt - 1);
  for (std::size_t i = prompt; i < ids.size(); ++i)
    expect_logits(step(ids_of(ids.subspan(i, 1)), at(static_cast<std::int64_t>(i))), i);
}

TEST(Gpt2, GivesTheSameLogitsInGpuCode) {
  auto model = gpt2_of_waves();
  Compiled forward = compile(*model, {.fullgraph = true, .device = Device::emulated("sm_90a")});
  expect_logits(forward(ids_of(gpt2_ids)), 0);
}

TEST(Gpt2, GivesNearlyTheSameLogitsWithQuantisedWeights) {
  DecoderConfig config = decoder_config("gpt2_tiny");
  auto exact = random_decoder(config, 1), quantised = random_decoder(config, 1);
  quantised->quantize({});
  Tensor ids = Tensor::from<std::int64_t>({3, 7, 1, 9, 4}, {1, 5});
  auto logits = [&](Decoder& model) {
    return compile(model, {.fullgraph = true})(ids).to_vector<float>();
  };
  std::vector<float> expected = logits(*exact), actual = logits(*quantised);
  double error = relative_difference(actual, expected);
  EXPECT_LT(error, 0.05);
  EXPECT_GT(error, 0);
}

TEST(Gpt2, HasTheParametersOfItsConfiguration) {
  DecoderConfig config = decoder_config("gpt2_tiny");
  EXPECT_EQ(random_decoder(config, 1)->parameter_count(), config.parameter_count());
  EXPECT_EQ(decoder_config("gpt2").parameter_count(), 124'439'808);
  EXPECT_EQ(decoder_config("gpt2_xl").parameter_count(), 1'557'611'200);
  EXPECT_THAT(decoder_config_names(), ::testing::Contains("gpt2_medium"));
}

TEST(Gpt2, LayersAreOneProgram) {
  auto model = gpt2_of_waves();
  DecoderConfig deep_config = decoder_config("gpt2_tiny");
  deep_config.layers = 6;
  auto deep = random_decoder(deep_config, 1);
  std::vector<std::size_t> regions;
  for (Decoder* m : {model.get(), deep.get()}) {
    Compiled forward = compile(*m, {.fullgraph = true});
    forward(ids_of(gpt2_ids));
    regions.push_back(forward.report().front().regions.size());
  }
  EXPECT_EQ(regions[0], regions[1]);
}

TEST(LoadGpt2, ReadsAFolderWithEitherFormOfNames) {
  std::map<std::string, Tensor> named = waves(), bare;
  constexpr std::string_view prefix = "transformer.";
  for (const auto& [name, tensor] : named) bare[name.substr(prefix.size())] = tensor;
  bare["h.0.attn.bias"] = Tensor::from(std::vector<float>(64 * 64, 1), {1, 1, 64, 64});
  for (const auto& weights : {named, bare}) {
    ScratchFolder folder;
    folder.write("config.json", tiny_config);
    save_safetensors(folder.path() / "model.safetensors", weights);
    std::unique_ptr<LanguageModel> model = load_model(folder.path());
    expect_logits(model->forward(ids_of(gpt2_ids)), 0);
    EXPECT_EQ(model->stop_ids(), (std::vector<std::int64_t>{95, 95}));
  }
}

TEST(LoadGpt2, RefusesWeightsThatDoNotFitTheConfiguration) {
  ScratchFolder folder;
  folder.write("config.json", tiny_config);
  std::map<std::string, Tensor> weights = waves();
  weights.erase("transformer.ln_f.bias");
  weights["filler"] = Tensor::empty({64});
  save_safetensors(folder.path() / "model.safetensors", weights);
  EXPECT_THAT(error_of([&] { load_model(folder.path()); }),
              HasSubstr("no weights for: transformer.ln_f.bias"));
  folder.write("config.json", R"({"n_layer":2})");
  EXPECT_THAT(error_of([&] { load_model(folder.path()); }), HasSubstr("has no model_type"));
}

TEST(RandomModel, IsOfEitherFamily) {
  EXPECT_EQ(random_model("tiny", 1)->vocabulary(), 64);
  EXPECT_EQ(random_model("gpt2_tiny", 1)->vocabulary(), vocabulary);
  EXPECT_EQ(random_model("gpt5", 1), nullptr);
}

TEST(DecoderConfig, ReadsTheSizesOfGpt2) {
  DecoderConfig config = parse_decoder_config(tiny_config, "c");
  EXPECT_EQ(config.intermediate, 256);
  EXPECT_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(config.head_size, 16);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_FALSE(
      parse_decoder_config(config_with("tie_word_embeddings", "false"), "c").tied_embeddings);
  std::string odd = tiny_config;
  odd.replace(odd.find("\"n_head\":4"), 10, "\"n_head\":5");
  EXPECT_THAT(error_of([&] { parse_decoder_config(odd, "c"); }),
              HasSubstr("[decoder_config] c: n_embd 64 is not a multiple of 5 attention heads"));
}

TEST(Gpt2, RefusesACacheBeyondItsPositions) {
  EXPECT_THAT(error_of([] { Decoder(decoder_config("gpt2_tiny"), {.max_positions = 65}); }),
              HasSubstr("[gpt2] a cache for 65 positions; the model has 64"));
}

}  // namespace
}  // namespace tilewright::gpt2_test
