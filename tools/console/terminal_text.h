// Text from other people on its way to a terminal, which obeys control characters: they could
// change its title, its colours, the text above, or the effect of the next key. Apart from the
// printing code, because an error must be printed without memory.
#pragma once

#include <cstddef>
#include <string_view>

namespace tilewright::tools {

// How many bytes at the beginning of `text` are a control character, other than those of a new line
// and a tab: 1 of ASCII, 2 of the others, which are two bytes in UTF-8; or 0.
inline std::size_t control_size(std::string_view text) {
  if (text.empty()) return 0;
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x20) return byte(0) == '\n' || byte(0) == '\t' ? 0 : 1;
  if (byte(0) == 0x7f) return 1;
  return byte(0) == 0xc2 && text.size() > 1 && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

// Calls `write` with the parts of `text` that are not control characters, in order, and with "?"
// in the place of each that is. Needs no memory.
template <typename Write>
void write_without_control(std::string_view text, const Write& write) {
  std::size_t plain = 0;
  while (plain < text.size()) {
    std::size_t control = control_size(text.substr(plain));
    if (control == 0) {
      ++plain;
      continue;
    }
    if (plain > 0) write(text.substr(0, plain));
    write(std::string_view("?"));
    text.remove_prefix(plain + control);
    plain = 0;
  }
  if (!text.empty()) write(text);
}

}  // namespace tilewright::tools
