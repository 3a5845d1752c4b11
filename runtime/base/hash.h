// A stable content hash: the same bytes give the same 128 bits in every process and on every
// machine. Every key of the library (kernels, regions, plans) is made with it; a key is compared by
// its full value, never by a pointer or by `std::hash`.
//
// The function is two lanes of a 64-bit multiply-and-fold hash over the values in the order given.
// It guards against accident, not against an adversary.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

struct Hash {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const Hash&) const = default;
  std::string hex() const;  // 32 digits
  // Reads the output of `hex`; nothing for any other text.
  static std::optional<Hash> parse(std::string_view hex);
};

// Feeds values one after the other. Lengths of strings and lists are part of the hash.
class Hasher {
 public:
  Hasher& add(std::uint64_t value);
  Hasher& add(std::string_view text);
  template <std::integral T>
  Hasher& add(T value) {
    return add(static_cast<std::uint64_t>(value));
  }
  template <typename T>
  requires std::is_enum_v<T> Hasher& add(T value) { return add(static_cast<std::uint64_t>(value)); }
  Hasher& add(double value) { return add(std::bit_cast<std::uint64_t>(value)); }
  Hasher& add(const char* text) { return add(std::string_view(text)); }
  Hasher& add(const Hash& hash) { return add(hash.high).add(hash.low); }
  template <typename List>
  requires requires(const List& list) {
    list.begin() != list.end();
    list.size();
  } &&(!std::convertible_to<const List&, std::string_view>)Hasher& add(const List& list) {
    add(static_cast<std::uint64_t>(list.size()));
    for (const auto& item : list) add(item);
    return *this;
  }
  Hash finish() const;

 private:
  std::uint64_t a_ = 0x9e3779b97f4a7c15, b_ = 0xc2b2ae3d27d4eb4f;
};

}  // namespace tilewright

template <>
struct std::hash<tilewright::Hash> {
  std::size_t operator()(const tilewright::Hash& h) const noexcept { return h.low; }
};
