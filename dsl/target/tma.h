// The copies that TMA supports: the one rule for lowering, which chooses blocks for it, and for the
// code generator, which uses it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::dsl::tma {

constexpr std::size_t most_dimensions = 5;
// Addresses, and the strides of all dimensions but the innermost, are multiples of this many bytes.
constexpr std::int64_t quantum_bytes = 16;
constexpr bool takes(std::int64_t bytes) { return bytes % quantum_bytes == 0; }

}  // namespace tilewright::dsl::tma
