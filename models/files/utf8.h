// Where characters begin and end in UTF-8 text that may be broken, and their code points.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright::tokenizer {

inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";

// Bytes of the character that `text` begins with, 1 to 4; 0 where the bytes can begin none. A
// character that the end of the text cuts short has the negative number of its bytes there.
inline int character_size(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  int size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (int i = 1; i < size; ++i) {
    if (static_cast<std::size_t>(i) == text.size()) return -i;
    // The second byte also rules out overlong forms, surrogates and values above U+10FFFF.
    unsigned char low = 0x80, high = 0xbf;
    if (i == 1 && lead == 0xe0) low = 0xa0;
    if (i == 1 && lead == 0xed) high = 0x9f;
    if (i == 1 && lead == 0xf0) low = 0x90;
    if (i == 1 && lead == 0xf4) high = 0x8f;
    if (byte(static_cast<std::size_t>(i)) < low || byte(static_cast<std::size_t>(i)) > high)
      return 0;
  }
  return size;
}

// Bytes at the begin of `text`, which is not empty and begins no whole character, that one U+FFFD
// stands for: as many as a character could begin with, at least one.
inline std::size_t broken_size(std::string_view text) {
  for (std::size_t size = 3; size > 1; --size)
    if (size <= text.size() && character_size(text.substr(0, size)) < 0) return size;
  return 1;
}

// The code point of the whole character that `text` begins with, `size` bytes long.
inline char32_t code_point(std::string_view text, int size) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (size == 1) return byte(0);
  char32_t value = byte(0) & (0xff >> (size + 1));
  for (std::size_t i = 1; i < static_cast<std::size_t>(size); ++i)
    value = value << 6 | (byte(i) & 0x3f);
  return value;
}

inline void append_character(std::string& text, char32_t value) {
  auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
  auto add_rest = [&](int shift) {
    for (; shift >= 0; shift -= 6) add(0x80 | (value >> shift & 0x3f));
  };
  if (value < 0x80) return add(value);
  if (value < 0x800) return add(0xc0 | value >> 6), add_rest(0);
  if (value < 0x10000) return add(0xe0 | value >> 12), add_rest(6);
  add(0xf0 | value >> 18), add_rest(12);
}

// Calls `visit(bytes, value)` for every character of `text`. A byte that is part of none is visited
// alone, with a value above all code points.
inline constexpr char32_t no_character = 0x110000;
template <typename Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    int size = character_size(text);
    bool is_whole = size > 0;
    std::string_view bytes = text.substr(0, is_whole ? static_cast<std::size_t>(size) : 1);
    visit(bytes, is_whole ? code_point(bytes, size) : no_character);
    text.remove_prefix(bytes.size());
  }
}

// The longest begin of `text` that is UTF-8, in bytes.
inline std::size_t whole_size(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    int size = character_size(text.substr(at));
    if (size <= 0) break;
    at += static_cast<std::size_t>(size);
  }
  return at;
}

}  // namespace tilewright::tokenizer
