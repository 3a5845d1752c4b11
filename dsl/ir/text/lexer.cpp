#include "dsl/ir/text/lexer.h"

#include <cctype>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/files/foreign_text.h"

namespace tilewright::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

void raise_at(const Token& token, const std::string& message) {
  raise_error(concat("[parse] line ", token.line, ", column ", token.column, ": ", message));
}

std::string Token::excerpt() const { return shown(text); }

std::string Token::describe() const {
  switch (kind) {
    case TokenKind::end: return "the end of the text";
    case TokenKind::value: return "'%" + excerpt() + "'";
    case TokenKind::symbol: return "'@" + excerpt() + "'";
    case TokenKind::word:
    case TokenKind::number:
    case TokenKind::mark: return "'" + excerpt() + "'";
  }
  __builtin_unreachable();
}

Token Lexer::take() {
  Token token = std::move(token_);
  next();
  return token;
}

void Lexer::advance() {
  column_ = text_[position_] == '\n' ? 1 : column_ + 1;
  line_ += text_[position_++] == '\n';
}

// Blanks, and comments from "//" to the end of the line.
void Lexer::skip_blanks() {
  while (!at_end()) {
    if (text_.substr(position_, 2) == "//")
      while (!at_end() && here() != '\n') advance();
    else if (std::isspace(static_cast<unsigned char>(here())))
      advance();
    else
      return;
  }
}

std::string Lexer::letters() {
  std::string run;
  for (; is_letter(here()) || is_digit(here()) || here() == '.'; advance()) run += here();
  return run;
}

std::string Lexer::quoted() {
  advance();
  std::string name;
  while (here() != '"') {
    if (at_end() || here() == '\n') raise_at(token_, "the quoted name does not end");
    if (here() == '\\') {
      std::string_view escape = text_.substr(position_, 4);
      int high = escape.size() == 4 ? hex_digit(escape[2]) : -1;
      int low = escape.size() == 4 ? hex_digit(escape[3]) : -1;
      if (high < 0 || low < 0 || escape[1] != 'x')
        raise_at(token_, "a backslash in a name must be followed by x and two hexadecimal digits");
      name += static_cast<char>(high * 16 + low);
      for (int i = 0; i < 4; ++i) advance();
    } else {
      name += here();
      advance();
    }
  }
  advance();
  return name;
}

void Lexer::next() {
  skip_blanks();
  token_ = {TokenKind::end, "", line_, column_};
  if (at_end()) return;
  char first = here();
  if (first == '%' || first == '@') {
    advance();
    token_.kind = first == '%' ? TokenKind::value : TokenKind::symbol;
    token_.text = first == '@' && here() == '"' ? quoted() : letters();
    if (token_.text.empty() && first == '%') raise_at(token_, "a name must follow '%'");
  } else if (is_letter(first)) {
    token_.kind = TokenKind::word;
    token_.text = letters();
  } else if (is_digit(first) || first == '-') {
    token_.kind = TokenKind::number;
    do {
      token_.text += here();
      advance();
      // The sign of an exponent belongs to the number.
    } while (is_digit(here()) || is_letter(here()) || here() == '.' ||
             ((here() == '-' || here() == '+') && token_.text.back() == 'e'));
  } else if (std::string_view("(){}[]<>,:=").find(first) != std::string_view::npos) {
    token_.kind = TokenKind::mark;
    token_.text = first;
    advance();
  } else {
    raise_at(token_, "'" + shown({&first, 1}) + "' begins nothing");
  }
}

}  // namespace tilewright::ir
