#include "graph/tensor/tensor_copy.h"

#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/eager.h"
#include "graph/tensor/handle_changes.h"
#include "graph/tensor/memory/strided_copy.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright {
namespace graph {
namespace {

DeviceMemory* memory_of(const Tensor& tensor) { return tensor.body()->buffer->memory(); }
std::int64_t bytes_of(const Tensor& tensor) { return tensor.count() * size_bytes(tensor.dtype()); }

// Both row-major.
void copy_bytes(const Tensor& to, const Tensor& from) {
  DeviceMemory *there = memory_of(to), *here = memory_of(from);
  void *target = address_of(*to.body()), *source = address_of(*from.body());
  std::int64_t bytes = bytes_of(to);
  if (here == there) return here->copy(target, source, bytes);
  if (here == nullptr) return there->copy_from_host(target, source, bytes);
  if (there == nullptr) return here->copy_to_host(target, source, bytes);
  if (there->copy_from(target, *here, source, bytes)) return;
  auto between = Buffer::allocate(bytes);
  here->copy_to_host(between->data(), source, bytes);
  there->copy_from_host(target, between->data(), bytes);
}

}  // namespace

void copy_elements(const Tensor& to, const Tensor& from) {
  if (to.count() == 0) return;
  const TensorBody &target = *to.body(), &source = *from.body();
  if (memory_of(to) == nullptr && memory_of(from) == nullptr)
    return copy_elements(target.buffer->data(), target.view, source.buffer->data(), source.view,
                         size_bytes(target.dtype));
  if (to.is_contiguous() && from.is_contiguous()) return copy_bytes(to, from);
  if (memory_of(to) == memory_of(from)) return run_eager_copy(to, from);
  if (!from.is_contiguous()) return copy_elements(to, copy_to(from, from.device()));
  copy_elements(to, copy_to(from, to.device()));
}

Tensor copy_to(const Tensor& from, const Device& device) {
  auto buffer = Buffer::allocate(from.count() * size_bytes(from.dtype()), device.memory());
  Tensor to = make_tensor(from.dtype(), row_major(from.shape()), std::move(buffer));
  copy_elements(to, from);
  return to;
}

Tensor host_copy(const Tensor& from, std::string_view operation,
                 std::optional<std::source_location> where) {
  StepAccess access(from, operation, where);
  return copy_to(from, Device::cpu());
}

}  // namespace graph

// In a function that runs in segments what was recorded is run, so that there is memory to ask for.
static const TensorBody& placed(const Tensor& tensor, std::string_view operation,
                                std::source_location w) {
  const TensorBody& body = graph::body_of(tensor, operation, w);
  if (graph::Capture* capture = graph::Capture::active())
    capture->before_placing(body, operation, w);
  if (!body.buffer) graph::require_usable(body, operation, w);
  return body;
}

Device Tensor::device(std::source_location w) const {
  return Device::of(placed(*this, "device", w).buffer->memory());
}

Tensor Tensor::to(const Device& device, std::source_location w) const {
  const TensorBody& body = placed(*this, "to", w);
  graph::StepAccess access(*this, "to", w);
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

}  // namespace tilewright

namespace tilewright::graph {

static const TensorBody* root_of(const Tensor& tensor) {
  const TensorBody* root = tensor.body().get();
  while (!root->buffer && root->base) root = root->base.get();
  return root;
}

bool are_of_one_memory(const Tensor& a, const Tensor& b) {
  const TensorBody *x = root_of(a), *y = root_of(b);
  return x == y || (x->buffer != nullptr && x->buffer == y->buffer);
}

}  // namespace tilewright::graph
