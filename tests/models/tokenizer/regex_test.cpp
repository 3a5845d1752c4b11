#include "models/tokenizer/text/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "models/tokenizer/text/regex_syntax.h"
#include "tests/errors.h"

namespace tilewright::tokenizer::regex_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  Regex regex(pattern, "[t] where");
  RegexSearch search(regex, text.size());
  std::vector<std::string> found;
  for (Range range : search.run(text))
    found.emplace_back(text.substr(range.begin, range.end - range.begin));
  return found;
}
std::string error(std::string_view pattern) {
  return error_of([&] { Regex(pattern, "[t] where"); });
}

TEST(Regex, CutsWordsAsLlama3Does) {
  const char* pattern = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
                        R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"
                        R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
  EXPECT_THAT(matches(pattern, "It'S  1599\xc3\xa9t\xc3\xa9 !\n\n x"),
              ElementsAre("It", "'S", " ", " ", "159", "9", "\xc3\xa9t\xc3\xa9", " !\n\n", " x"));
}

TEST(Regex, GivesOnigurumaSMeaningsToWhatPcre2SaysOtherwise) {
  EXPECT_THAT(matches(R"(\h+)", "xyz beef 09"), ElementsAre("beef", "09"));
  EXPECT_THAT(matches("(?m:a.b)", "a\nb"), ElementsAre("a\nb"));
  EXPECT_THAT(matches("a{1,3}+", "aaaaa"), ElementsAre("aaaaa"));
  EXPECT_THAT(matches("a{,2}", "aaa"), ElementsAre("aa", "a"));
  EXPECT_THAT(matches("^b$", "a\nb\nc"), ElementsAre("b"));
  EXPECT_THAT(matches(R"(\s)", "\xe1\xa0\x8e\xc2\x85"), ElementsAre("\xc2\x85"));
  EXPECT_THAT(matches(R"(\w+)", "\xc2\xbd\xcc\x81-"), ElementsAre("\xc2\xbd\xcc\x81"));
  EXPECT_THAT(matches(R"([\w]+)", "\xc2\xbd\xcc\x81-"), ElementsAre("\xcc\x81"));
  EXPECT_THAT(matches(R"(\b.)", "ab-c"), ElementsAre("a", "-", "c"));
  EXPECT_THAT(matches(R"(\p{Han}+)", "\xe7\x8c\xab\xe3\x80\x81"), ElementsAre("\xe7\x8c\xab"));
  EXPECT_THAT(matches(R"(\p{Letter}|\p{^L}(?#note))", "a1"), ElementsAre("a", "1"));
  EXPECT_THAT(matches(R"([^\S\n]+)", "a \t\nb"), ElementsAre(" \t"));
  EXPECT_THAT(matches(R"([a-c\x{e9}\-\]-]+)",
                      "abc-]\xc3\xa9"
                      "d"),
              ElementsAre("abc-]\xc3\xa9"));
  EXPECT_THAT(matches(R"((?<name>a|b)+(?=c)(?>c)|\u0064{2})", "abcdd"), ElementsAre("abc", "dd"));
  EXPECT_THAT(matches("[[:alpha:][:digit:]]+", "a1-"), ElementsAre("a1"));
}

// As tokenizers 0.23 splits them, whose regular expressions are Oniguruma's.
TEST(Regex, AddsTheCharactersOfAClassInAClass) {
  // The pattern of BLOOM, Poro and Viking.
  const char* pattern =
      " ?[^(\\s|[.,!?\xe2\x80\xa6\xe3\x80\x82\xef\xbc\x8c\xe3\x80\x81\xe0\xa5\xa4\xdb\x94\xd8\x8c])"
      "]+";
  EXPECT_THAT(matches(pattern, "hello, world! (a|b) x\xe2\x80\xa6y"),
              ElementsAre("hello", " world", "a", "b", " x", "y"));
  EXPECT_THAT(matches("[a-c[x-z]]+", "abxqz-"), ElementsAre("abx", "z"));
  EXPECT_THAT(matches("[^a[b[cd]]]+", "xyabcdz"), ElementsAre("xy", "z"));
  EXPECT_THAT(matches("[[ab][\\d]]+", "ab1-c2"), ElementsAre("ab1", "2"));
  EXPECT_THAT(matches("[a[[:digit:]\\s]]+", "a1 b"), ElementsAre("a1 "));
  EXPECT_THAT(matches("[a[b]-z]+", "ab-zc"), ElementsAre("ab-z"));
  EXPECT_THAT(matches("[a-[b]]+", "a-bc"), ElementsAre("a-b"));
  EXPECT_THAT(matches("[[-a]b]+", "-abc"), ElementsAre("-ab"));
}

TEST(Regex, FindsEmptyMatchesWhereNoMatchEnds) {
  EXPECT_THAT(matches("x*", "axb"), ElementsAre("", "x", ""));
}

TEST(Regex, MatchesOnEachSideOfBytesThatAreNoCharacters) {
  EXPECT_THAT(matches("[a-z]+",
                      "ab\xff"
                      "cd\xe7\x8c"),
              ElementsAre("ab", "cd"));
}

TEST(Regex, RefusesWhatItDoesNotUnderstandByName) {
  const std::pair<const char*, const char*> cases[] = {
      {"a)", "[t] where: the pattern \"a)\", byte 1: it has a ')' too many"},
      {"(a", "a group has no end"},
      {"*a", "'*' repeats nothing"},
      {"(*FAIL)", "a verb (*..) is not supported"},
      {"(?x)a", "the group (?x is not supported"},
      {"a(?i)b", "options that begin in the middle are not supported"},
      {"a**", "a repetition of a repetition is not supported"},
      {"a{1001}", "more than 1000 repetitions"},
      {"a{1,2,3}", "a count in braces is not understood"},
      {"a{2}?", "{n}? is not supported"},
      {"(a)\\1", "\\1 is not supported"},
      {"\\X", "\\X is not supported"},
      {"[\\W]", "\\W is not supported in brackets"},
      {"a\\", "it ends in a backslash"},
      {"[a\\", "it ends in a backslash"},
      {"(?", "it ends too early"},
      {"\\xg0", "'g' in a character's number; 1 to 8 hexadecimal digits are needed"},
      {"\\x{d800}", "a character's number is not one of Unicode"},
      {"\\pL", "\\p without braces is not supported"},
      {"[]a]", "an empty class, or a class that begins with ']'"},
      {"[a-\\d]", "a range that ends in a class"},
      {"[a", "a class has no end"},
      {"[a&&b]", "an intersection of classes (&&) is not supported"},
      {"[a[^b]]", "a negated class in a class is not supported"},
      {"[a[]b]", "an empty class, or a class that begins with ']'"},
      {"[a[b]", "a class has no end"},
      {"[a-[:digit:]]", "a range that ends in a class"},
      {"[[:graph:]]", "the class [:graph:] is not supported"},
      {"[\xff]", "it is not UTF-8"},
      {"\\p{Nothing}", "the pattern \"\\p{Nothing}\": unknown property"},
      {"a{3,2}", "the pattern \"a{3,2}\": numbers out of order"},
  };
  for (const auto& [pattern, message] : cases)
    EXPECT_THAT(error(pattern), HasSubstr(message)) << pattern;
  std::string deep(33, '(');
  EXPECT_THAT(error(deep), HasSubstr("groups are nested deeper than 32"));
  EXPECT_THAT(error("[a" + std::string(33, '[')), HasSubstr("classes are nested deeper than 32"));
  EXPECT_THAT(error(std::string(8193, 'a')), HasSubstr("a pattern of 8193 bytes; at most 8192"));
}

TEST(Regex, EndsASearchThatNeedsMoreThanItsBudget) {
  std::string text(300'000, 'a');
  auto begin = std::chrono::steady_clock::now();
  for (const char* pattern : {"(?:a+)+[bc]", "a++b|a", "(?=.*b)a", "(?:a|aa)+[bc]", "a*?[bc]"})
    EXPECT_THAT(error_of([&] { matches(pattern, text); }), HasSubstr("takes too long on this text"))
        << pattern;
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 60);
}

TEST(Regex, HasABudgetForLongWordsAndLongRunsOfSpace) {
  const char* pattern = R"([^\r\n\p{L}\p{N}]?\p{L}+|\s*[\r\n]+|\s+(?!\S)|\s+|.)";
  for (std::string text : {std::string(1 << 20, 'a'), std::string(1 << 20, ' ') + "x"})
    EXPECT_LE(matches(pattern, text).size(), 2U);
}

}  // namespace
}  // namespace tilewright::tokenizer::regex_test
