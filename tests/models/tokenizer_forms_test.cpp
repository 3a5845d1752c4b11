// Tokenizers in the forms that language models use, beside what the library `tokenizers` makes of
// the same texts. tools/tokenizer_forms.py writes the folders: a small one is part of the project;
// another, of more and longer texts, may lie in tokenizer_forms in TILEWRIGHT_TEST_MODELS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "models/tokenizer/tokenizer.h"
#include "tests/models/folders.h"
#include "tests/source_folder.h"

namespace tilewright::tokenizer_forms_test {
namespace {

using nlohmann::json;
using Ids = std::vector<TokenId>;

const std::filesystem::path small_folder = source_folder() / "tests/models/tokenizers";

std::filesystem::path folder() {
  const char* models = std::getenv("TILEWRIGHT_TEST_MODELS");
  if (models == nullptr) return small_folder;
  std::filesystem::path chosen = std::filesystem::path(models) / "tokenizer_forms";
  return std::filesystem::exists(chosen) ? chosen : small_folder;
}

json read(const std::filesystem::path& path) { return json::parse(testing::read_file(path)); }

std::vector<std::string> forms() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(small_folder)) {
    std::string name = entry.path().filename();
    if (name.ends_with(".expected.json"))
      names.push_back(name.substr(0, name.size() - std::string(".expected.json").size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

class TokenizerForms : public ::testing::TestWithParam<std::string> {
 protected:
  Tokenizer tokenizer = Tokenizer::open(folder() / (GetParam() + ".json"));
  std::vector<std::string> texts = read(folder() / "strings.json");
  json expected = read(folder() / (GetParam() + ".expected.json"));
};

TEST_P(TokenizerForms, EncodeAsTheReferenceDoes) {
  auto ids = expected["ids"].get<std::vector<Ids>>();
  ASSERT_EQ(ids.size(), texts.size());
  ASSERT_EQ(expected["plain"].size(), texts.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const json& without = expected["plain"][i];
    Ids plain(ids[i].begin() + expected["before"].get<int>(),
              ids[i].end() - expected["after"].get<int>());
    if (!without.is_null()) plain = without.get<Ids>();
    bool is_right = tokenizer.encode(texts[i]) == ids[i] &&
                    tokenizer.encode(texts[i], {.add_special = false}) == plain;
    if (!is_right && ++wrong <= 3) {
      EXPECT_EQ(tokenizer.encode(texts[i]), ids[i]) << "text " << i << ": " << json(texts[i]);
    }
  }
  EXPECT_EQ(wrong, 0U) << "of " << texts.size() << " texts";
  std::cout << GetParam() << ": " << texts.size() - wrong << " of " << texts.size()
            << " texts have the same ids\n";
}

TEST_P(TokenizerForms, DecodeAsTheReferenceDoes) {
  std::size_t wrong = 0, count = 0;
  auto compare = [&](const Ids& ids, const std::string& wanted, DecodeOptions options) {
    std::string text = tokenizer.decode(ids, options);
    ++count;
    if (text != wanted && ++wrong <= 3) {
      EXPECT_EQ(json(text), json(wanted)) << ::testing::PrintToString(ids);
    }
  };
  auto ids = expected["ids"].get<std::vector<Ids>>();
  ASSERT_EQ(expected["texts"].size(), ids.size());
  ASSERT_EQ(expected["all_texts"].size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const json &text = expected["texts"][i], &whole = expected["all_texts"][i];
    std::string wanted = text.is_null() ? texts[i] : text.get<std::string>();
    compare(ids[i], wanted, {});
    compare(ids[i], whole.is_null() ? wanted : whole.get<std::string>(), {.skip_special = false});
  }
  auto random = expected["random_ids"].get<std::vector<Ids>>();
  for (std::size_t i = 0; i < random.size(); ++i)
    compare(random[i], expected["random_texts"][i], {});
  EXPECT_EQ(wrong, 0U) << "of " << count << " texts";
  std::cout << GetParam() << ": " << count - wrong << " of " << count << " decoded texts equal\n";
}

TEST_P(TokenizerForms, StreamWholeCharactersThatJoinToTheDecodedText) {
  for (const char* ids_of : {"ids", "random_ids"})
    for (const Ids& ids : expected[ids_of].get<std::vector<Ids>>()) {
      TextStream stream(tokenizer);
      std::string text;
      for (TokenId id : ids) {
        std::string piece = stream.push(id);
        ASSERT_NO_THROW(json(piece).dump()) << "not UTF-8";
        text += piece;
      }
      text += stream.finish();
      std::string whole = tokenizer.decode(ids);
      bool has_broken_bytes = whole.find("\xef\xbf\xbd") != whole.npos;
      if (!has_broken_bytes) {
        ASSERT_EQ(text, whole);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerForms, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param; });

// The prompts of models whose folders transformers wrote.
class TrainedTokenizers : public ::testing::TestWithParam<const char*> {};

TEST_P(TrainedTokenizers, GiveTheIdsThatTheModelWasRunWith) {
  TILEWRIGHT_TRAINED_MODEL(folder, GetParam());
  Tokenizer tokenizer = Tokenizer::open(*folder / "tokenizer.json");
  json cases = read(*folder / "expected.json")["cases"];
  ASSERT_GE(cases.size(), 4U);
  for (const json& example : cases) {
    auto prompt = example["prompt"].get<std::string>();
    Ids ids = tokenizer.encode(prompt);
    EXPECT_EQ(ids, example["prompt_ids"].get<Ids>()) << prompt;
    EXPECT_EQ(tokenizer.decode(ids), prompt);
  }
}

INSTANTIATE_TEST_SUITE_P(All, TrainedTokenizers,
                         ::testing::Values("tiny-llama3.2", "tiny-gpt2", "tiny-qwen3"));

}  // namespace
}  // namespace tilewright::tokenizer_forms_test
