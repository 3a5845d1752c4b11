#include "graph/tensor/handle_changes.h"

#include <algorithm>

#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/fork_gate.h"

namespace tilewright {
namespace graph {

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

}  // namespace graph

std::atomic<int> detail::captures = 0;

// What is symbolic belongs to the capture and ends with it.
void Tensor::mark() const {
  graph::Capture* capture = graph::Capture::active();
  if (capture == nullptr || capture->is_broken() || is_symbolic()) return;
  if (body_ != nullptr) capture->note_read(body_->buffer.get());
  std::uint64_t none = 0;
  read_by_.compare_exchange_strong(none, capture->reader(), std::memory_order_relaxed);
}

// A handle that a capture has in its list of assignments stays marked, so that its end is told.
void Tensor::tell_change(const std::shared_ptr<TensorBody>& former) noexcept {
  graph::Capture* capture = graph::Capture::active();
  if (capture != nullptr && capture->is_broken()) capture = nullptr;
  std::uint64_t serial = capture == nullptr ? 0 : capture->reader();
  std::uint64_t reader = read_by_.exchange(serial, std::memory_order_relaxed);
  if (capture != nullptr) capture->assignments().note(*this, former, reader != 0);
  if (reader != 0 && reader != serial)
    graph::handle_changes().add(former == nullptr ? nullptr : former->buffer.get());
}

// Handles that a capture made for itself come and go.
void Tensor::tell_end() noexcept {
  graph::Capture* capture = graph::Capture::active();
  if (capture != nullptr) capture->assignments().forget(*this);
  bool is_own = capture != nullptr && capture->reader() == read_by_.load(std::memory_order_relaxed);
  if (body_ != nullptr && !is_own) graph::handle_changes().add(body_->buffer.get());
}

}  // namespace tilewright
