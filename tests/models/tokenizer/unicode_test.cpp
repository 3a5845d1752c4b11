#include "models/tokenizer/text/unicode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "models/files/utf8.h"
#include "tests/errors.h"

namespace tilewright::tokenizer::unicode_test {
namespace {

using ::testing::HasSubstr;

TEST(NormalForms, ComposeAndDecompose) {
  EXPECT_EQ(normalized("e\xcc\x81", Form::nfc, 100), "\xc3\xa9");
  EXPECT_EQ(normalized("\xc3\xa9", Form::nfd, 100), "e\xcc\x81");
  EXPECT_EQ(normalized("\xef\xac\x81\xc2\xbd", Form::nfkc, 100),
            "fi1\xe2\x81\x84"
            "2");
  EXPECT_EQ(normalized("\xed\x95\x9c", Form::nfd, 100), "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab");
  EXPECT_EQ(normalized("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", Form::nfc, 100), "\xed\x95\x9c");
}

TEST(NormalForms, OrderMarksByTheirClassAndKeepBrokenBytes) {
  EXPECT_EQ(normalized("q\xcc\x81\xcc\xa3", Form::nfd, 100), "q\xcc\xa3\xcc\x81");
  EXPECT_EQ(normalized("e\xff\xcc\x81", Form::nfc, 100), "e\xff\xcc\x81");
}

TEST(NormalForms, TakeNoQuadraticTimeForALongRunOfMarks) {
  std::string text = "q";
  for (int i = 0; i < 300'000; ++i) text += i % 2 ? "\xcc\x81" : "\xcc\xa3";
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(normalized(text, Form::nfc, 1 << 20).size(), text.size());
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 20);
}

TEST(NormalForms, RefuseATextThatGrowsBeyondItsLimit) {
  EXPECT_THAT(error_of([] { normalized("\xef\xb7\xba", Form::nfkc, 17); }),
              HasSubstr("[encode] the text grows beyond 17 characters in normalisation"));
  EXPECT_THAT(error_of([] { normalized("\xef\xb7\xba", Form::nfkc, 20); }),
              HasSubstr("[encode] the text grows beyond 20 bytes in normalisation"));
}

TEST(Characters, HaveTheirProperties) {
  EXPECT_TRUE(is_white_space(0x3000) && !is_white_space(0x180e));
  EXPECT_TRUE(is_number(0xbd) && !is_number('a') && !is_number(no_character));
  EXPECT_TRUE(is_mark(0x301) && is_punctuation('$') && is_punctuation(0x3001));
  EXPECT_TRUE(is_nonspacing(0x301) && !is_nonspacing(0x903) && !is_nonspacing(no_character));
  EXPECT_TRUE(is_other(0x7) && is_other(0x200d) && is_other(0xe000) && !is_other(0x378) &&
              !is_other(' ') && !is_other(no_character));
  EXPECT_TRUE(is_word('a') && is_word(0x200d) && is_word('_') && is_word(0x1f137) &&
              !is_word(0xbd) && !is_word('-'));
  std::string text;
  append_lower_case(text, 0x130);
  append_lower_case(text, 0x3a3);
  EXPECT_EQ(text, "i\xcc\x87\xcf\x83");
}

TEST(Utf8, WritesWhatItReads) {
  for (char32_t value : {0x0U, 0x7fU, 0x80U, 0x7ffU, 0x800U, 0xffffU, 0x10000U, 0x10ffffU}) {
    std::string text;
    append_character(text, value);
    EXPECT_EQ(character_size(text), static_cast<int>(text.size()));
    EXPECT_EQ(code_point(text, static_cast<int>(text.size())), value);
  }
  EXPECT_EQ(broken_size("\xe7\x8c"
                        "a"),
            2U);
  EXPECT_EQ(broken_size("\xe7"
                        "ab"),
            1U);
  EXPECT_EQ(broken_size("\xf0\x9f\x98"), 3U);
  EXPECT_EQ(broken_size("\xc0\x80"), 1U);
}

}  // namespace
}  // namespace tilewright::tokenizer::unicode_test
