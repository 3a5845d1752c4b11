#include "runtime/package/content_hash.h"

#include <array>
#include <bit>
#include <cstring>

namespace tilewright {

static_assert(std::endian::native == std::endian::little);

// Four hashes side by side, since each waits for its own last step.
Hash hash_of_content(std::span<const std::byte> content) {
  constexpr std::size_t lanes = 4, word = sizeof(std::uint64_t);
  std::array<Hasher, lanes> hashers;
  const std::byte* at = content.data();
  std::size_t rest = content.size();
  for (; rest >= lanes * word; at += lanes * word, rest -= lanes * word) {
    std::array<std::uint64_t, lanes> words;
    std::memcpy(words.data(), at, sizeof words);
    for (std::size_t i = 0; i < lanes; ++i) hashers[i].add(words[i]);
  }
  Hasher joined;
  joined.add(content.size());
  for (; rest > 0; --rest, ++at) joined.add(std::to_integer<std::uint64_t>(*at));
  for (const Hasher& hasher : hashers) joined.add(hasher.finish());
  return joined.finish();
}

}  // namespace tilewright
