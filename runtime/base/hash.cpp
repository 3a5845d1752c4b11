#include "runtime/base/hash.h"

namespace tilewright {
namespace {

std::uint64_t fold(std::uint64_t x, std::uint64_t y) {
  auto product = static_cast<unsigned __int128>(x) * y;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

Hasher& Hasher::add(std::uint64_t value) {
  a_ = fold(a_ ^ value, 0xa0761d6478bd642f) + 0x8ebc6af09c88c6e3;
  b_ = fold(b_ + value, 0xe7037ed1a0b428db) ^ (value * 0x589965cc75374cc3);
  return *this;
}

Hasher& Hasher::add(std::string_view text) {
  add(static_cast<std::uint64_t>(text.size()));
  std::uint64_t word = 0;
  int filled = 0;
  for (char c : text) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(c)) << (8 * filled);
    if (++filled == 8) {
      add(word);
      word = 0;
      filled = 0;
    }
  }
  if (filled != 0) add(word);
  return *this;
}

Hash Hasher::finish() const {
  return {fold(a_ ^ 0x2d358dccaa6c78a5, b_ | 1), fold(b_ ^ 0x8bb84b93962eacc9, a_ | 1)};
}

std::string Hash::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::uint64_t word : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[word >> shift & 0xf];
  return text;
}

std::optional<Hash> Hash::parse(std::string_view hex) {
  if (hex.size() != 32) return {};
  std::uint64_t words[2] = {};
  for (std::size_t i = 0; i < 32; ++i) {
    char c = hex[i];
    bool is_digit = c >= '0' && c <= '9', is_letter = c >= 'a' && c <= 'f';
    if (!is_digit && !is_letter) return {};
    words[i / 16] = words[i / 16] << 4 | static_cast<unsigned>(is_digit ? c - '0' : c - 'a' + 10);
  }
  return Hash{words[0], words[1]};
}

}  // namespace tilewright
