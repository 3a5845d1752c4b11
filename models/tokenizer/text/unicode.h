// Facts about characters, and the normalisation forms. The wall before the library utf8proc, whose
// version of Unicode they have.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::tokenizer {

enum class Form : unsigned char { nfc, nfd, nfkc, nfkd };

// Code points above U+10FFFF have none of these properties.
bool is_white_space(char32_t value);  // the property White_Space
bool is_number(char32_t value);       // the general categories Nd, Nl, No
bool is_mark(char32_t value);         // Mn, Mc, Me
bool is_nonspacing(char32_t value);   // Mn alone: accents, and other marks above or below
bool is_other(char32_t value);        // Cc, Cf, Co, Cs; not what Unicode has not given a meaning
bool is_punctuation(char32_t value);  // P, and all of ASCII's
bool is_word(char32_t value);         // letters, marks, decimal digits, connectors, joiners
// Appends the character in lower case, whatever stands around it.
void append_lower_case(std::string& text, char32_t value);

// The bytes of the first extended grapheme cluster of a text that is not empty. A byte that is not
// UTF-8 is one by itself.
std::size_t grapheme_size(std::string_view text);

// The text in the form; bytes that are not UTF-8 stay, and nothing is combined across them. Time
// O(n log n). Raises `Error` "[encode] ..." where the result would pass `limit` bytes.
std::string normalized(std::string_view text, Form form, std::size_t limit);

}  // namespace tilewright::tokenizer
