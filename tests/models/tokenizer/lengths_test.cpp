// The truncation and padding that a file sets. The ids are those of the library `tokenizers`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/tokenizer/tokenizer.h"
#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/source_folder.h"

namespace tilewright::lengths_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Ids = std::vector<TokenId>;

constexpr std::string_view text = "The L\xc3\xb6rd and you";
const Ids words = {269, 39, 271, 171, 284, 278}, whole = {1, 269, 39, 271, 171, 284, 278, 2};

json truncation(std::uint64_t max_length, const json& changes = json::object()) {
  json value = {{"direction", "Right"},
                {"max_length", max_length},
                {"strategy", "LongestFirst"},
                {"stride", 0}};
  value.update(changes);
  return value;
}
json padding(const json& strategy, const json& changes = json::object()) {
  json value = {{"strategy", strategy}, {"direction", "Right"}, {"pad_to_multiple_of", nullptr},
                {"pad_id", 0},          {"pad_type_id", 0},     {"pad_token", "[UNK]"}};
  value.update(changes);
  return value;
}
json fixed(std::int64_t length) { return {{"Fixed", length}}; }

Tokenizer bert(const json& truncation, const json& padding) {
  json value = json::parse(
      testing::read_file(source_folder() / "tests/models/tokenizers/bert_uncased.json"));
  value["truncation"] = truncation;
  value["padding"] = padding;
  return Tokenizer::parse(value.dump(), "t");
}
void expect_cut(const json& truncation, const Ids& ids, const Ids& plain) {
  Tokenizer tokenizer = bert(truncation, nullptr);
  EXPECT_EQ(tokenizer.encode(text), ids) << truncation;
  EXPECT_EQ(tokenizer.encode(text, {.add_special = false}), plain) << truncation;
  EXPECT_EQ(tokenizer.encode(text, {.truncate = false}), whole) << truncation;
}
void expect_filled(const json& padding, const Ids& ids, const Ids& plain, const Ids& nothing) {
  Tokenizer tokenizer = bert(nullptr, padding);
  EXPECT_EQ(tokenizer.encode(text), ids) << padding;
  EXPECT_EQ(tokenizer.encode(text, {.add_special = false}), plain) << padding;
  EXPECT_EQ(tokenizer.encode(""), nothing) << padding;
  EXPECT_EQ(tokenizer.encode(text, {.pad = false}), whole) << padding;
}

TEST(TokenizerLengths, CutWhatHasNoRoomBesideTheTokensThatAreAdded) {
  expect_cut(nullptr, whole, words);
  expect_cut(truncation(8), whole, words);
  expect_cut(truncation(7), {1, 269, 39, 271, 171, 284, 2}, words);
  expect_cut(truncation(5), {1, 269, 39, 271, 2}, {269, 39, 271, 171, 284});
  expect_cut(truncation(2), {1, 2}, {269, 39});
  expect_cut(truncation(5, {{"strategy", "OnlyFirst"}}), {1, 269, 39, 271, 2},
             {269, 39, 271, 171, 284});
  expect_cut(truncation(6, {{"stride", 2}}), {1, 269, 39, 271, 171, 2}, words);
  expect_cut(truncation(std::numeric_limits<std::int64_t>::max()), whole, words);
}

TEST(TokenizerLengths, CutTheBeginWhereTheDirectionIsLeft) {
  json left = {{"direction", "Left"}};
  expect_cut(truncation(8, left), whole, words);
  expect_cut(truncation(5, left), {1, 171, 284, 278, 2}, {39, 271, 171, 284, 278});
  expect_cut(truncation(2, left), {1, 2}, {284, 278});
  json undirected = truncation(5);
  undirected.erase("direction");
  expect_cut(undirected, {1, 269, 39, 271, 2}, {269, 39, 271, 171, 284});
}

TEST(TokenizerLengths, CutNoTextThatStandsAloneWhereSecondOnesAreMeant) {
  json second = {{"strategy", "OnlySecond"}};
  expect_cut(truncation(8, second), whole, words);
  EXPECT_EQ(bert(truncation(2, second), nullptr).encode(text), (Ids{1, 2}));
  Tokenizer tokenizer = bert(truncation(5, second), nullptr);
  EXPECT_THAT(error_of([&] { tokenizer.encode(text); }),
              HasSubstr("[encode] the text has 8 tokens; the tokenizer's truncation to 5 is "
                        "OnlySecond, which cuts no text that stands alone"));
  EXPECT_EQ(tokenizer.encode(text, {.truncate = false}), whole);
}

TEST(TokenizerLengths, FillUpToAFixedLengthOrAMultiple) {
  expect_filled(padding("BatchLongest"), whole, words, {1, 2});
  expect_filled(padding(fixed(10)), {1, 269, 39, 271, 171, 284, 278, 2, 0, 0},
                {269, 39, 271, 171, 284, 278, 0, 0, 0, 0}, {1, 2, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_filled(padding(fixed(4)), whole, words, {1, 2, 0, 0});
  expect_filled(padding(fixed(10), {{"direction", "Left"}, {"pad_id", 2}}),
                {2, 2, 1, 269, 39, 271, 171, 284, 278, 2},
                {2, 2, 2, 2, 269, 39, 271, 171, 284, 278}, {2, 2, 2, 2, 2, 2, 2, 2, 1, 2});
  expect_filled(padding("BatchLongest", {{"pad_to_multiple_of", 5}}),
                {1, 269, 39, 271, 171, 284, 278, 2, 0, 0},
                {269, 39, 271, 171, 284, 278, 0, 0, 0, 0}, {1, 2, 0, 0, 0});
  expect_filled(padding("BatchLongest", {{"pad_to_multiple_of", 0}}), whole, words, {1, 2});
  expect_filled(padding(fixed(9), {{"pad_to_multiple_of", 4}}),
                {1, 269, 39, 271, 171, 284, 278, 2, 0, 0, 0, 0},
                {269, 39, 271, 171, 284, 278, 0, 0, 0, 0, 0, 0},
                {1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_filled(padding(fixed(2), {{"pad_to_multiple_of", 3}}), whole, words, {1, 2, 0});
  EXPECT_EQ(bert(truncation(4), padding(fixed(6))).encode(text), (Ids{1, 269, 39, 2, 0, 0}));
}

TEST(TokenizerLengths, RefuseWhatCannotBeMeant) {
  auto error = [](const json& truncation, const json& padding) {
    return error_of([&] { bert(truncation, padding); });
  };
  EXPECT_THAT(error(truncation(1), nullptr),
              HasSubstr("[load_tokenizer] t: the truncation has the max_length 1, but the "
                        "post_processor alone adds 2 tokens"));
  EXPECT_THAT(error(truncation(5, {{"strategy", "Shortest"}}), nullptr),
              HasSubstr("has the strategy \"Shortest\"; LongestFirst, OnlyFirst or OnlySecond"));
  EXPECT_THAT(error(truncation(5, {{"direction", "Up"}}), nullptr),
              HasSubstr("has the direction \"Up\"; Left or Right is needed"));
  EXPECT_THAT(error(truncation(5, {{"speed", 1}}), nullptr),
              HasSubstr("the truncation has a field \"speed\""));
  EXPECT_THAT(error(true, nullptr), HasSubstr("the truncation is true; an object is needed"));
  EXPECT_THAT(error(nullptr, padding("Longest")),
              HasSubstr("the padding has the strategy \"Longest\"; BatchLongest or "
                        "{\"Fixed\": length} is needed"));
  EXPECT_THAT(error(nullptr, padding(fixed(1 << 21))), HasSubstr("integer from 0 to 1048576"));
  EXPECT_THAT(error(nullptr, padding(fixed(-1))), HasSubstr("integer from 0 to 1048576"));
  EXPECT_THAT(error(nullptr, padding(fixed(9), {{"pad_id", 380}})),
              HasSubstr("the padding has the pad_id 380, which no token has"));
  EXPECT_EQ(error(nullptr, padding("BatchLongest", {{"pad_id", 380}})), "no error");
  EXPECT_THAT(error(nullptr, padding({{"Fixed", 9}, {"Loose", 1}})),
              HasSubstr("has a field \"Loose\""));
}

TEST(TokenizerLengths, OfACallTakeThePlaceOfTheFiles) {
  const Tokenizer tokenizer = bert(truncation(5, {{"strategy", "OnlySecond"}}), padding(fixed(9)));
  EXPECT_EQ(tokenizer.encode(text, {.pad = false, .max_tokens = 4}), (Ids{1, 269, 39, 2}));
  EXPECT_EQ(tokenizer.encode(text, {.pad = false, .max_tokens = 20}), whole);
  EXPECT_EQ(tokenizer.encode(text, {.add_special = false, .pad = false, .max_tokens = 2}),
            (Ids{269, 39}));
  EXPECT_EQ(tokenizer.encode(text, {.truncate = false, .pad = false, .max_tokens = 4}), whole);
  EXPECT_THAT(error_of([&] { tokenizer.encode(text, {.max_tokens = 1}); }),
              HasSubstr("[encode] max_tokens is 1, but 2 tokens are put around every text"));
}

}  // namespace
}  // namespace tilewright::lengths_test
