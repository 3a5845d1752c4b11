// Where the elements of a tensor lie: its device and its strides.
#include "graph/tensor/capture.h"
#include "graph/tensor/handle_changes.h"
#include "graph/tensor/memory/step.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"

namespace tilewright {

using graph::Capture;
using std::source_location;

// In a function that runs in segments what was recorded is run, so that there is memory to ask for.
static const TensorBody& placed(const Tensor& tensor, std::string_view operation,
                                std::source_location w) {
  const TensorBody& body = graph::body_of(tensor, operation, w);
  if (Capture* capture = Capture::active()) capture->before_placing(body, operation, w);
  if (!body.buffer) graph::require_usable(body, operation, w);
  return body;
}

Device Tensor::device(std::source_location w) const {
  return Device::of(placed(*this, "device", w).buffer->memory());
}

Tensor Tensor::to(const Device& device, std::source_location w) const {
  const TensorBody& body = placed(*this, "to", w);
  graph::StepAccess access(body.token, "to", w);
  // The memory of an emulated GPU is the host's.
  return device.memory() == body.buffer->memory() ? *this : graph::copy_to(*this, device);
}

void Tensor::move_to(const Device& device, std::source_location w) {
  Tensor moved = to(device, w);
  if (moved.body() == body()) return;
  graph::handle_changes().add(body_->buffer.get());
  body_->buffer = moved.body()->buffer;
  body_->view = moved.body()->view;
  body_->token = {};
}

const Strides& Tensor::strides(source_location w) const {
  const TensorBody& body = graph::body_of(*this, "strides", w);
  if (Capture* capture = Capture::active()) capture->before_placing(body, "strides", w);
  if (!body.buffer) graph::require_usable(body, "strides", w);
  return body.view.strides;
}
// In a function that runs in segments what was recorded is run, so that there is a layout to ask
// for. Before, a value has every layout.
bool Tensor::is_contiguous(source_location w) const {
  Capture* capture = Capture::active();
  if (is_symbolic() && body_->base && capture && capture->is_broken())
    capture->before_placing(*body_, "is_contiguous", w);
  return is_symbolic() || is_row_major(shape(), strides(w));
}

}  // namespace tilewright
