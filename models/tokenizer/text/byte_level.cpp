#include "models/tokenizer/text/byte_level.h"

#include "models/files/utf8.h"

namespace tilewright::tokenizer {
namespace {

constexpr char32_t characters_end = 0x144;

struct Alphabet {
  std::array<std::string, 256> character_of;
  std::array<int, characters_end> byte_of;

  Alphabet() {
    byte_of.fill(-1);
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      bool is_itself = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
      char32_t character = is_itself ? byte : next++;
      append_character(character_of[byte], character);
      byte_of[character] = static_cast<int>(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet made;
  return made;
}

}  // namespace

void append_byte_characters(std::string& result, std::string_view text) {
  for (char c : text) result += alphabet().character_of[static_cast<unsigned char>(c)];
}

void append_bytes_of(std::string& result, std::string_view token) {
  std::size_t before = result.size();
  bool all = true;
  for_each_character(token, [&](std::string_view, char32_t value) {
    int byte = value < characters_end ? alphabet().byte_of[value] : -1;
    all = all && byte >= 0;
    if (all) result += static_cast<char>(byte);
  });
  if (all) return;
  result.resize(before);
  result += token;
}

}  // namespace tilewright::tokenizer
