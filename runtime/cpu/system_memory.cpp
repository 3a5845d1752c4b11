#include "runtime/cpu/system_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "runtime/base/error.h"

namespace tilewright {

std::int64_t block_size_for(std::int64_t size_bytes) {
  check(size_bytes >= 0, "a size is negative");
  if (size_bytes > std::numeric_limits<std::int64_t>::max() / 4) return 0;
  std::uint64_t size = std::max<std::uint64_t>(static_cast<std::uint64_t>(size_bytes), 64);
  std::uint64_t step = std::max<std::uint64_t>(std::bit_floor(size) / 4, 64);
  if (size > static_cast<std::uint64_t>(huge_page_bytes))
    step = std::max<std::uint64_t>(step, static_cast<std::uint64_t>(huge_page_bytes));
  return static_cast<std::int64_t>((size + step - 1) / step * step);
}

void* allocate_block(std::int64_t size_bytes) {
  auto size = static_cast<std::size_t>(size_bytes);
  if (size_bytes < huge_page_bytes) return std::aligned_alloc(block_alignment, size);
  // One huge page more than asked for, so that an aligned block lies inside; the rest goes back.
  auto huge = static_cast<std::size_t>(huge_page_bytes);
  void* mapped =
      mmap(nullptr, size + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto begin = reinterpret_cast<std::uintptr_t>(mapped);
  std::size_t before = (huge - begin % huge) % huge;
  if (before > 0) munmap(mapped, before);
  if (before < huge) munmap(reinterpret_cast<void*>(begin + before + size), huge - before);
  void* block = reinterpret_cast<void*>(begin + before);
  madvise(block, size, MADV_HUGEPAGE);  // advice: where it fails small pages do
  return block;
}

void free_block(void* block, std::int64_t size_bytes) {
  if (size_bytes < huge_page_bytes)
    std::free(block);
  else
    munmap(block, static_cast<std::size_t>(size_bytes));
}

}  // namespace tilewright
