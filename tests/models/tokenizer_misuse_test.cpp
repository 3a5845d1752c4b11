// Parts of tokenizers that are refused, with a message that names the supported ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/tokenizer/tokenizer.h"
#include "tests/errors.h"
#include "tests/models/small_tokenizer.h"

namespace tilewright::tokenizer_misuse_test {
namespace {

using namespace testing_tokenizer;

using namespace testing_tokenizer;

using nlohmann::json;
using ::testing::HasSubstr;

TEST(Tokenizer, RefusesWhatItDoesNotSupportAndSaysWhatItDoes) {
  const Hostile cases[] = {
      {"another model", [](json& t) { t["model"]["type"] = "Lattice"; },
       "the model is of type \"Lattice\"; supported are BPE, WordPiece, WordLevel and "
       "Unigram"},
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
         t["normalizer"] = {{"type", "Nmt"}};
       },
       "the normalizer \"Nmt\" is of a type that is not supported; supported are NFC"},
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

}  // namespace
}  // namespace tilewright::tokenizer_misuse_test
