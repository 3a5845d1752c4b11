// Unigram models and precompiled maps: refusals, and the path of the greatest score.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "models/tokenizer/text/token_trie.h"
#include "models/tokenizer/token_table.h"
#include "models/tokenizer/tokenizer.h"
#include "tests/errors.h"

namespace tilewright::unigram_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json unigram(const json& vocab) {
  return {{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}}}};
}
// Pairs of a text and a number would be members of an object otherwise.
template <typename... Parts>
json list(const Parts&... parts) {
  return json::array({parts...});
}
json usual() {
  return unigram(list(list("<unk>", 0.0), list("a", -1.0), list("b", -2.0), list("ab", -2.5),
                      list("abb", -5.5)));
}
std::string base64(const std::string& bytes) {
  const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  unsigned held = 0;
  int bits = 0;
  for (unsigned char byte : bytes) {
    held = (held << 8 | byte) & 0xffff;
    for (bits += 8; bits >= 6; bits -= 6) text += digits[held >> (bits - 6) & 63];
  }
  if (bits > 0) text += digits[held << (6 - bits) & 63];
  return text;
}
std::string error_with(const json& value) {
  return error_of([&] { Tokenizer::parse(value.dump(), "t"); });
}

TEST(Unigram, TakesThePathOfTheGreatestScore) {
  const Tokenizer tokenizer = Tokenizer::parse(usual().dump(), "t");
  EXPECT_THAT(tokenizer.encode("ab"), ElementsAre(3));
  EXPECT_THAT(tokenizer.encode("abb"), ElementsAre(3, 2));   // -4.5, not -5.5
  EXPECT_THAT(tokenizer.encode("xyab"), ElementsAre(0, 3));  // one token for both
}

TEST(Unigram, SpellsUnknownPartsInBytesWhereTheFileSaysSo) {
  json value = usual();
  value["model"]["byte_fallback"] = true;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    value["model"]["vocab"].push_back(list(name, -9.0));
  }
  const Tokenizer tokenizer = Tokenizer::parse(value.dump(), "t");
  EXPECT_THAT(tokenizer.encode("aé"), ElementsAre(1, 5 + 0xc3, 5 + 0xa9));
}

TEST(Unigram, RefusesPartsWithoutATokenWhereTheFileHasNoUnknownOne) {
  json value = usual();
  value["model"].erase("unk_id");
  const Tokenizer tokenizer = Tokenizer::parse(value.dump(), "t");
  EXPECT_THAT(error_of([&] { tokenizer.encode("ax"); }),
              HasSubstr("[encode] the vocabulary has no token \"x\" and no unk_id"));
}

TEST(Unigram, RefusesAVocabularyOfAnotherForm) {
  json value = usual();
  value["model"]["type"] = "WordPiece";
  EXPECT_THAT(error_with(value),
              HasSubstr("the model is of type WordPiece and has as vocab a list; "
                        "an object from token to id is needed"));
  value = usual();
  value["model"]["vocab"] = {{"a", 0}};
  EXPECT_THAT(error_with(value),
              HasSubstr("the model is of type Unigram and has as vocab an object; "
                        "a list of tokens and scores is needed"));
  EXPECT_THAT(error_with(unigram(list(list("a")))), HasSubstr("entry 0 of the vocab has 1 parts"));
  EXPECT_THAT(error_with(unigram(list(list("a", -1.0, 2)))),
              HasSubstr("the vocab has 2 in entry 1"));
  EXPECT_THAT(error_with(unigram(list(list(1, 2)))),
              HasSubstr("a pair of a token and its score is needed"));
  EXPECT_THAT(error_with(unigram(list("a", -1.0))), HasSubstr("the vocab has \"a\" in entry 0"));
  EXPECT_THAT(error_with(unigram(list(list("a", -1.0), list("a", -1.0)))),
              HasSubstr("appears twice"));
  EXPECT_THAT(error_with(unigram(list(list("a", list(-1.0))))),
              HasSubstr("the vocab holds a list"));
  EXPECT_THAT(error_with(unigram(list(list(std::string(600, 'a'), -1.0)))),
              HasSubstr("has 600 bytes; at most 512 are allowed in a Unigram model"));
  value = usual();
  value["model"]["unk_id"] = 5;
  EXPECT_THAT(error_with(value), HasSubstr("5 as \"unk_id\"; an integer from 0 to 4"));
}

TEST(Charsmap, ThatIsDamagedIsRefused) {
  auto with = [](const std::string& map) {
    json value = usual();
    value["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", map}};
    return error_with(value);
  };
  EXPECT_THAT(with("*"), HasSubstr("a precompiled_charsmap that is no base64"));
  EXPECT_THAT(with(""), HasSubstr("a precompiled_charsmap of 0 bytes with a trie of 0"));
  EXPECT_THAT(with("CAAAAAAAAAA="), HasSubstr("of 8 bytes with a trie of 8; a multiple of 4"));
  EXPECT_THAT(with("BAAAAAAAAABh"), HasSubstr("whose last text has no end; a zero is needed"));
  EXPECT_THAT(with("BAAAAAAAAAD/AA=="), HasSubstr("with texts that are not UTF-8"));
  EXPECT_EQ(with("BAAAAAAAAAA="), "no error");
}

// Every unit of a trie may be any number: nothing outside of it is read, and nothing loops.
TEST(Charsmap, OfAnyNumbersIsFollowedInside) {
  std::mt19937 draw(3);  // NOLINT: the same in each run
  for (int round = 0; round < 300; ++round) {
    std::string bytes = std::string("\0\2\0\0", 4);  // 128 units, of which many lead somewhere
    for (int i = 0; i < 512; ++i) bytes += static_cast<char>(i % 4 > 1 ? 0 : draw());
    bytes += std::string("a\0bc\0", 5);
    json value = usual();
    value["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", base64(bytes)}};
    Tokenizer::parse(value.dump(), "t").encode("ab \r\ne\xcc\x81 Å\xef\xac\x81\xff");
  }
}

TEST(TokenTrie, FindsWhatATextBeginsWith) {
  tokenizer::TokenTable table;
  for (const char* token : {"abcd", "ab", "abce", "b", "", "a\xff", "abcdef"})
    ASSERT_EQ(table.add(token, 0), tokenizer::Adding::done);
  const tokenizer::TokenTrie trie(table.size(),
                                  [&](std::uint32_t entry) { return table.text(entry); });
  auto found = [&](std::string_view text) {
    std::vector<std::string> tokens;
    trie.for_each_prefix(text, [&](std::size_t size, std::uint32_t entry) {
      EXPECT_EQ(table.text(entry), text.substr(0, size));
      tokens.emplace_back(table.text(entry));
    });
    return tokens;
  };
  EXPECT_THAT(found("abcdefg"), ElementsAre("ab", "abcd", "abcdef"));
  EXPECT_THAT(found("abc"), ElementsAre("ab"));
  EXPECT_THAT(found("a\xff"), ElementsAre("a\xff"));
  EXPECT_THAT(found(""), ElementsAre());
  EXPECT_THAT(found("c"), ElementsAre());
}

}  // namespace
}  // namespace tilewright::unigram_test
