#include "tools/console/terminal_text.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::tools::terminal_text_test {
namespace {

std::string shown_on_a_terminal(std::string_view text) {
  std::string shown;
  write_without_control(text, [&](std::string_view part) { shown += part; });
  return shown;
}

TEST(TerminalText, KeepsLettersOfAllLanguagesLinesAndTabs) {
  for (const char* text : {"", "a", "one\n\ttwo\n", "\u00e9\u4e16\U0001f600", "\u00a0", "\xc2"})
    EXPECT_EQ(shown_on_a_terminal(text), text);
}

TEST(TerminalText, HasAQuestionMarkForEachOtherControlCharacter) {
  EXPECT_EQ(shown_on_a_terminal("\x1b]0;gone\x07"), "?]0;gone?");
  EXPECT_EQ(shown_on_a_terminal("a\r\bb\x7f"), "a??b?");
  EXPECT_EQ(shown_on_a_terminal(std::string_view("\0x", 2)), "?x");
  EXPECT_EQ(shown_on_a_terminal("\u009b31mred\u0085"), "?31mred?") << "as UTF-8 has them";
}

}  // namespace
}  // namespace tilewright::tools::terminal_text_test
