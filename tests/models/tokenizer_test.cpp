#include "models/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::tokenizer_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Ids = std::vector<TokenId>;

const std::string space = "\xe2\x96\x81";  // the mark that stands for a space in tokens

// A small tokenizer of the supported kind: bytes, a few letters, and merges to "ab", "abab", "_ab".
json small() {
  json vocab;
  int id = 0;
  for (const char* special : {"<unk>", "<s>", "</s>"}) vocab[special] = id++;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    vocab[name] = id++;
  }
  for (const std::string& token : {space, std::string("a"), std::string("b"), std::string("ab"),
                                   std::string("abab"), space + "ab", std::string("ba")})
    vocab[token] = id++;
  json added = json::array();
  for (int i = 0; i < 3; ++i)
    added.push_back({{"id", i},
                     {"content", i == 0   ? "<unk>"
                                 : i == 1 ? "<s>"
                                          : "</s>"},
                     {"special", true}});
  return {{"added_tokens", added},
          {"pre_tokenizer", nullptr},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", space}},
              {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space}}}}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single",
             {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
              {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}}}},
          {"decoder",
           {{"type", "Sequence"},
            {"decoders",
             {{{"type", "Replace"}, {"pattern", {{"String", space}}}, {"content", " "}},
              {{"type", "ByteFallback"}},
              {{"type", "Fuse"}},
              {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
          {"model",
           {{"type", "BPE"},
            {"byte_fallback", true},
            {"fuse_unk", true},
            {"unk_token", "<unk>"},
            {"vocab", vocab},
            {"merges", {"a b", "ab ab", space + " ab", "b a"}}}}};
}
Tokenizer parse(const json& value) { return Tokenizer::parse(value.dump(), "t"); }
std::string error_with(const json& value) {
  return error_of([&] { parse(value); });
}
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

struct Hostile {
  const char* what;
  std::function<void(json&)> change;
  const char* message;
};

TEST(Tokenizer, RefusesWhatItDoesNotSupportAndSaysWhatItDoes) {
  const Hostile cases[] = {
      {"another model", [](json& t) { t["model"]["type"] = "Lattice"; },
       "the model is of type \"Lattice\"; supported are BPE, WordPiece and WordLevel"},
      {"Unigram",
       [](json& t) {
         t["model"] = {{"type", "Unigram"}, {"vocab", json::array({json::array({"a", -1.5})})}};
       },
       "the vocab is or holds a list, as that of Unigram; supported are BPE"},
      {"no model", [](json& t) { t.erase("model"); }, "has no model"},
      {"no type",
       [](json& t) {
         t["model"].erase("type");
         t["model"].erase("merges");
       },
       "the model has no type and no merges"},
      {"dropout", [](json& t) { t["model"]["dropout"] = 0.1; },
       "the model has a dropout, which is for training; null is needed"},
      {"suffix", [](json& t) { t["model"]["end_of_word_suffix"] = std::string(65, 'w'); },
       "the model's end_of_word_suffix has more than 64 bytes"},
      {"field of the model", [](json& t) { t["model"]["speed"] = 1; },
       "the model has a field \"speed\", whose meaning is not known here"},
      {"field of the file", [](json& t) { t["extra"] = 1; },
       "the tokenizer has a field \"extra\", whose meaning is not known"},
      {"field of an added token", [](json& t) { t["added_tokens"][0]["loud"] = true; },
       "an added token has a field \"loud\""},
      {"added tokens as an object", [](json& t) { t["added_tokens"] = json::object(); },
       "the tokenizer has an object as \"added_tokens\"; a list is needed"},
      {"added token without id", [](json& t) { t["added_tokens"][0].erase("id"); },
       "an added token has no \"id\"; an integer is needed"},
      {"type as a number", [](json& t) { t["decoder"]["type"] = 5; },
       "the decoder has 5 as \"type\"; a string is needed"},
      {"truncation",
       [](json& t) {
         t["truncation"] = {{"max_length", 5}};
       },
       "the truncation has no \"strategy\"; a string is needed"},
      {"pre-tokenizer",
       [](json& t) {
         t["pre_tokenizer"] = {{"type", "UnicodeScripts"}};
       },
       "the pre_tokenizer \"UnicodeScripts\" is of a type that is not supported; supported are "
       "Split, ByteLevel"},
      {"behavior",
       [](json& t) {
         t["pre_tokenizer"] = {{"type", "Punctuation"}, {"behavior", "Loud"}};
       },
       "has the behavior \"Loud\"; Removed, Isolated"},
      {"prepend_scheme",
       [](json& t) {
         t["pre_tokenizer"] = {{"type", "Metaspace"}, {"prepend_scheme", "last"}};
       },
       "has the prepend_scheme \"last\"; always, first or never is needed"},
      {"replacement",
       [](json& t) {
         t["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "__"}};
       },
       "has \"__\" as \"replacement\"; one character is needed"},
      {"flag",
       [](json& t) {
         t["pre_tokenizer"] = {{"type", "Digits"}, {"individual_digits", "yes"}};
       },
       "has \"yes\" as \"individual_digits\"; true or false is needed"},
      {"normalizer",
       [](json& t) {
         t["normalizer"] = {{"type", "Precompiled"}};
       },
       "the normalizer \"Precompiled\" is of a type that is not supported; supported are NFC"},
      {"normalizer without type", [](json& t) { t["normalizer"] = json::object(); },
       "the normalizer has no \"type\"; a string is needed"},
      {"normalizer as a list", [](json& t) { t["normalizer"] = json::array(); },
       "the normalizer is an array; an object is needed"},
      {"sequence of nothing",
       [](json& t) {
         t["normalizer"] = {{"type", "Sequence"}};
       },
       "the normalizer has no \"normalizers\"; a list is needed"},
      {"too many",
       [](json& t) {
         json one = {{"type", "NFC"}};
         t["normalizer"] = {{"type", "Sequence"}, {"normalizers", json(65, one)}};
       },
       "more than 64 parts of the normalizer"},
      {"too deep",
       [](json& t) {
         for (int i = 0; i < 10; ++i) {
           json inner = t["normalizer"];
           t["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array({inner})}};
         }
       },
       "nested deeper than"},
      {"long prefix",
       [](json& t) {
         t["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(257, 'a')}};
       },
       "the normalizer \"Prepend\" has more than 256 bytes"},
      {"long content",
       [](json& t) {
         t["normalizer"] = {{"type", "Replace"},
                            {"pattern", {{"String", "a"}}},
                            {"content", std::string(257, 'a')}};
       },
       "the normalizer \"Replace\" has more than 256 bytes"},
      {"pattern",
       [](json& t) {
         t["normalizer"] = {{"type", "Replace"}, {"pattern", {{"Regex", "a)"}}}, {"content", ""}};
       },
       "the normalizer \"Replace\": the pattern \"a)\", byte 1: it has a ')' too many"},
      {"empty pattern",
       [](json& t) {
         t["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", ""}}}, {"content", "x"}};
       },
       "has an empty pattern"},
      {"post-processor",
       [](json& t) {
         t["post_processor"] = {{"type", "Other"}};
       },
       "supported are TemplateProcessing, BertProcessing"},
      {"post-processor's pair",
       [](json& t) {
         t["post_processor"] = {{"type", "BertProcessing"}, {"cls", {"<s>", 999}}};
       },
       "the post_processor \"BertProcessing\" needs a token with its id as \"cls\""},
      {"template token",
       [](json& t) { t["post_processor"]["single"][0]["SpecialToken"]["id"] = "<x>"; },
       "the post_processor names \"<x>\", which is not in the vocabulary"},
      {"template ids",
       [](json& t) {
         t["post_processor"]["special_tokens"]["<s>"] = {{"id", "<s>"}, {"ids", {999}}};
       },
       "the post_processor's token \"<s>\" has the id 999, which no token has"},
      {"template without text", [](json& t) { t["post_processor"]["single"].erase(1); },
       "leaves out the text"},
      {"template with the text twice",
       [](json& t) { t["post_processor"]["single"].push_back(t["post_processor"]["single"][1]); },
       "pieces must be SpecialTokens and one Sequence"},
      {"many templates",
       [](json& t) {
         t["post_processor"] = {{"type", "Sequence"},
                                {"processors", json(60, t["post_processor"])}};
         for (json& one : t["post_processor"]["processors"])
           one["single"].insert(one["single"].begin(), one["single"][0]);
       },
       "the post_processor adds more than 64 tokens"},
      {"decoder",
       [](json& t) {
         t["decoder"] = {{"type", "CTC"}};
       },
       "the decoder \"CTC\" is of a type that is not supported; supported are ByteLevel"},
      {"decoder's count", [](json& t) { t["decoder"]["decoders"][3]["stop"] = -1; },
       "has -1 as \"stop\"; an integer from 0 to 1048576 is needed"},
  };
  for (const Hostile& hostile : cases) {
    json value = small();
    hostile.change(value);
    EXPECT_THAT(error_with(value), HasSubstr(hostile.message)) << hostile.what;
  }
}

TEST(Tokenizer, RefusesDamagedTables) {
  const Hostile cases[] = {
      {"negative id", [](json& t) { t["model"]["vocab"]["a"] = -1; }, "\"a\" has id -1"},
      {"huge id", [](json& t) { t["model"]["vocab"]["a"] = 4194304; }, "ids from 0 to 4194303"},
      {"id with a fraction", [](json& t) { t["model"]["vocab"]["a"] = 1.5; }, "has 1.5 at \"a\""},
      {"no token",
       [](json& t) {
         t["model"]["vocab"] = json::object();
         t["model"]["merges"] = json::array();
         t["model"].erase("unk_token");
       },
       "the vocabulary is empty"},
      {"shared id",
       [](json& t) {
         t["model"]["vocab"]["a"] = 261;
         t["model"]["merges"] = json::array();
       },
       "has id 261, as another has; each id is one token's"},
      {"list", [](json& t) { t["model"]["vocab"] = json::array(); },
       "the vocab is or holds a list"},
      {"no vocab", [](json& t) { t["model"].erase("vocab"); }, "the model has no vocab"},
      {"no merges", [](json& t) { t["model"].erase("merges"); }, "the model has no merges"},
      {"unknown merge", [](json& t) { t["model"]["merges"].push_back("a zz"); },
       "merge 4 needs the token \"azz\", which is not in the vocabulary"},
      {"unknown result", [](json& t) { t["model"]["merges"].push_back("b b"); },
       "merge 4 needs the token \"bb\""},
      {"merge of a word's begin", [](json& t) { t["model"]["continuing_subword_prefix"] = "##"; },
       "merge 0 goes on with \"b\", which has no continuing_subword_prefix \"##\""},
      {"added token normalised away",
       [](json& t) {
         t["normalizer"] = {{"type", "Strip"}};
         t["added_tokens"].push_back({{"id", 900}, {"content", " "}});
       },
       "the added token \" \" is normalised to nothing"},
      {"repeated merge", [](json& t) { t["model"]["merges"].push_back("a b"); }, "appears twice"},
      {"merge of one", [](json& t) { t["model"]["merges"][0] = "ab"; },
       "merge 0 is \"ab\"; two tokens with one space between them"},
      {"merge of three",
       [](json& t) {
         t["model"]["merges"][0] = {"a", "b", "c"};
       },
       "merge 0 has more than two parts"},
      {"merge of numbers", [](json& t) { t["model"]["merges"][0] = 5; }, "merge 0 is 5"},
      {"merges as an object", [](json& t) { t["model"]["merges"] = json::object(); },
       "are or hold an object"},
      {"added id", [](json& t) { t["added_tokens"][1]["id"] = 2; },
       "the added token \"<s>\" has id 2, but the vocabulary gives it 1"},
      {"added twice", [](json& t) { t["added_tokens"].push_back(t["added_tokens"][1]); },
       "the added token \"<s>\" appears twice"},
      {"empty added token", [](json& t) { t["added_tokens"][1]["content"] = ""; },
       "an added token is empty"},
      {"long added token",
       [](json& t) { t["added_tokens"][1]["content"] = std::string(1025, 'a'); },
       "an added token has 1025 bytes; at most 1024 are allowed"},
      {"unknown unk", [](json& t) { t["model"]["unk_token"] = "<none>"; },
       "unk_token \"<none>\" is not in the vocabulary"},
  };
  for (const Hostile& hostile : cases) {
    json value = small();
    hostile.change(value);
    EXPECT_THAT(error_with(value), HasSubstr(hostile.message)) << hostile.what;
  }
}

TEST(Tokenizer, RefusesDamagedText) {
  auto error = [](std::string_view text) { return error_of([&] { Tokenizer::parse(text, "t"); }); };
  EXPECT_THAT(error(""), HasSubstr("[load_tokenizer] t: not valid JSON"));
  EXPECT_THAT(error("[]"), HasSubstr("is an array; an object is needed"));
  EXPECT_THAT(error(R"({"model":{"vocab":{"a":1,"a":2}}})"),
              HasSubstr("\"a\" appears twice in the vocab"));
  EXPECT_THAT(error(R"({"version":1,"version":2})"), HasSubstr("appears twice in one object"));
  EXPECT_THAT(error(std::string(1'000'000, '[')), HasSubstr("nested deeper than 16 levels"));
  EXPECT_THAT(error("\"" + std::string(100'000, 'x') + "\""), HasSubstr("at most 65536"));
  EXPECT_THAT(error(std::string("{") + std::string(70'000, ' ') + "}"),
              HasSubstr("70000 bytes of"));
  std::string whole = small().dump();
  for (std::size_t size = 0; size < whole.size(); size += 7)
    EXPECT_NE(error(whole.substr(0, size)), "") << "cut after " << size;
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
