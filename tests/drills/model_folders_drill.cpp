#include "tests/drills/model_folders.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <functional>

#include "models/decoder/decoder.h"
#include "models/decoder/decoder_families.h"
#include "models/weights/safetensors.h"
#include "runtime/base/error.h"
#include "tests/scratch_folder.h"

namespace tilewright::drills {
namespace {

constexpr int vocabulary = 30;

std::string config_text() {
  Json config = {{"model_type", "llama"},
                 {"hidden_size", 32},
                 {"intermediate_size", 48},
                 {"num_hidden_layers", 2},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},
                 {"vocab_size", vocabulary},
                 {"max_position_embeddings", 64},
                 {"rms_norm_eps", 1e-5},
                 {"rope_theta", 10000.0},
                 {"tie_word_embeddings", false},
                 {"hidden_act", "silu"},
                 {"bos_token_id", 1},
                 {"eos_token_id", 2}};
  return config.dump(1);
}

std::string tokenizer_text() {
  Json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int i = 0; i < 26; ++i) vocab[std::string(1, static_cast<char>('a' + i))] = 3 + i;
  vocab["ab"] = 29;
  Json special = Json::array();
  for (const char* token : {"<s>", "</s>"})
    special.push_back({{"id", vocab[token]}, {"content", token}, {"special", true}});
  Json tokenizer = {
      {"version", "1.0"},
      {"added_tokens", special},
      {"normalizer", {{"type", "Lowercase"}}},
      {"pre_tokenizer",
       {{"type", "Split"},
        {"pattern", {{"Regex", "[a-z]+"}}},
        {"behavior", "Isolated"},
        {"invert", false}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", {{{"SpecialToken", {{"id", "<s>"}}}}, {{"Sequence", {{"id", "A"}}}}}}}},
      {"decoder", {{"type", "Fuse"}}},
      {"model", {{"type", "BPE"}, {"unk_token", "<unk>"}, {"vocab", vocab}, {"merges", {"a b"}}}}};
  return tokenizer.dump(1);
}

std::string saved(const std::map<std::string, Tensor>& tensors) {
  ScratchFolder folder;
  save_safetensors(folder.path() / "w", tensors, {{"format", "pt"}});
  return read_file(folder.path() / "w");
}

Outcome generate(const ModelFiles& files, std::int64_t address_bytes) {
  ScratchFolder folder;
  for (const auto& [name, bytes] : files) folder.write(name, bytes);
  Command command = tilewright_command(
      folder.path(), {"generate", ".", "--prompt", "abba", "--max-tokens", "12", "--json"});
  if (address_bytes > 0) command.limits = {{RLIMIT_AS, static_cast<rlim_t>(address_bytes)}};
  return run(command);
}

// Address space that the whole model takes, found by trying.
std::int64_t address_bytes_of_whole() {
  static const std::int64_t found = [] {
    constexpr std::int64_t step = std::int64_t{128} << 20;
    std::int64_t bytes = step;
    while (bytes < 64 * step && generate(whole_model(), bytes).status != 0) bytes += step;
    return bytes;
  }();
  return found;
}

bool drives_a_terminal(const std::string& text) {
  for (unsigned char c : text)
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) return true;
  return text.find("\xc2\x9b") != text.npos;
}

}  // namespace

const ModelFiles& whole_model() {
  static const ModelFiles files = [] {
    auto config = parse_decoder_config(config_text(), "config.json");
    return ModelFiles{{"config.json", config_text()},
                      {"tokenizer.json", tokenizer_text()},
                      {"model.safetensors", saved(random_decoder(config, 7)->state())}};
  }();
  return files;
}

const ModelFiles& model_in_shards() {
  static const ModelFiles files = [] {
    ModelFiles result = whole_model();
    result.erase("model.safetensors");
    std::map<std::string, Tensor> shards[2];
    Json map = Json::object();
    int number = 0;
    for (const auto& [name, tensor] :
         random_decoder(parse_decoder_config(config_text(), "config.json"), 7)->state()) {
      shards[number % 2].emplace(name, tensor);
      map[name] = concat("model-", number++ % 2, ".safetensors");
    }
    for (int i : {0, 1}) result[concat("model-", i, ".safetensors")] = saved(shards[i]);
    result["model.safetensors.index.json"] =
        Json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump(1);
    return result;
  }();
  return files;
}

WeightFile WeightFile::parse(const std::string& bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  return {bytes.substr(8, length), bytes.substr(8 + length)};
}

std::string WeightFile::bytes() const {
  std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

void expect_safe(const ModelFiles& files, Verdict verdict) {
  std::int64_t input_bytes = 0;
  for (const auto& [name, bytes] : files) input_bytes += std::ssize(bytes);
  Outcome outcome =
      generate(files, address_bytes_of_whole() + 3 * input_bytes + (std::int64_t{256} << 20));
  expect_answer(outcome, input_bytes);
  EXPECT_FALSE(drives_a_terminal(outcome.err)) << outcome.text();
  EXPECT_LT(outcome.err.size(), 8000U) << outcome.text();
  EXPECT_EQ(outcome.err.find("bug in Tilewright"), std::string::npos) << outcome.text();
  if (verdict == Verdict::refused) {
    EXPECT_NE(outcome.status, 0) << outcome.text();
  }
  if (outcome.status != 0) return;
  Json answer = Json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(answer.is_object()) << outcome.text();
  EXPECT_LE(answer["ids"].size(), answer["prompt_ids"].size() + 12) << outcome.text();
}

TEST(ModelFolders, AreReadWhereNothingIsWrong) {
  for (const ModelFiles& files : {whole_model(), model_in_shards()}) {
    Outcome outcome = generate(files, 0);
    EXPECT_EQ(outcome.status, 0) << outcome.text();
    expect_answer(outcome);
  }
  EXPECT_LT(address_bytes_of_whole(), std::int64_t{4} << 30);
}

// As many tokens as may be, of which the model knows few.
std::string tokenizer_of_millions() {
  Json tokenizer = Json::parse(tokenizer_text());
  tokenizer["model"]["vocab"] = Json::object();
  std::string text = tokenizer.dump(),
              vocabulary = R"({"<unk>":0,"<s>":1,"</s>":2,"a":3,"b":4,"ab":5)";
  for (int id = 6; id < 4'000'000; ++id) {
    char token[16];
    std::snprintf(token, sizeof token, ",\"%05x\":", id);
    vocabulary += token + std::to_string(id);
  }
  constexpr std::string_view place = "\"vocab\":{}";
  return text.replace(text.find(place) + place.size() - 2, 2, vocabulary + "}");
}

std::string weights_with_many_more() {
  WeightFile file = WeightFile::parse(whole_model().at("model.safetensors"));
  std::string more;
  for (int i = 0; i < 900'000; ++i)
    more += concat(",\"x", i, R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})");
  file.header.insert(file.header.find_last_of('}'), more);
  return file.bytes();
}

// Files that are nothing, or more than any model has.
TEST(ModelFolders, OfTinyOrLongFilesAreRefused) {
  // Made when it is their turn: a child counts what its parent holds as its own.
  auto files = [](std::uint64_t number) {
    std::pair<std::string, std::function<std::string()>> all[] = {
        {"config.json", [] { return std::string(""); }},
        {"tokenizer.json", [] { return std::string(""); }},
        {"model.safetensors", [] { return std::string(""); }},
        {"model.safetensors", [] { return std::string("{"); }},
        {"model.safetensors", [] { return std::string(std::string(7, '\0')); }},
        {"config.json", [] { return std::string("{" + std::string(9'000'000, ' ') + "}"); }},
        {"tokenizer.json", [] { return std::string(std::string((64 << 20) + 1, '[')); }},
        {"tokenizer.json",
         [] { return std::string("{\"model\":\"" + std::string(60'000'000, 'x') + "\"}"); }},
        {"model.safetensors",
         [] {
           return std::string(WeightFile{"{\"" + std::string(90'000'000, 'x'), ""}.bytes());
         }},
        {"model.safetensors",
         [] {
           return std::string(WeightFile{"{" + std::string(90'000'000, ' ') + "}", ""}.bytes());
         }},
        {"tokenizer.json", tokenizer_of_millions},
        {"model.safetensors", [] { return weights_with_many_more(); }}};
    return std::pair(all[number].first, all[number].second());
  };
  each_case(12, [&](std::uint64_t number) {
    ModelFiles mutated = whole_model();
    auto [name, bytes] = files(number);
    mutated[name] = std::move(bytes);
    expect_safe(mutated, Verdict::refused);
  });
}

// A few bytes changed, put in or taken out anywhere.
TEST(ModelFolders, DamagedAtRandomAreSafe) {
  each_case(290, [](std::uint64_t number) {
    Chance chance(number);
    ModelFiles mutated = chance.below(4) == 0 ? model_in_shards() : whole_model();
    auto file =
        std::next(mutated.begin(), static_cast<std::ptrdiff_t>(chance.below(mutated.size())));
    std::string& bytes = file->second;
    // Half of the changes where the structure is.
    std::size_t reach =
        chance.below(2) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 900);
    for (std::uint64_t edits = 1 + chance.below(6); edits > 0; --edits) {
      std::size_t at = chance.below(std::min(reach, bytes.size()) + 1);
      switch (chance.below(4)) {
        case 0: bytes.erase(at, chance.below(40)); break;
        case 1:
          bytes.insert(at, bytes.substr(chance.below(bytes.size() + 1), chance.below(40)));
          break;
        case 2: bytes.insert(at, 1, static_cast<char>(chance.below(256))); break;
        default:
          if (at < bytes.size()) bytes[at] = static_cast<char>(chance.below(256));
      }
    }
    expect_safe(mutated, Verdict::either);
  });
}

}  // namespace tilewright::drills
