#include "graph/tensor/handle_changes.h"

#include <algorithm>

#include "runtime/base/fork_gate.h"

namespace tilewright::graph {

void HandleChanges::add(const Buffer* memory) noexcept {
  GatedLock lock(mutex_);
  std::uint64_t number = count_.load(std::memory_order_relaxed);
  latest_[number % kept] = memory;
  count_.store(number + 1, std::memory_order_relaxed);
}

bool HandleChanges::concern(std::uint64_t since, std::span<const Buffer* const> memory) const {
  GatedLock lock(mutex_);
  std::uint64_t end = count_.load(std::memory_order_relaxed);
  if (end - since > kept) return true;
  for (; since < end; ++since) {
    const Buffer* changed = latest_[since % kept];
    if (changed == nullptr || std::ranges::find(memory, changed) != memory.end()) return true;
  }
  return false;
}

// Never destroyed, since handles may be destroyed at the very end of the process.
HandleChanges& handle_changes() {
  static constinit HandleChanges changes;
  return changes;
}

}  // namespace tilewright::graph
