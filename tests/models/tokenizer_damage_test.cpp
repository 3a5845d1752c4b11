// Tables and texts of tokenizers that are damaged: each is refused with a message that says where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/tokenizer/tokenizer.h"
#include "tests/errors.h"
#include "tests/models/small_tokenizer.h"

namespace tilewright::tokenizer_damage_test {
namespace {

using namespace testing_tokenizer;

using namespace testing_tokenizer;

using nlohmann::json;
using ::testing::HasSubstr;

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
       "has as vocab a list; an object from token to id is needed"},
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
  EXPECT_THAT(error("\"" + std::string(1'100'000, 'x') + "\""), HasSubstr("at most 1048576"));
  EXPECT_THAT(error(std::string("{") + std::string(70'000, ' ') + "}"),
              HasSubstr("70000 bytes of"));
  std::string whole = small().dump();
  for (std::size_t size = 0; size < whole.size(); size += 7)
    EXPECT_NE(error(whole.substr(0, size)), "") << "cut after " << size;
}

}  // namespace
}  // namespace tilewright::tokenizer_damage_test
