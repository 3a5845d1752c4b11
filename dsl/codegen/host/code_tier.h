// How much work LLVM puts into a host's code.
#pragma once

#include <cstdint>

namespace tilewright::dsl {

// Either computes the same bits.
enum class CodeTier : std::uint8_t {
  quick,  // a third of the time or less to generate; kernels without products run a few times
          // slower
  full
};

}  // namespace tilewright::dsl
