#include "models/tokenizer/added_tokens.h"

#include <algorithm>

#include "models/files/utf8.h"
#include "models/tokenizer/text/unicode.h"

namespace tilewright::tokenizer {
namespace {

// The last character of the text; `no_character` where there is none.
char32_t last_of(std::string_view text, std::size_t& bytes) {
  for (bytes = 1; bytes <= 4 && bytes <= text.size(); ++bytes) {
    std::string_view end = text.substr(text.size() - bytes);
    int size = character_size(end);
    if (size == static_cast<int>(bytes)) return code_point(end, size);
  }
  bytes = 0;
  return no_character;
}

char32_t first_of(std::string_view text, std::size_t& bytes) {
  int size = text.empty() ? 0 : character_size(text);
  bytes = static_cast<std::size_t>(std::max(size, 0));
  return size > 0 ? code_point(text, size) : no_character;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const auto& a, const auto& b) { return a.content < b.content; });
  auto end = std::unique(tokens_.begin(), tokens_.end(),
                         [](const auto& a, const auto& b) { return a.content == b.content; });
  tokens_.erase(end, tokens_.end());
  for (const AddedToken& token : tokens_)
    begins_[static_cast<unsigned char>(token.content.front())] = true;
}

// The tokens are sorted, so those that agree in their first bytes are a range, which each further
// byte narrows.
const AddedToken* AddedTokens::longest_at(std::string_view text) const {
  auto low = tokens_.begin(), high = tokens_.end();
  const AddedToken* longest = nullptr;
  for (std::size_t depth = 0; depth < text.size() && low != high; ++depth) {
    auto byte_of = [depth](const AddedToken& token) {
      return depth < token.content.size() ? static_cast<unsigned char>(token.content[depth]) : -1;
    };
    int wanted = static_cast<unsigned char>(text[depth]);
    low = std::partition_point(low, high, [&](const auto& t) { return byte_of(t) < wanted; });
    high = std::partition_point(low, high, [&](const auto& t) { return byte_of(t) == wanted; });
    if (low != high && low->content.size() == depth + 1) longest = &*low;
  }
  return longest;
}

AddedTokens::TokenSpan AddedTokens::place_of(const AddedToken& token, std::string_view text,
                                             std::size_t at, std::size_t done) const {
  std::size_t begin = at, end = at + token.content.size(), bytes = 0;
  bool in_word = token.single_word && (is_word(last_of(text.substr(0, begin), bytes)) ||
                                       is_word(first_of(text.substr(end), bytes)));
  if (in_word) return {begin, end, false};
  if (token.left_strip) {
    while (begin > done && is_white_space(last_of(text.substr(0, begin), bytes))) begin -= bytes;
    // White space that the token before took away is not given to this one.
    begin = std::min(std::max(begin, done), end);
  }
  // Up to `done` there is white space, where the token before has looked already.
  if (token.right_strip) end = std::max(end, done);
  if (token.right_strip)
    while (is_white_space(first_of(text.substr(end), bytes))) end += bytes;
  return {begin, end, true};
}

}  // namespace tilewright::tokenizer
