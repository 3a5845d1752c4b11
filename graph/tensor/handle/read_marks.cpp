// Marks of handles that captured functions have read, and what a marked handle reports when it
// stands for something else (handle_changes.h, handle_assignments.h).
#include "graph/tensor/capture.h"
#include "graph/tensor/handle_assignments.h"
#include "graph/tensor/handle_changes.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright {

// Handles on symbolic tensors belong to the capture and end with it.
void Tensor::mark() const {
  graph::Capture* capture = graph::Capture::active();
  if (capture == nullptr || capture->is_broken() || is_symbolic()) return;
  if (body_ != nullptr) capture->note_read(body_->buffer.get());
  std::uint64_t none = 0;
  read_by_.compare_exchange_strong(none, capture->reader(), std::memory_order_relaxed);
}

// A handle that a capture has in its list of assignments stays marked, so that its end is reported.
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
