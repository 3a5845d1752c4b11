// One line of a text that reads back, consumed from the left: the lexer of graphs and of task
// lists, whose texts have one thing a line and so need no more than this.
//
// Blanks between tokens mean nothing. Where the line is not as it should be, `fail` raises the
// Error, with the number of the line, the rest of it, and the form that a line has.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/files/foreign_text.h"

namespace tilewright::graph {

class TextLine {
 public:
  TextLine(std::string_view text, int number, std::string_view form)
      : rest_(text), number_(number), form_(form) {
    skip_blanks();
  }

  bool done() const { return rest_.empty(); }
  bool starts_with(std::string_view token) const { return rest_.starts_with(token); }
  bool accept(std::string_view token) {
    if (!starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    skip_blanks();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(concat("expected '", token, "'"));
  }
  std::string_view word() {
    return while_in([](char c) { return is_word(c); });
  }
  // The text between such a character, which is next, and the one that closes it.
  std::string_view enclosed(char open, char close) {
    int depth = 0;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      depth += rest_[i] == open ? 1 : rest_[i] == close ? -1 : 0;
      if (depth > 0) continue;
      std::string_view found = rest_.substr(1, i - 1);
      rest_.remove_prefix(i + 1);
      skip_blanks();
      return found;
    }
    fail(concat("there is no '", std::string(1, close), "'"));
  }
  template <typename T>
  T number_in(std::string_view text) const {
    T value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail(concat("'", text, "' is not a number"));
    return value;
  }
  template <typename T>
  T number() {
    return number_in<T>(word());
  }
  // "4x8", or "scalar" for none.
  std::vector<std::int64_t> list() {
    std::string_view text = while_in([](char c) { return is_word(c) && c != '+'; });
    std::vector<std::int64_t> items;
    if (text == "scalar") return items;
    while (true) {
      std::size_t cut = text.find('x');
      items.push_back(number_in<std::int64_t>(text.substr(0, cut)));
      if (cut == text.npos) return items;
      text.remove_prefix(cut + 1);
    }
  }
  [[noreturn]] void fail(const std::string& what) const {
    raise_error(concat("[parse] line ", number_, ": ", what, " before '",
                       shown(rest_.substr(0, 20)), "'; the form is ", form_));
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
           c == '+';
  }
  template <typename Accepts>
  std::string_view while_in(Accepts accepts) {
    std::size_t length = 0;
    while (length < rest_.size() && accepts(rest_[length])) ++length;
    if (length == 0) fail("expected a name or a number");
    std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    skip_blanks();
    return found;
  }
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\r'))
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
  int number_;
  std::string_view form_;
};

// Calls visit(line) for each line that is not blank; `number` is left at the last one's.
template <typename Visit>
void for_each_line(std::string_view text, std::string_view form, int& number, Visit&& visit) {
  while (!text.empty()) {
    std::size_t length = std::min(text.find('\n'), text.size());
    TextLine line(text.substr(0, length), ++number, form);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (!line.done()) visit(line);
  }
}

}  // namespace tilewright::graph
