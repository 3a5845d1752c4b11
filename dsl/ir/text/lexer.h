// Splits the textual form of the tile IR into tokens and says where it stands. Separate from the
// parser, which knows the grammar and nothing of characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::ir {

enum class TokenKind : std::uint8_t {
  end,
  word,    // loop, f32, sum: letters, digits, '_' and '.', not beginning with a digit
  value,   // %name, without the sign
  symbol,  // @name or @"name", without sign and quotes
  number,  // begins with a digit or '-': 12, -1.5e-3, -inf, 4x8
  mark,    // one of ( ) { } [ ] < > , : =
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  int line = 1, column = 1;
  bool is(TokenKind k, std::string_view t) const { return kind == k && text == t; }
  // As much of the text as a message should show, '?' for characters that could drive a terminal.
  std::string excerpt() const;
  std::string describe() const;  // for messages: "'loop'", "the end of the text"
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { next(); }
  const Token& peek() const { return token_; }
  Token take();

 private:
  void next();
  void skip_blanks();
  void advance();
  bool at_end() const { return position_ >= text_.size(); }
  char here() const { return at_end() ? '\0' : text_[position_]; }
  std::string letters();  // the longest run of name characters
  std::string quoted();

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 1, column_ = 1;
  Token token_;
};

// Raises `Error` in the form "[parse] line 3, column 7: ...".
[[noreturn]] void raise_at(const Token& token, const std::string& message);

}  // namespace tilewright::ir
