// The steps of a tokenizer one by one, where the forms that models use do not go: added tokens,
// text that grows, decoders in unusual company, and the time that long words take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "models/tokenizer/tokenizer.h"
#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/source_folder.h"

namespace tilewright::steps_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<TokenId>;

// Knows whole pieces only, so that its tokens show how a text was cut.
json words(std::vector<std::string> tokens) {
  json vocab;
  for (std::size_t i = 0; i < tokens.size(); ++i) vocab[tokens[i]] = i;
  return {{"model", {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "?"}}}};
}
std::vector<std::string> cut(const json& value, std::string_view text) {
  Tokenizer tokenizer = Tokenizer::parse(value.dump(), "t");
  std::vector<std::string> tokens;
  for (TokenId id : tokenizer.encode(text)) tokens.push_back(tokenizer.token(id));
  return tokens;
}
Tokenizer form(const std::string& name) {
  return Tokenizer::open(source_folder() / "tests/models/tokenizers" / (name + ".json"));
}

TEST(TokenizerSteps, CutAtMatchesAsTheBehaviorSays) {
  json value = words({"a", "-", "b", "a-", "-b", "?", "--"});
  auto with = [&](const char* behavior, bool invert) {
    value["pre_tokenizer"] = {{"type", "Split"},
                              {"pattern", {{"String", "-"}}},
                              {"behavior", behavior},
                              {"invert", invert}};
    return cut(value, "a--b");
  };
  EXPECT_THAT(with("Removed", false), ElementsAre("a", "b"));
  EXPECT_THAT(with("Removed", true), ElementsAre("-", "-"));
  EXPECT_THAT(with("Isolated", false), ElementsAre("a", "-", "-", "b"));
  EXPECT_THAT(with("MergedWithPrevious", false), ElementsAre("a-", "-", "b"));
  EXPECT_THAT(with("MergedWithNext", false), ElementsAre("a", "-", "-b"));
  EXPECT_THAT(with("Contiguous", false), ElementsAre("a", "--", "b"));
}

TEST(TokenizerSteps, NormaliseForBertWhatTheOptionsLeaveOn) {
  // CAFÉ with its accent in one, a tab, ESC, U+FFFD, a joiner, and two ideographs, of which only
  // the first is in the ranges that `tokenizers` has. The expected steps are those of `tokenizers`.
  const std::string text = "CAF\xc3\x89\t\x1b\xef\xbf\xbd\xe2\x80\x8d\xe4\xb8\xad\xf0\xab\xa0\xa0";
  const std::string dirt = "\t\x1b\xef\xbf\xbd\xe2\x80\x8d";
  const std::string zhong = "\xe4\xb8\xad", newer = "\xf0\xab\xa0\xa0";
  auto normalised = [&](json options) {
    options["type"] = "BertNormalizer";
    json value = words({"?"});
    value["normalizer"] = options;
    for (const char* word : {"CAF\xc3\x89", "CAFE", "caf\xc3\xa9", "cafe"})
      for (const std::string& middle : {std::string(" "), dirt})
        for (const std::string& end : {zhong, " " + zhong + " "})
          value["model"]["vocab"][word + middle + end + newer] = value["model"]["vocab"].size();
    return cut(value, text).at(0);
  };
  auto with = [](bool clean, bool ideographs, json accents, bool lowercase) {
    return json{{"clean_text", clean},
                {"handle_chinese_chars", ideographs},
                {"strip_accents", accents},
                {"lowercase", lowercase}};
  };
  std::string spaced = " " + zhong + " " + newer, close = zhong + newer;
  EXPECT_EQ(normalised(with(true, true, nullptr, true)), "cafe " + spaced);
  EXPECT_EQ(normalised(json::object()), "cafe " + spaced);
  EXPECT_EQ(normalised(with(true, true, nullptr, false)), "CAF\xc3\x89 " + spaced);
  EXPECT_EQ(normalised(with(true, true, true, false)), "CAFE " + spaced);
  EXPECT_EQ(normalised(with(true, true, false, true)), "caf\xc3\xa9 " + spaced);
  EXPECT_EQ(normalised(with(true, false, nullptr, true)), "cafe " + close);
  EXPECT_EQ(normalised(with(false, true, nullptr, true)), "cafe" + dirt + spaced);
  EXPECT_EQ(normalised(with(false, false, false, false)), "CAF\xc3\x89" + dirt + close);
}

TEST(TokenizerSteps, CleanBytesThatAreNoCharactersAsTheirReplacement) {
  json value = words({"?", "ab"});
  value["normalizer"] = {{"type", "BertNormalizer"}};
  EXPECT_THAT(cut(value,
                  "A\xff\xe7\x8c\xef\xbf\xbd"
                  "B"),
              ElementsAre("ab"));
  value["normalizer"]["clean_text"] = false;
  EXPECT_THAT(cut(value,
                  "A\xff"
                  "B"),
              ElementsAre("?"));
}

TEST(TokenizerSteps, SayThatAWordIsUnknownToAModelWithoutUnknownToken) {
  json value = words({"a"});
  EXPECT_THAT(error_of([&] { cut(value, "b"); }),
              HasSubstr("[encode] the vocabulary has no token \"b\" and no unk_token"));
}

TEST(TokenizerSteps, AllowIdsThatNoTokenHas) {
  json value = words({"a", "?"});
  value["added_tokens"] = {{{"id", 9}, {"content", "<x>"}, {"special", true}}};
  Tokenizer tokenizer = Tokenizer::parse(value.dump(), "t");
  EXPECT_EQ(tokenizer.size(), 10);
  EXPECT_EQ(tokenizer.token(5), "");
  EXPECT_EQ(tokenizer.encode("a<x>"), (Ids{0, 9}));
  EXPECT_EQ(tokenizer.decode(Ids{0, 5, 9, 0}, {.skip_special = false}), "a <x> a");
  EXPECT_EQ(tokenizer.decode(Ids{0, 5, 9, 0}), "a a");
  EXPECT_EQ(tokenizer.find("<x>"), 9);
}

TEST(TokenizerSteps, FindAddedTokensThatAreNotSpecialInTextOfStrangers) {
  json value = words({"a", "?"});
  value["added_tokens"] = {{{"id", 2}, {"content", "<x>"}, {"special", true}},
                           {{"id", 3}, {"content", "<y>"}, {"special", false}}};
  Tokenizer tokenizer = Tokenizer::parse(value.dump(), "t");
  EXPECT_EQ(tokenizer.encode("<x><y>"), (Ids{2, 3}));
  EXPECT_EQ(tokenizer.encode("<x><y>", {.parse_special = false}), (Ids{1, 3}));
}

TEST(TokenizerSteps, TakeNoQuadraticTimeForSpaceBesideAddedTokens) {
  json value = words({"a", "?"});
  value["added_tokens"] = {
      {{"id", 2}, {"content", " "}, {"special", true}, {"lstrip", true}, {"rstrip", true}}};
  Tokenizer tokenizer = Tokenizer::parse(value.dump(), "t");
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(tokenizer.encode(std::string(1 << 20, ' ') + "a").back(), 0);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 20);
}

TEST(TokenizerSteps, RefuseATextThatGrowsTooMuch) {
  json value = words({"?"});
  json prepend = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(256, 'a')}};
  value["normalizer"] = {{"type", "Sequence"}, {"normalizers", json(8, prepend)}};
  EXPECT_THAT(error_of([&] { cut(value, "a"); }),
              HasSubstr("[encode] the text grows beyond 67108864 bytes in normalisation"));
  value["normalizer"] = prepend;
  value["added_tokens"] = {{{"id", 1}, {"content", "<x>"}, {"special", true}}};
  std::string half(140'000, 'a');
  EXPECT_THAT(error_of([&] { cut(value, half + "<x>" + half); }),
              HasSubstr("[encode] the text grows beyond 67108864 bytes in normalisation"));
  value["normalizer"] = nullptr;
  json level = {{"type", "ByteLevel"}, {"use_regex", false}};
  value["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", json(20, level)}};
  EXPECT_THAT(error_of([&] { cut(value, std::string(1000, ' ')); }),
              HasSubstr("[encode] the text grows beyond 268435456 bytes where it is cut"));
}

TEST(TokenizerSteps, EncodeBytesThatAreNoCharactersThroughByteLevelForms) {
  for (const char* name : {"gpt2", "llama3", "smollm", "deepseek", "o200k"}) {
    Tokenizer tokenizer = form(name);
    std::string text = "a \xff b\xe7\x8c \xc0\x80 caf\xc3\xa9";
    EXPECT_EQ(tokenizer.decode_bytes(tokenizer.encode(text)), text) << name;
  }
}

TEST(TokenizerSteps, EncodeAWordOfAMegabyteWithoutQuadraticTime) {
  for (const char* name : {"gpt2", "llama3", "llama2", "bert", "bert_uncased", "deepseek"}) {
    Tokenizer tokenizer = form(name);
    auto begin = std::chrono::steady_clock::now();
    for (std::string_view unit : {"a", "the", "\xe7\x8c\xab", " ", "\xcc\x81"}) {
      std::string text;
      while (text.size() < 1 << 20) text += unit;
      EXPECT_FALSE(tokenizer.encode(text).empty());
    }
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), 60) << name;
  }
}

TEST(TextStream, GivesCharactersOfByteTokensAsTheyBecomeWhole) {
  Tokenizer tokenizer = form("gpt2");
  Ids ids = tokenizer.encode("\xf0\x9f\x98\x80!");
  TextStream stream(tokenizer);
  std::vector<std::string> pieces;
  for (TokenId id : ids) pieces.push_back(stream.push(id));
  EXPECT_EQ(pieces.back(), "!");
  EXPECT_EQ(std::count(pieces.begin(), pieces.end(), "\xf0\x9f\x98\x80"), 1);
  EXPECT_EQ(stream.finish(), "");
  stream.push(ids[0]);
  EXPECT_EQ(stream.finish(), "\xef\xbf\xbd");
  EXPECT_EQ(stream.push(tokenizer.find("a").value()), "a");
}

TEST(TextStream, EndsWordsWhenItKnowsThatAnotherFollows) {
  json value = words({"a</w>", "b</w>", "?"});
  value["decoder"] = {{"type", "BPEDecoder"}, {"suffix", "</w>"}};
  Tokenizer tokenizer = Tokenizer::parse(value.dump(), "t");
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.push(0), "");
  EXPECT_EQ(stream.push(1), "a ");
  EXPECT_EQ(stream.finish(), "b");
  EXPECT_EQ(tokenizer.decode(Ids{0, 1}), "a b");
}

TEST(TextStream, MayGiveSpecialTokensTheirText) {
  Tokenizer tokenizer = form("llama3");
  TextStream stream(tokenizer, {.skip_special = false});
  EXPECT_EQ(stream.push(0), "<|begin_of_text|>");
  EXPECT_EQ(TextStream(tokenizer).push(0), "");
}

}  // namespace
}  // namespace tilewright::steps_test
