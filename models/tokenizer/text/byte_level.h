// The alphabet of byte-level tokenizers: each byte is a visible character, so that a vocabulary of
// text can hold all bytes. Printable bytes of Latin-1 are themselves, the others are U+0100 and on.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace tilewright::tokenizer {

// Appends one character for each byte of `text`.
void append_byte_characters(std::string& result, std::string_view text);

// Appends the bytes that the characters of `token` stand for; where one stands for none, the token
// itself.
void append_bytes_of(std::string& result, std::string_view token);

}  // namespace tilewright::tokenizer
