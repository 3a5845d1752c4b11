#include "models/decoder/decoder.h"
#include "models/decoder/decoder_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/compile/compile.h"
#include "models/generate/generate.h"
#include "models/layers/random.h"
#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/models/token_ids.h"
#include "tests/tensors.h"

namespace tilewright::decoder_test {
namespace {

using testing::at;
using ::testing::HasSubstr;
using testing::ids_of;
using testing::ScratchFolder;

constexpr const char* tiny_config = R"({"model_type":"llama","num_hidden_layers":1,
  "hidden_size":8,"intermediate_size":12,"num_attention_heads":2,"num_key_value_heads":1,
  "vocab_size":16,"max_position_embeddings":8,"tie_word_embeddings":false})";

std::map<std::string, Tensor> tiny_weights() {
  return random_decoder(parse_decoder_config(tiny_config, "c"), 1)->state();
}
std::string error_loading(std::string_view config, const std::map<std::string, Tensor>& weights) {
  ScratchFolder folder;
  folder.write("config.json", config);
  save_safetensors(folder.path() / "model.safetensors", weights);
  return error_of([&] { load_decoder(folder.path()); });
}

TEST(Llama, HasTheParametersOfItsConfiguration) {
  for (const char* name : {"tiny", "stories260k"}) {
    DecoderConfig config = decoder_config(name);
    EXPECT_EQ(random_decoder(config, 1)->parameter_count(), config.parameter_count()) << name;
  }
}

TEST(Llama, RandomWeightsDependOnTheSeedAlone) {
  DecoderConfig config = decoder_config("tiny");
  auto a = random_decoder(config, 1)->state(), b = random_decoder(config, 1)->state(),
       c = random_decoder(config, 2)->state();
  const std::string name = "model.layers.1.mlp.up_proj.weight";
  EXPECT_EQ(a.at(name).to_vector<float>(), b.at(name).to_vector<float>());
  EXPECT_NE(a.at(name).to_vector<float>(), c.at(name).to_vector<float>());
}

TEST(Llama, GivesTheSameLogitsInGpuCode) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    std::vector<std::vector<float>> logits;
    for (const Device& device : {Device::cpu(), Device::emulated(target)}) {
      auto model = random_decoder(decoder_config("tiny"), 1);
      auto state = model->new_state();
      Compiled forward =
          compile([&](const Tensor& ids,
                      const Tensor& position) { return model->decode_last(ids, position, *state); },
                  {.fullgraph = true, .device = device});
      forward(ids_of({3, 7, 1, 9, 4}), at(0));
      logits.push_back(forward(ids_of({5}), at(5)).to_vector<float>());
    }
    for (std::size_t i = 0; i < logits[0].size(); ++i)
      ASSERT_NEAR(logits[1][i], logits[0][i], 1e-4) << target << " " << i;
  }
}

// Logits of a prompt, and of a row after it.
std::vector<float> logits_of(Decoder& model, const Options& options) {
  auto state = model.new_state();
  Compiled forward =
      compile([&](const Tensor& ids,
                  const Tensor& position) { return model.decode_last(ids, position, *state); },
              options);
  std::vector<float> logits = forward(ids_of({3, 7, 1, 9, 4}), at(0)).to_vector<float>();
  std::vector<float> next = forward(ids_of({5}), at(5)).to_vector<float>();
  logits.insert(logits.end(), next.begin(), next.end());
  return logits;
}

TEST(Llama, WithQuantisedWeightsGivesTheLogitsOfWhatTheIntegersMean) {
  DecoderConfig config = decoder_config("tiny");
  config.tied_embeddings = false;
  auto exact = random_decoder(config, 1), rounded = random_decoder(config, 1),
       quantised = random_decoder(config, 1);
  for (auto& [name, tensor] : rounded->named_parameters()) {
    if (name.find("proj.") == std::string::npos && name != "lm_head.weight") continue;
    QuantizedWeight weight = quantize(tensor);
    tensor.copy_from(weight.values.to(f32) * weight.scales);
  }
  quantised->quantize({});
  for (Backend backend : {Backend::eager, Backend::tilewright})
    for (bool freezing : {false, true}) {
      Options options{.fullgraph = true, .backend = backend, .freezing = freezing};
      std::vector<float> expected = logits_of(*rounded, options),
                         actual = logits_of(*quantised, options);
      EXPECT_LT(relative_difference(actual, expected), 1e-4);
      EXPECT_GT(relative_difference(logits_of(*exact, options), expected), 1e-3);
    }
}

TEST(Llama, HasAHeadOfItsOwnOnceItsWeightsAreQuantised) {
  auto exact = random_decoder(decoder_config("tiny"), 1),
       model = random_decoder(decoder_config("tiny"), 1);
  model->quantize({});
  std::vector<std::string> names;
  for (auto& [name, tensor] : model->named_parameters()) names.push_back(name);
  EXPECT_THAT(names, ::testing::Contains("model.embed_tokens.weight"));
  EXPECT_THAT(names, ::testing::Each(::testing::Not(HasSubstr("proj"))));
  Options options{.fullgraph = true};
  std::vector<float> expected = logits_of(*exact, options), actual = logits_of(*model, options);
  double error = relative_difference(actual, expected);
  EXPECT_LT(error, 0.05);
  EXPECT_GT(error, 0);
}

TEST(Llama, RefusesIdsAndPositionsOfAnotherForm) {
  auto model = random_decoder(decoder_config("tiny"), 1);
  auto state = model->new_state();
  Tensor two = Tensor::from<std::int64_t>({1, 2}, {2, 1});
  EXPECT_THAT(error_of([&] { model->decode(two, at(0), *state); }),
              HasSubstr("[llama] ids are i64 2x1; integers of 1 x rows are needed"));
  EXPECT_THAT(error_of([&] { model->decode(ids_of({1}), two, *state); }),
              HasSubstr("[llama] position is i64 2x1; one i64 is needed, or one for each of 1 "
                        "texts"));
  EXPECT_THAT(error_of([&] {
                model->forward(Tensor::from<float>({1}, {1, 1}));
              }),
              HasSubstr("ids are f32 1x1; integers of batch x rows are needed"));
  std::vector<std::int64_t> many(65, 1);
  EXPECT_THAT(error_of([&] { model->forward(ids_of(many)); }),
              HasSubstr("65 rows at once; from 1 to 64"));
}

TEST(Llama, RefusesCachesBeyondItsPositionsOr64Bits) {
  DecoderConfig config = decoder_config("tiny");
  EXPECT_THAT(error_of([&] { Decoder(config, {.max_positions = 65}); }),
              HasSubstr("a cache for 65 positions; the model has 64 positions"));
  Decoder model(config);
  EXPECT_THAT(error_of([&] { model.new_state(std::int64_t{1} << 58); }),
              HasSubstr("has more than 2^63 bytes"));
  EXPECT_THAT(error_of([&] { model.new_state(0); }), HasSubstr("[llama] a state for 0 texts"));
}

// The memory that a file of 1 MB may claim: 5 GiB of keys and values, or 48.
TEST(Llama, AsksForNoMemoryBeyondABudgetUnlessToldTo) {
  DecoderConfig config = decoder_config("tiny");
  config.max_positions = 4'194'304;
  std::string error = error_of([&] { Decoder model(config); });
  EXPECT_THAT(error, HasSubstr("[llama] a cache for 1 sequences of 4194304 positions takes "));
  EXPECT_THAT(error, HasSubstr(" MiB (the usual for parameters of 1 MiB): ask for as many "
                               "positions as the texts need (ModelOptions::max_positions), or "
                               "raise ModelOptions::cache_budget_bytes"));
  EXPECT_EQ(Decoder(config, {.max_positions = 64}).max_positions(), 64);
  EXPECT_THAT(error_of([&] { Decoder(config, {.max_positions = 4096, .cache_budget_bytes = 1}); }),
              HasSubstr("the budget is 1 MiB (cache_budget_bytes)"));
  config.max_positions = 100'000;
  EXPECT_THAT(error_of([&] { Decoder(config).new_state(1000); }), HasSubstr("for 1000 sequences"));
  EXPECT_EQ(Decoder(config, {.cache_budget_bytes = 1 << 30}).max_positions(), 100'000);
}

TEST(Llama, CountsTablesOfRotaryPositionsInItsBudget) {
  DecoderConfig config = decoder_config("tiny");
  RopeConfig wide;
  config.ropes = {wide};
  std::int64_t cache = 2 * config.layers * config.kv_heads * config.head_size * 4 * 64;
  std::int64_t tables = wide.bytes_a_position(config.head_size) * 64;
  EXPECT_THAT(error_of([&] { Decoder(config, {.cache_budget_bytes = cache + tables - 1}); }),
              HasSubstr("of it for rotary positions; the budget is"));
  EXPECT_EQ(error_of([&] { Decoder(config, {.cache_budget_bytes = cache + tables}); }), "no error");
}

TEST(LoadLlama, ReadsAFolderAndConvertsItsWeights) {
  ScratchFolder folder;
  folder.write("config.json", tiny_config);
  auto weights = tiny_weights();
  Tensor narrow = Tensor::empty(weights.at("lm_head.weight").shape(), bf16);
  fill_value(narrow, 0.25);
  weights["lm_head.weight"] = narrow;
  save_safetensors(folder.path() / "model.safetensors", weights);
  auto model = load_decoder(folder.path());
  EXPECT_EQ(model->state().at("lm_head.weight").dtype(), f32);
  EXPECT_EQ(model->state().at("lm_head.weight").to_vector<float>().front(), 0.25F);
  auto kept = load_decoder(folder.path(), {.dtype = bf16});
  EXPECT_EQ(kept->state().at("model.norm.weight").dtype(), bf16);
}

TEST(LoadLlama, RefusesWeightsThatDoNotFitTheConfiguration) {
  auto missing = tiny_weights();
  missing.erase("model.layers.0.self_attn.k_proj.weight");
  missing["filler"] = Tensor::empty({8, 8});
  EXPECT_THAT(error_loading(tiny_config, missing),
              HasSubstr("no weights for: model.layers.0.self_attn.k_proj.weight"));
  auto reshaped = tiny_weights();
  reshaped["model.norm.weight"] = Tensor::from(std::vector<float>(9, 1), {9});
  EXPECT_THAT(error_loading(tiny_config, reshaped),
              HasSubstr("model.norm.weight (9, the model has 8)"));
}

TEST(LoadLlama, AllocatesNothingForAConfigurationThatItsWeightsCannotFill) {
  std::string config = tiny_config;
  config.replace(config.find("\"num_hidden_layers\":1"), 21, "\"num_hidden_layers\":1024");
  EXPECT_THAT(error_loading(config, tiny_weights()), HasSubstr("config.json describes a model of"));
}

TEST(LoadLlama, NamesTheFileThatIsMissing) {
  ScratchFolder folder;
  EXPECT_THAT(error_of([&] { load_decoder(folder.path()); }), HasSubstr("config.json: cannot be"));
  folder.write("config.json", tiny_config);
  EXPECT_THAT(error_of([&] { load_decoder(folder.path()); }),
              HasSubstr("holds neither model.safetensors"));
}

// All rows at once and row by row must agree: the cache, the positions and the mask at work.
TEST(Llama, RowByRowGivesTheLogitsOfAllRowsAtOnce) {
  auto model = random_decoder(decoder_config("tiny"), 1);
  std::vector<std::int64_t> ids = {1, 17, 5, 60, 33};
  auto whole = model->forward(ids_of(ids)).to_vector<float>();
  auto state = model->new_state();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Tensor row = model->decode_last(ids_of({ids[i]}), at(static_cast<std::int64_t>(i)), *state);
    auto logits = row.to_vector<float>();
    ASSERT_EQ(row.shape(), (Shape{1, 64}));
    for (std::size_t j = 0; j < logits.size(); ++j)
      ASSERT_NEAR(logits[j], whole[i * 64 + j], 1e-4) << "row " << i << ", logit " << j;
  }
}

}  // namespace
}  // namespace tilewright::decoder_test
