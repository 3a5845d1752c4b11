// Where characters begin and end in UTF-8 text that may be broken.
#pragma once

#include <cstddef>
#include <string_view>

namespace tilewright::tokenizer {

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

}  // namespace tilewright::tokenizer
