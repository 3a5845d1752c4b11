// A tensor map as the emulator represents it.
//
// On a GPU the driver makes 128 opaque bytes (CUtensorMap) that say where a tensor lies, how large
// it is, and which box of it one copy moves. The emulator has the same facts as plain data, in as
// many bytes at the same alignment, so that a kernel takes a pointer to either.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tilewright::dsl::emulator {

// How the rows of a box are permuted in shared memory: 16-byte chunks within a span of this many
// bytes are exchanged by the number of the span's row.
enum class Swizzle : std::uint8_t { none = 16, bytes32 = 32, bytes64 = 64, bytes128 = 128 };
// What a swizzle moves as a whole.
constexpr int chunk_bytes = 16;

// The address of a byte after the swizzle. Spans of `swizzle` bytes; a pattern repeats after 8
// spans.
inline std::uintptr_t swizzled(std::uintptr_t address, Swizzle swizzle) {
  std::uintptr_t mask = static_cast<std::uintptr_t>(swizzle) / 16 - 1;
  return address ^ (address >> 3 & mask << 4);
}

struct alignas(64) TensorMap {
  static constexpr std::uint32_t valid = 0x544D4150;

  std::uint32_t mark = valid;
  std::uint8_t rank = 2;
  std::uint8_t element_bytes = 2;
  Swizzle swizzle = Swizzle::none;
  bool rounds_to_tf32 = false;  // loaded elements
  std::byte* base = nullptr;
  // Innermost first, as a driver has them. The innermost stride is that of one element.
  std::array<std::int64_t, 5> sizes{};
  std::array<std::int64_t, 4> strides_bytes{};  // of dimension 1 and on
  std::array<std::uint16_t, 5> box{};

  std::int64_t stride_bytes(int dimension) const {
    return dimension == 0 ? element_bytes : strides_bytes[static_cast<std::size_t>(dimension) - 1];
  }
  std::int64_t box_bytes() const {
    std::int64_t bytes = element_bytes;
    for (int i = 0; i < rank; ++i) bytes *= box[static_cast<std::size_t>(i)];
    return bytes;
  }
};
static_assert(sizeof(TensorMap) == 128);

}  // namespace tilewright::dsl::emulator
