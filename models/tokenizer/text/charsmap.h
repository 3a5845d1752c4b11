// The precompiled map of characters of sentencepiece, by which T5, XLM-R and ALBERT normalise
// texts: a trie of strings in the layout of darts-clone, and the texts that take their place.
//
// A map says for a whole grapheme what it becomes, by the shortest beginning of it that the map
// has, if the grapheme has less than 6 bytes; else for each of its characters. So does the library
// `tokenizers`, whose ids these are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::tokenizer {

class Charsmap {
 public:
  Charsmap() = default;
  // `text` is the map in base64; errors begin with `where`.
  Charsmap(std::string_view text, std::string_view where);
  // Bytes that are not UTF-8 become what U+FFFD does, or stay.
  std::string run(std::string_view text) const;

 private:
  // The text in place of one that begins with a string of the map, the shortest; nothing where it
  // begins with none.
  std::optional<std::string_view> found(std::string_view text) const;
  void append(std::string_view grapheme, std::string& result) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;                   // each ends with a zero
  std::array<bool, 128> is_kept_ = {};  // ASCII that stays as it is
};

}  // namespace tilewright::tokenizer
