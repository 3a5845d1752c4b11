// Excerpts in messages of files that strangers wrote: the beginning of names and values, and
// nothing that drives a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "models/decoder/decoder_families.h"
#include "models/files/reader.h"
#include "models/tokenizer/tokenizer.h"
#include "models/weights/shard_index.h"
#include "models/weights/weights.h"
#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::messages_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// 60 kB that begin with a command to a terminal, with its control byte of 8 bits too, and end in a
// way that shows whether all was printed.
const std::string& hostile() {
  static const std::string text =
      "\x1b]0;gone\x07\xc2\x9b\x32J" + std::string(60'000, 'x') + "the end";
  return text;
}
std::string in_quotes(std::string_view text) { return json::quote(text, "test"); }

void expect_harmless(const std::string& error) {
  EXPECT_THAT(error, HasSubstr("?]0;gone??2Jxxx"));
  EXPECT_THAT(error, HasSubstr("..."));
  EXPECT_THAT(error, Not(HasSubstr("the end")));
  EXPECT_LT(error.size(), 3000U);
  for (char c : error) EXPECT_GE(static_cast<unsigned char>(c), ' ') << error;
}

std::string config_error(std::string members) {
  return error_of([&] {
    parse_decoder_config(R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,)"
                         R"("num_attention_heads":4,"intermediate_size":96,"vocab_size":128,)"
                         R"("max_position_embeddings":64,"rms_norm_eps":1e-5,)" +
                             std::move(members) + "}",
                         "c.json");
  });
}

std::string tokenizer_error(const std::string& parts) {
  return error_of([&] {
    Tokenizer::parse(
        R"({"version":"1.0","model":{"type":"BPE","vocab":{"a":0},"merges":[]},)" + parts + "}",
        "t.json");
  });
}

// A parser that stops at a byte that is 0, or at the end of the first value, would pass over all
// that is hidden behind it.
TEST(Messages, NameTheFileAndTheByteAtWhichSomethingFollowsTheJson) {
  struct Reader {
    std::string name, text;
    std::function<void(const std::string& text)> read;
  };
  const testing::ScratchFolder folder;
  const std::string config =
      R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,)"
      R"("intermediate_size":96,"vocab_size":128,"max_position_embeddings":64,)"
      R"("rms_norm_eps":1e-5})";
  const std::string tokenizer =
      R"({"version":"1.0","model":{"type":"BPE","vocab":{"a":0},"merges":[]}})";
  auto read_folder = [&](const std::string&) { read_decoder_config(folder.path()); };
  const std::vector<Reader> readers = {
      {"config.json", config,
       [&](const std::string& text) {
         folder.write("config.json", text);
         folder.write("generation_config.json", "{}");
         read_folder(text);
       }},
      {"generation_config.json", R"({"eos_token_id":2})",
       [&](const std::string& text) {
         folder.write("config.json", config);
         folder.write("generation_config.json", text);
         read_folder(text);
       }},
      {"tokenizer.json", tokenizer,
       [&](const std::string& text) { Tokenizer::open(folder.write("tokenizer.json", text)); }},
      {"model.safetensors.index.json", R"({"weight_map":{"a":"b.safetensors"}})",
       [&](const std::string& text) {
         weights::parse_shard_index(text, "model.safetensors.index.json");
       }},
  };
  using namespace std::string_literals;
  for (const Reader& reader : readers) {
    for (const std::string& blanks : {""s, "\n"s, " \r\n\t "s}) {
      EXPECT_EQ(error_of([&] { reader.read(reader.text + blanks); }), "no error") << reader.name;
      std::size_t at = reader.text.size() + blanks.size();
      for (const std::string& more : {"\0"s, "\0\n"s, "\0}}}PK\3\4"s}) {
        std::string error = error_of([&] { reader.read(reader.text + blanks + more); });
        EXPECT_THAT(error, HasSubstr(reader.name + ": not valid JSON at byte " +
                                     std::to_string(at) + ": a byte that is 0"));
      }
      for (const std::string& more : {"{}"s, "}"s, ","s, "x"s, "\xff"s, "// more"s, "PK\3\4"s}) {
        std::string error = error_of([&] { reader.read(reader.text + blanks + more); });
        EXPECT_THAT(error,
                    HasSubstr(reader.name + ": not valid JSON at byte " + std::to_string(at + 1)));
      }
    }
  }
}

TEST(Messages, ShowTheBeginningOfValuesOfAConfiguration) {
  std::string value = in_quotes(hostile());
  expect_harmless(
      error_of([&] { parse_decoder_config(R"({"model_type":)" + value + "}", "c.json"); }));
  expect_harmless(config_error(R"("hidden_act":)" + value));
  expect_harmless(config_error(R"("rope_scaling":{"rope_type":)" + value + "}"));
  expect_harmless(config_error(value + R"(:1)"));
}

TEST(Messages, ShowTheBeginningOfKindsOfLayers) {
  expect_harmless(error_of([&] {
    parse_decoder_config(R"({"model_type":"qwen3","hidden_size":64,"num_hidden_layers":1,)"
                         R"("num_attention_heads":4,"intermediate_size":96,"vocab_size":128,)"
                         R"("max_position_embeddings":64,"layer_types":[)" +
                             in_quotes(hostile()) + "]}",
                         "c.json");
  }));
}

TEST(Messages, ShowTheBeginningOfPartsOfATokenizer) {
  std::string value = in_quotes(hostile());
  for (std::string part : {"normalizer", "pre_tokenizer", "post_processor", "decoder"})
    expect_harmless(tokenizer_error("\"" + part + R"(":{"type":)" + value + "}"));
  expect_harmless(tokenizer_error(value + ":1"));
  std::string twice = R"({"id":1,"content":")" + std::string("\\u001b]0;gone\\u0007\\u009b2J") +
                      std::string(900, 'x') + "the end\"}";
  expect_harmless(tokenizer_error("\"added_tokens\":[" + twice + "," + twice + "]"));
}

TEST(Messages, ShowTheBeginningOfTokensAndMerges) {
  auto model_error = [](const std::string& members) {
    return error_of(
        [&] { Tokenizer::parse(R"({"model":{"type":"BPE",)" + members + "}}", "t.json"); });
  };
  std::string value = in_quotes(hostile());
  expect_harmless(model_error(R"("vocab":{)" + value + R"(:-1},"merges":[])"));
  expect_harmless(model_error(R"("vocab":{"a":0},"merges":[)" + value + "]"));
  expect_harmless(model_error(R"("vocab":{"a":0},"merges":[["a",)" + value + "]]"));
  expect_harmless(model_error(R"("vocab":{"a":0},"merges":[],"unk_token":)" + value));
}

TEST(Messages, ShowTheBeginningOfNamesOfTensors) {
  Tensor into = Tensor::empty({2});
  std::string name = hostile().substr(0, 900) + "the end";
  Weights weights = Weights::of({{name, Tensor::from<float>({1}, {1})}});
  expect_harmless(error_of([&] { weights.read(name, into); }));
  expect_harmless(error_of([&] { weights.shape(hostile()); }));
}

TEST(Messages, CutBetweenCharactersAndSaySo) {
  auto shown = [](std::string_view text) { return concat(json::excerpt(text)); };
  EXPECT_EQ(shown("short"), "short");
  EXPECT_EQ(shown(std::string(80, 'a')), std::string(80, 'a'));
  EXPECT_EQ(shown(std::string(81, 'a')), std::string(80, 'a') + "...");
  EXPECT_EQ(shown(std::string(79, 'a') + "\xc3\xa9\xc3\xa9"), std::string(79, 'a') + "\xc3\xa9...");
  EXPECT_EQ(shown("a\xff\xc3"), "a??");
  EXPECT_EQ(shown("\xe2\x80\xaetxt.exe"), "?txt.exe");
}

}  // namespace
}  // namespace tilewright::messages_test
