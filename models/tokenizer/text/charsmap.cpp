#include "models/tokenizer/text/charsmap.h"

#include <algorithm>
#include <cstring>

#include "models/files/utf8.h"
#include "models/tokenizer/text/unicode.h"
#include "runtime/base/error.h"

namespace tilewright::tokenizer {
namespace {

constexpr std::size_t max_grapheme_bytes = 5;  // of one that is looked up as a whole

int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// The bytes of a text in base64, padded or not; nothing where it is none.
std::optional<std::string> decoded(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t held = 0;
  int bits = 0;
  for (char c : text) {
    const int digit = digit_of(c);
    if (digit < 0) return std::nullopt;
    held = held << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xff);
  }
  return bits < 6 ? std::optional(bytes) : std::nullopt;
}

// A unit of the trie holds the distance to its children, the byte that leads to it, and whether a
// string ends there; a unit of a value has that alone.
std::size_t children_of(std::uint32_t unit) {
  return std::size_t{unit >> 10} << ((unit & (1U << 9)) >> 6);
}
bool leads_by(std::uint32_t unit, unsigned char byte) {
  return (unit & (1U << 31 | 0xffU)) == byte;
}
bool has_value(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }

}  // namespace

Charsmap::Charsmap(std::string_view text, std::string_view where) {
  const std::optional<std::string> bytes = decoded(text);
  require(bytes.has_value(), where,
          " has a precompiled_charsmap that is no base64, which is needed");
  std::uint32_t size = 0;
  const std::size_t given = bytes->size();
  if (given >= sizeof size) std::memcpy(&size, bytes->data(), sizeof size);
  require(size >= sizeof size && size % sizeof size == 0 && size <= given - sizeof size, where,
          " has a precompiled_charsmap of ", given, " bytes with a trie of ", size,
          "; a multiple of 4 that fits is needed");
  units_.resize(size / sizeof size);
  std::memcpy(units_.data(), bytes->data() + sizeof size, size);
  texts_ = bytes->substr(sizeof size + size);
  require(texts_.empty() || texts_.back() == '\0', where,
          " has a precompiled_charsmap whose last text has no end; a zero is needed");
  require(whole_size(texts_) == texts_.size(), where,
          " has a precompiled_charsmap with texts that are not UTF-8, which is needed");
  for (std::size_t c = 0; c < is_kept_.size(); ++c) {
    const char letter = static_cast<char>(c);
    is_kept_[c] = !found({&letter, 1});
  }
}

std::optional<std::string_view> Charsmap::found(std::string_view text) const {
  std::size_t at = children_of(units_[0]);
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) break;
    at ^= byte;
    if (at >= units_.size() || !leads_by(units_[at], byte)) return std::nullopt;
    const std::uint32_t unit = units_[at];
    at ^= children_of(unit);
    if (!has_value(unit)) continue;
    if (at >= units_.size()) return std::nullopt;
    const std::size_t begin = units_[at] & ~(1U << 31);
    if (begin >= texts_.size()) return std::string_view();
    return std::string_view(texts_.data() + begin);
  }
  return std::nullopt;
}

void Charsmap::append(std::string_view grapheme, std::string& result) const {
  if (grapheme.size() <= max_grapheme_bytes)
    if (auto other = found(grapheme)) {
      result += *other;
      return;
    }
  for_each_character(grapheme, [&](std::string_view bytes, char32_t value) {
    result += found(value == no_character ? replacement_character : bytes).value_or(bytes);
  });
}

std::string Charsmap::run(std::string_view text) const {
  if (units_.empty()) return std::string(text);
  std::string result;
  result.reserve(text.size());
  auto is_ascii = [&](std::size_t i) { return static_cast<unsigned char>(text[i]) < 0x80; };
  while (!text.empty()) {
    // An ASCII character before another one is a grapheme, but for a line's end of two.
    if (is_ascii(0) && (text.size() == 1 || is_ascii(1)) && text[0] != '\r') {
      if (is_kept_[static_cast<unsigned char>(text[0])])
        result += text[0];
      else
        append(text.substr(0, 1), result);
      text.remove_prefix(1);
      continue;
    }
    const std::size_t size = grapheme_size(text);
    append(text.substr(0, size), result);
    text.remove_prefix(size);
  }
  return result;
}

}  // namespace tilewright::tokenizer
