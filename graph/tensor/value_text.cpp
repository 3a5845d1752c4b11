#include "graph/tensor/value_text.h"

#include <array>
#include <charconv>

namespace tilewright::detail {
namespace {

template <typename T>
std::string shortest_text(T value) {
  std::array<char, 64> text;
  auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return std::string(text.data(), end);
}

}  // namespace

std::string text_of_number(std::int64_t value) { return shortest_text(value); }
std::string text_of_number(std::uint64_t value) { return shortest_text(value); }
std::string text_of_number(float value) { return shortest_text(value); }
std::string text_of_number(double value) { return shortest_text(value); }
std::string text_of_number(long double value) { return shortest_text(value); }

std::string text_of_text(std::string_view value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "'";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\\') {
      text += "\\\\";
    } else if (byte < 0x20 || byte == 0x7f) {
      text += "\\x";
      text += digits[byte / 16];
      text += digits[byte % 16];
    } else {
      text += c;
    }
  }
  return text + "'";
}

}  // namespace tilewright::detail
