#include "dsl/emulator/known_memory.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"

namespace tilewright::dsl::emulator {
namespace {

thread_local const KnownMemory* current = nullptr;

std::int64_t number_of(const void* address) { return reinterpret_cast<std::int64_t>(address); }

// Bytes between an address and an array, on either side.
std::int64_t distance(const KnownArray& array, const void* address) {
  std::int64_t offset = number_of(address) - number_of(array.begin);
  return offset < 0 ? -offset : std::max<std::int64_t>(0, offset - array.bytes);
}

}  // namespace

bool KnownMemory::contains(const void* address, std::int64_t bytes) const {
  return std::ranges::any_of(arrays_, [&](const KnownArray& array) {
    std::int64_t offset = number_of(address) - number_of(array.begin);
    return offset >= 0 && offset + bytes <= array.bytes;
  });
}

std::string KnownMemory::fault(const void* address) const {
  if (arrays_.empty()) return "out of bounds: the kernel was launched on no memory";
  const KnownArray& nearest = *std::ranges::min_element(
      arrays_, {}, [&](const KnownArray& array) { return distance(array, address); });
  std::int64_t offset = number_of(address) - number_of(nearest.begin);
  std::int64_t index =
      offset / nearest.element_bytes - (offset < 0 && offset % nearest.element_bytes != 0);
  return concat("out of bounds: index ", index, " of ", nearest.name, ", which has ",
                nearest.bytes / nearest.element_bytes, " elements; mask elements outside");
}

KnownMemoryScope::KnownMemoryScope(const KnownMemory* memory)
    : outer_(std::exchange(current, memory)) {}
KnownMemoryScope::~KnownMemoryScope() { current = outer_; }
const KnownMemory* known_memory() { return current; }

}  // namespace tilewright::dsl::emulator
