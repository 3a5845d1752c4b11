// Folders of encoders and of sentence-transformers that are refused, or say something unusual.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/encoder/embedding_model.h"
#include "models/weights/safetensors.h"
#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::encoder_folders_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json bert() {
  return {{"model_type", "bert"},          {"hidden_size", 4},       {"num_hidden_layers", 1},
          {"num_attention_heads", 2},      {"intermediate_size", 8}, {"vocab_size", 7},
          {"max_position_embeddings", 16}, {"type_vocab_size", 2}};
}
EncoderConfig parsed(const json& config) { return parse_encoder_config(config.dump(), "t"); }
std::string config_error(json config, const json& change) {
  config.merge_patch(change);
  return error_of([&] { parsed(config); });
}

TEST(EncoderConfig, RefusesWhatItDoesNotSupport) {
  EXPECT_EQ(config_error(bert(), json::object()), "no error");
  EXPECT_THAT(config_error(bert(), {{"model_type", "llama"}}),
              HasSubstr("[encoder_config] t: model_type is \"llama\"; supported are \"bert\""));
  EXPECT_THAT(config_error(bert(), {{"position_embedding_type", "relative_key"}}),
              HasSubstr("position_embedding_type is \"relative_key\"; supported is \"absolute\""));
  EXPECT_THAT(config_error(bert(), {{"is_decoder", true}}), HasSubstr("is_decoder is true"));
  EXPECT_THAT(config_error(bert(), {{"novelty", 1}}), HasSubstr("novelty"));
  EXPECT_THAT(config_error(bert(), {{"type_vocab_size", 0}}), HasSubstr("type_vocab_size is 0"));
  EXPECT_THAT(config_error(bert(), {{"head_dim", 0}}), HasSubstr("the size of a head is 0"));
  EXPECT_THAT(config_error(bert(), {{"model_type", "roberta"}, {"pad_token_id", 15}}),
              HasSubstr("pad_token_id is 15"));
  const json t5 = {{"model_type", "t5"}, {"d_model", 4}, {"num_layers", 1}, {"num_heads", 2},
                   {"d_ff", 8},          {"d_kv", 2},    {"vocab_size", 7}};
  EXPECT_THAT(config_error(t5, {{"feed_forward_proj", "gated-silu"}}),
              HasSubstr("feed_forward_proj is \"gated-silu\"; supported are \"relu\""));
}

TEST(EncoderConfig, CountsTheParametersThatTheModelHas) {
  json modern = {{"model_type", "modernbert"},   {"hidden_size", 4},       {"num_hidden_layers", 2},
                 {"num_attention_heads", 2},     {"intermediate_size", 8}, {"vocab_size", 7},
                 {"max_position_embeddings", 16}};
  json mpnet = bert(), roberta = bert();
  mpnet.merge_patch({{"model_type", "mpnet"}, {"type_vocab_size", nullptr}});
  roberta["model_type"] = "roberta";
  json t5 = {
      {"model_type", "t5"}, {"d_model", 4}, {"num_layers", 2}, {"num_heads", 2},
      {"d_ff", 8},          {"d_kv", 3},    {"vocab_size", 7}, {"feed_forward_proj", "gated-gelu"}};
  json distil = {{"model_type", "distilbert"},
                 {"dim", 4},
                 {"n_layers", 1},
                 {"n_heads", 2},
                 {"hidden_dim", 8},
                 {"vocab_size", 7}};
  for (const json& config : {bert(), modern, mpnet, roberta, t5, distil}) {
    Encoder encoder(parsed(config), 8);
    EXPECT_EQ(encoder.parameter_count(), encoder.config().parameter_count()) << config;
  }
}

TEST(Encoder, RefusesArgumentsThatDoNotFit) {
  EXPECT_THAT(error_of([] { Encoder(parsed(bert()), 0); }), HasSubstr("lanes of 0 places"));
  Encoder encoder(parsed(bert()), 8, {.init = Init::random});
  const Tensor ids = zeros({2, 4}, i64);
  EXPECT_THAT(error_of([&] {
                encoder.forward(ids, zeros({2, 3}, i64), ids);
              }),
              HasSubstr("ids, positions and texts are 2x4, 2x3 and 2x4"));
  EXPECT_THAT(error_of([&] {
                encoder.forward(ids, zeros({2, 4}, f32), ids);
              }),
              HasSubstr("integers of lanes x places are needed"));
  const Tensor long_ids = zeros({1, 9}, i64);
  EXPECT_THAT(error_of([&] { encoder.forward(long_ids, long_ids, long_ids); }),
              HasSubstr("lanes of 9 places; from 1 to 8"));
}

// A folder with a BERT of random weights and a tokenizer of few words.
class SentenceFolder : public ::testing::Test {
 protected:
  SentenceFolder() {
    Encoder encoder(parsed(bert()), 8, {.init = Init::random});
    save_safetensors(folder() / "model.safetensors", encoder.state());
    write("config.json", bert());
    write("tokenizer.json",
          {{"model",
            {{"type", "WordLevel"},
             {"unk_token", "?"},
             {"vocab", {{"?", 0}, {"one", 1}, {"two", 2}, {"three", 3}, {"q:", 4}}}}},
           {"pre_tokenizer", {{"type", "WhitespaceSplit"}}}});
  }
  std::filesystem::path folder() const { return scratch_.path(); }
  void write(const std::string& name, const json& value) const {
    std::filesystem::create_directories((folder() / name).parent_path());
    std::ofstream(folder() / name) << value.dump();
  }
  void write_modules(const std::vector<std::pair<std::string, std::string>>& modules) const {
    json list = json::array();
    for (const auto& [type, path] : modules)
      list.push_back({{"type", "sentence_transformers.models." + type}, {"path", path}});
    write("modules.json", list);
  }
  void write_pooling(const json& pooling) const {
    write("1_Pooling/config.json", pooling);
    write_modules({{"Transformer", ""}, {"Pooling", "1_Pooling"}});
  }
  std::string error() const {
    return error_of([&] { EmbeddingModel{folder()}; });
  }
  testing::ScratchFolder scratch_;
};

TEST_F(SentenceFolder, WithoutModulesIsAMean) {
  EmbeddingModel model(folder());
  EXPECT_THAT(model.modules().modes, ElementsAre(Pool::mean));
  EXPECT_EQ(model.width(), 4);
  EXPECT_EQ(model.max_tokens(), 16);
  EXPECT_EQ(model.embed({}).shape(), (Shape{0, 4}));
  EXPECT_THAT(error_of([&] { model.embed({"one", ""}); }), HasSubstr("text 1 has no tokens"));
  EXPECT_THAT(error_of([&] { EmbeddingModel(folder(), {.max_tokens = 0}); }),
              HasSubstr("max_tokens is 0; at least 1"));
  EmbeddingModel cut(folder(), {.max_tokens = 2});
  EXPECT_THAT(cut.encode("one two three"), ElementsAre(1, 2));
}

TEST_F(SentenceFolder, JoinsSeveralVectorsOfAText) {
  write_pooling({{"pooling_mode", {"lasttoken", "cls"}}});
  EmbeddingModel model(folder());
  EXPECT_THAT(model.modules().modes, ElementsAre(Pool::last, Pool::first));
  EXPECT_EQ(model.width(), 8);
  write_pooling({{"pooling_mode_max_tokens", true}, {"pooling_mode_mean_tokens", true}});
  EXPECT_THAT(read_sentence_modules(folder()).modes, ElementsAre(Pool::max, Pool::mean));
}

TEST_F(SentenceFolder, PutsAPromptBeforeTexts) {
  write("config_sentence_transformers.json",
        {{"prompts", {{"query", "q: "}, {"none", ""}}}, {"default_prompt_name", "query"}});
  EmbeddingModel model(folder());
  EXPECT_THAT(model.encode("one"), ElementsAre(4, 1));
  EXPECT_THAT(model.encode("one", {.prompt = "none"}), ElementsAre(1));
  EXPECT_THAT(error_of([&] { model.encode("one", {.prompt = "x"}); }),
              HasSubstr("[embed] the folder has no prompt \"x\"; it has none, query"));
  write_pooling({{"pooling_mode", "mean"}, {"include_prompt", false}});
  EmbeddingModel without(folder());
  EXPECT_THAT(error_of([&] { without.encode("one"); }), HasSubstr("include_prompt"));
  write("config_sentence_transformers.json", {{"default_prompt_name", "query"}});
  EXPECT_THAT(error(), HasSubstr("default_prompt_name is \"query\", which prompts does not have"));
}

TEST_F(SentenceFolder, LowersCaseAndCutsWhereTheFolderSaysSo) {
  write("sentence_bert_config.json", {{"max_seq_length", 2}, {"do_lower_case", true}});
  EXPECT_THAT(EmbeddingModel(folder()).encode("ONE Two three"), ElementsAre(1, 2));
  write("sentence_bert_config.json", {{"max_seq_length", 0}});
  EXPECT_THAT(error(), HasSubstr("the most tokens of a text is 0"));
}

TEST_F(SentenceFolder, IsRefusedWhereItsPartsDoNotFit) {
  write("modules.json", json::object());
  EXPECT_THAT(error(), HasSubstr("a list of 1 to 32 is needed"));
  write("modules.json", {{{"type", "x.Transformer"}}});
  EXPECT_THAT(error(), HasSubstr("module 0 has no path; a text is needed"));
  write_modules({{"Pooling", ""}});
  EXPECT_THAT(error(), HasSubstr("Transformer, then Pooling, then others are needed"));
  write_modules({{"Transformer", ".."}});
  EXPECT_THAT(error(), HasSubstr("the path \"..\" leads elsewhere"));
  write_pooling({{"pooling_mode", "median"}});
  EXPECT_THAT(error(), HasSubstr("pooling_mode has \"median\"; supported are cls, max"));
  write_pooling({{"word_embedding_dimension", 5}});
  EXPECT_THAT(error(), HasSubstr("the pooling is for states of 5 numbers; the model's have 4"));
  write_pooling({{"weights", 1}});
  EXPECT_THAT(error(), HasSubstr("weights"));
  write_pooling(json::object());
  write_modules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"LSTM", "2"}});
  EXPECT_THAT(error(), HasSubstr("supported are Transformer, Pooling, Dense, Normalize"));
}

TEST_F(SentenceFolder, WithADenseLayerIsRefusedWhereThatDoesNotFit) {
  write_pooling({{"pooling_mode", "mean"}});
  write_modules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}});
  auto with = [&](json settings, std::int64_t in) {
    settings.update({{"in_features", in}, {"out_features", 3}});
    write("2_Dense/config.json", settings);
    save_safetensors(folder() / "2_Dense/model.safetensors",
                     {{"linear.weight", zeros({3, 4}, f32)}, {"linear.bias", zeros({3}, f32)}});
    return error();
  };
  EXPECT_EQ(with({{"activation_function", "torch.nn.modules.activation.Tanh"}}, 4), "no error");
  EXPECT_EQ(EmbeddingModel(folder()).embed({"one"}).shape(), (Shape{1, 3}));
  EXPECT_THAT(with({{"activation_function", "x.Mish"}}, 4),
              HasSubstr("activation_function is \"x.Mish\"; supported are Identity, Tanh"));
  EXPECT_THAT(with(json::object(), 40),
              HasSubstr("40 x 3 features; the weights beside it hold 15 numbers"));
  EXPECT_THAT(with(json::object(), 0), HasSubstr("a number of features is 0"));
  EXPECT_THAT(with({{"module_input_name", "token_embeddings"}}, 4),
              HasSubstr("supported is \"sentence_embedding\""));
  write("2_Dense/config.json", {{"in_features", 3}, {"out_features", 3}});
  save_safetensors(folder() / "2_Dense/model.safetensors",
                   {{"linear.weight", zeros({3, 3}, f32)}, {"linear.bias", zeros({3}, f32)}});
  EXPECT_THAT(error(), HasSubstr("a Dense takes 3 features; the vectors before it have 4"));
}

TEST_F(SentenceFolder, IsRefusedWhereConfigAndWeightsDiffer) {
  json larger = bert();
  larger["num_hidden_layers"] = 9;
  write("config.json", larger);
  EXPECT_THAT(error(), HasSubstr("[load_encoder]"));
  json fewer = bert();
  fewer["vocab_size"] = 3;
  write("config.json", fewer);
  EXPECT_THAT(error(), ::testing::AnyOf(HasSubstr("the tokenizer has 5 tokens; the model knows 3"),
                                        HasSubstr("[load]")));
}

}  // namespace
}  // namespace tilewright::encoder_folders_test
