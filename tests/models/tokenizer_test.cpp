#include "models/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/models/small_tokenizer.h"

namespace tilewright::tokenizer_test {
namespace {

using namespace testing_tokenizer;

using nlohmann::json;
using ::testing::HasSubstr;
using Ids = std::vector<TokenId>;

std::vector<std::string> tokens_of(const Tokenizer& tokenizer, std::string_view text,
                                   EncodeOptions options = {}) {
  std::vector<std::string> tokens;
  for (TokenId id : tokenizer.encode(text, options)) tokens.push_back(tokenizer.token(id));
  return tokens;
}

TEST(Tokenizer, MergesTheLowestRankFirstAndTheLeftmostOfEquals) {
  Tokenizer tokenizer = parse(small());
  EXPECT_EQ(tokens_of(tokenizer, "abab"), (std::vector<std::string>{"<s>", space, "abab"}));
  EXPECT_EQ(tokens_of(tokenizer, "ab"), (std::vector<std::string>{"<s>", space + "ab"}));
  EXPECT_EQ(tokens_of(tokenizer, "bba"), (std::vector<std::string>{"<s>", space, "b", "ba"}));
}

TEST(Tokenizer, SpellsUnknownCharactersInBytes) {
  EXPECT_EQ(tokens_of(parse(small()), "a\xc3\xab"),
            (std::vector<std::string>{"<s>", space, "a", "<0xC3>", "<0xAB>"}));
  EXPECT_EQ(tokens_of(parse(small()), "\xff"), (std::vector<std::string>{"<s>", space, "<0xFF>"}));
}

TEST(Tokenizer, WithoutByteFallbackJoinsUnknownCharacters) {
  json value = small();
  value["model"]["byte_fallback"] = false;
  EXPECT_EQ(tokens_of(parse(value), "axyb"),
            (std::vector<std::string>{"<s>", space, "a", "<unk>", "b"}));
  value["model"]["fuse_unk"] = false;
  EXPECT_EQ(tokens_of(parse(value), "xy"),
            (std::vector<std::string>{"<s>", space, "<unk>", "<unk>"}));
}

TEST(Tokenizer, SpellsSpecialTokensOnlyWhereAllowed) {
  Tokenizer tokenizer = parse(small());
  EXPECT_EQ(tokenizer.encode("</s>"), (Ids{1, 2}));
  EXPECT_EQ(tokens_of(tokenizer, "a</s>ab"),
            (std::vector<std::string>{"<s>", space, "a", "</s>", space + "ab"}));
  Ids plain = tokenizer.encode("</s>", {.parse_special = false});
  EXPECT_EQ(std::count(plain.begin(), plain.end(), 2), 0);
  EXPECT_EQ(tokenizer.decode(plain), "</s>");
  EXPECT_EQ(tokenizer.encode("a", {.add_special = false}).size(), 2U);
}

TEST(Tokenizer, TakesTheLongestAddedToken) {
  json value = small();
  int next = static_cast<int>(value["model"]["vocab"].size());
  value["added_tokens"].push_back(
      {{"id", next}, {"content", "<s>x"}, {"special", false}, {"normalized", false}});
  Tokenizer tokenizer = parse(value);
  EXPECT_EQ(tokenizer.encode("<s>x"), (Ids{1, next}));
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{1, next}), "<s>x");
  EXPECT_FALSE(tokenizer.is_special(next));
  EXPECT_TRUE(tokenizer.is_special(1));
}

TEST(Tokenizer, EncodesEmptyTextAsTheTemplateAlone) {
  EXPECT_EQ(parse(small()).encode(""), Ids{1});
  EXPECT_EQ(parse(small()).decode(Ids{1}), "");
}

TEST(Tokenizer, AcceptsMergesAsPairs) {
  json value = small();
  value["model"]["merges"] = json::array({json::array({"a", "b"}), json::array({"ab", "ab"})});
  EXPECT_EQ(tokens_of(parse(value), "abab"), (std::vector<std::string>{"<s>", space, "abab"}));
}

TEST(Tokenizer, GivesBackRandomBytes) {
  const char* chosen = std::getenv("TILEWRIGHT_SEED");
  std::uint64_t first = chosen ? std::stoull(chosen) : 0, count = chosen ? 1 : 2000;
  Tokenizer tokenizer = parse(small());
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed);
    std::string text(random() % 60, '\0');
    for (char& c : text) c = random() % 2 ? "ab <s>/"[random() % 7] : static_cast<char>(random());
    Ids ids = tokenizer.encode(text, {.parse_special = false});
    ASSERT_EQ(tokenizer.decode_bytes(ids), text)
        << "repeat: TILEWRIGHT_SEED=" << seed
        << " models_tests --gtest_filter=Tokenizer.GivesBackRandomBytes";
  }
}

TEST(Tokenizer, AgreesWithMergingByExhaustiveSearch) {
  json value = small();
  Tokenizer tokenizer = parse(value);
  std::map<std::pair<std::string, std::string>, std::size_t> rank = {
      {{"a", "b"}, 0}, {{"ab", "ab"}, 1}, {{space, "ab"}, 2}, {{"b", "a"}, 3}};
  for (unsigned bits = 0; bits < 1U << 12; ++bits) {
    std::string text;
    std::vector<std::string> slow = {space};
    for (int i = 0; i < 12; ++i) {
      text += bits >> i & 1 ? 'a' : 'b';
      slow.emplace_back(1, text.back());
    }
    while (true) {
      std::size_t best = rank.size(), where = 0;
      for (std::size_t i = 0; i + 1 < slow.size(); ++i)
        if (auto found = rank.find({slow[i], slow[i + 1]});
            found != rank.end() && found->second < best)
          best = found->second, where = i;
      if (best == rank.size()) break;
      slow[where] += slow[where + 1];
      slow.erase(slow.begin() + static_cast<std::ptrdiff_t>(where) + 1);
    }
    ASSERT_EQ(tokens_of(tokenizer, text, {.add_special = false}), slow) << text;
  }
}

TEST(Tokenizer, EncodesALongTextWithoutQuadraticTime) {
  std::string text;
  for (int i = 0; i < 500'000; ++i) text += "ab"[i % 2];
  auto begin = std::chrono::steady_clock::now();
  Ids ids = parse(small()).encode(text);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(ids.size(), 2 + 125'000U);
  EXPECT_LT(took.count(), 20);
  EXPECT_THAT(error_of([&] { parse(small()).encode(std::string((16 << 20) + 1, 'a')); }),
              HasSubstr("[encode] a text of 16777217 bytes; at most 16777216 are allowed"));
}

TEST(TextStream, HoldsBackCharactersThatAreNotWhole) {
  Tokenizer tokenizer = parse(small());
  TextStream stream(tokenizer);
  std::vector<std::string> pieces;
  for (TokenId id : tokenizer.encode("a\xe7\x8c\xab"
                                     "b"))
    pieces.push_back(stream.push(id));
  EXPECT_EQ(pieces, (std::vector<std::string>{"", "", "a", "", "", "\xe7\x8c\xab", "b"}));
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, ReplacesBytesThatFormNoCharacter) {
  Tokenizer tokenizer = parse(small());
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("\xff"
                                              "a")),
            "\xef\xbf\xbd"
            "a");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xe7\x8c")), "a\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("\xc0\x80")), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("\xf4\x90\x80\x80")).size(), 4 * 3U);
}

TEST(TextStream, StripsOneLeadingSpaceOnly) {
  Tokenizer tokenizer = parse(small());
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(" a ")), " a ");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a")), "a");
}

TEST(Tokenizer, RefusesIdsOutsideItsVocabulary) {
  Tokenizer tokenizer = parse(small());
  EXPECT_THAT(error_of([&] { tokenizer.decode(Ids{-1}); }),
              HasSubstr("[decode] id -1 is outside the vocabulary of 266 tokens"));
  EXPECT_THAT(error_of([&] { tokenizer.token(266); }), HasSubstr("id 266 is outside"));
  EXPECT_EQ(tokenizer.find("nothing"), std::nullopt);
  EXPECT_EQ(tokenizer.find("</s>"), 2);
}

TEST(Tokenizer, EncodesThePromptsOfATrainedModelAsItsAuthorDoes) {
  TILEWRIGHT_TRAINED_MODEL(folder, "stories260K");
  Tokenizer tokenizer = Tokenizer::open(*folder / "tokenizer.json");
  json expected = json::parse(testing::read_file(*folder / "expected.json"));
  for (const json& example : expected["cases"]) {
    Ids ids = tokenizer.encode(example["prompt"].get<std::string>());
    Ids whole = example["ids"].get<Ids>();
    ASSERT_LE(ids.size(), whole.size());
    EXPECT_EQ(ids, Ids(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(ids.size())))
        << example["prompt"];
    EXPECT_EQ(tokenizer.decode(ids), example["prompt"].get<std::string>());
  }
  std::string shakespeare = "First Citizen:\nBefore we proceed any further, hear me speak.\n\n";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(shakespeare)), shakespeare);
}

}  // namespace
}  // namespace tilewright::tokenizer_test
