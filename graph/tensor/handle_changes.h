// Which handles have changed since a captured function read them.
//
// A compiled function looks at tensors besides its arguments when it is captured, and holds what it
// found. A handle that is reassigned afterwards (`layer.weight = t`), moved from or destroyed
// changes what the function would find; so does a tensor that moves to another device. A handle
// that a capture reads is therefore marked, and a marked one says here when it changes. A compiled
// function compares one number at each call; where it differs, and the change is one of memory that
// it uses, it looks again.
//
// It costs a handle that no capture has read the test of its mark, and a call one load, however
// many tensors the function uses.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "runtime/buffer.h"

namespace tilewright::graph {

// Thread safe. A change that happens while another thread looks may or may not be seen.
class HandleChanges {
 public:
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  // A handle that stood for this memory changed; null: it was undefined.
  void add(const Buffer* memory) noexcept;
  // True if one of the changes after the first `since` may concern users of this memory. Changes of
  // undefined handles concern everybody, and so do more changes than are kept.
  bool concern(std::uint64_t since, std::span<const Buffer* const> memory) const;

 private:
  static constexpr std::size_t kept = 256;
  mutable std::mutex mutex_;  // of what follows
  std::atomic<std::uint64_t> count_ = 0;
  std::array<const Buffer*, kept> latest_ = {};  // change i at i % kept
};

HandleChanges& handle_changes();  // of this process

}  // namespace tilewright::graph
