// Blocks of memory straight from the system, aligned for any vector load.
//
// Separate from the buffer pool because scratch memory of launches comes from here too, and so that
// one place knows about huge pages: blocks of 2 MiB or more are mapped at a 2 MiB boundary and the
// kernel is asked to back them with huge pages, which a streaming kernel gains a tenth from.
#pragma once

#include <cstdint>

namespace tilewright {

inline constexpr std::int64_t block_alignment = 64;
inline constexpr std::int64_t huge_page_bytes = std::int64_t{2} << 20;

// `size_bytes` > 0 bytes, a multiple of 64 (of 2 MiB from 2 MiB on); null where the system has none
// left. Uninitialised. Thread safe.
void* allocate_block(std::int64_t size_bytes);
void free_block(void* block, std::int64_t size_bytes);

// The memory that this process could still take, according to the system's free memory and the
// process's own limit; an allocation may get less. Thread safe.
std::int64_t available_bytes();

// The most memory that this program has held so far. Thread safe.
std::int64_t peak_memory_bytes();

// The size that blocks for `size_bytes` bytes have: the next of four steps a power of two.
// At most a quarter larger; 0 where the size would not fit into 64 bits.
std::int64_t block_size_for(std::int64_t size_bytes);

}  // namespace tilewright
