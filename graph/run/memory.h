// Placing values of limited lifetime in one block of memory, so that values which never live at the
// same time share bytes.
//
// Largest first, each at the lowest offset that is free for its whole life (Pisarchyk and Lee,
// "Efficient memory management for deep neural net inference", 2020: greedy by size). Offsets are
// multiples of 64 bytes. Separate from plans because it knows bytes and times only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::graph {

// Of what programs write, in bytes.
constexpr std::int64_t alignment = 64;
constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

struct Lifetime {
  std::int64_t bytes;
  int first, last;  // steps at which it must exist, both included
};

struct MemoryLayout {
  std::vector<std::int64_t> offsets;  // as the lifetimes
  std::int64_t bytes = 0;
};

MemoryLayout lay_out(std::span<const Lifetime> lifetimes);

}  // namespace tilewright::graph
