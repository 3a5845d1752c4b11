// Facts about a tensor, and what its body is asked for. What needs more than the body (a capture, a
// kernel, a copy) is in handle/.
#include "graph/tensor/tensor.h"

#include "graph/ir/location.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {

using std::source_location;

namespace graph {

static void require_countable_bytes(std::int64_t elements) {
  constexpr std::int64_t too_many = std::int64_t{1} << 59;  // of up to 16 bytes
  require(elements < too_many, "[tensor] ", elements,
          " elements are too many; fewer than 2^59 can be had, whose bytes fit 63 bits");
}

Tensor make_tensor(DType dtype, StridedView view, std::shared_ptr<Buffer> buffer) {
  require_countable_bytes(element_count(view.shape));
  auto body = std::make_shared<TensorBody>();
  body->dtype = dtype;
  body->view = std::move(view);
  body->buffer = std::move(buffer);
  return Tensor(std::move(body));
}

TensorBody& body_of(const Tensor& tensor, std::string_view operation, source_location where) {
  require(tensor.defined(), "[", operation, "] the tensor is undefined (at ", At{where},
          "); assign one before using it");
  return *tensor.body();  // defined() has noted that it is read
}

void require_shared(const TensorBody& concrete, std::string_view operation, source_location where) {
  require(!concrete.must_share, "[", operation, "] view() gave the tensor of shape ",
          concrete.view.shape, " of one whose strides do not fit that shape, so it is a copy",
          where.line() > 0 ? concat(" (at ", At{where}, ")") : "",
          "; write to contiguous().view() or to the result of reshape, which may be copies");
}

void require_writable(const TensorBody& concrete, std::string_view operation,
                      source_location where) {
  require_shared(concrete, operation, where);
  require(!concrete.buffer->is_read_only(), "[", operation,
          "] the tensor is frozen: functions compiled with Options::freezing hold copies of it, "
          "or what they computed from it",
          where.line() > 0 ? concat(" (at ", At{where}, ")") : "",
          "; write to a clone, or compile them without");
}

void require_own_elements(const TensorBody& concrete, std::string_view operation,
                          source_location where) {
  const StridedView& place = concrete.view;
  if (element_count(place.shape) == 0) return;
  for (int axis = 0; axis < place.shape.rank(); ++axis)
    require(place.strides[axis] != 0 || place.shape[axis] <= 1, "[", operation,
            "] the tensor of shape ", place.shape, " has stride 0 along axis ", axis,
            ": more than one of its elements refers to one place in memory (at ", At{where},
            "); write to a clone, or to the tensor that was expanded");
}

void* address_of(const TensorBody& body) {
  return static_cast<std::byte*>(body.buffer->data()) + body.view.offset * size_bytes(body.dtype);
}

bool begins_aligned(const TensorBody& body) {
  return reinterpret_cast<std::uintptr_t>(address_of(body)) % 64 == 0;
}

DeviceMemory* memory_of(const Tensor& tensor) { return tensor.body()->buffer->memory(); }

}  // namespace graph

std::atomic<int> detail::captures = 0;

namespace {

TensorBody& existing(const Tensor& tensor, std::string_view operation) {
  require(tensor.defined(), "[", operation,
          "] the tensor is undefined; assign one before using it");
  return *tensor.body();
}

}  // namespace

bool Tensor::is_symbolic() const { return body_ && !body_->buffer; }
DType Tensor::dtype() const { return existing(*this, "dtype").dtype; }
const Shape& Tensor::shape() const { return existing(*this, "shape").view.shape; }
std::int64_t Tensor::size(int axis) const {
  auto normal = normalise_axis(axis, rank());
  require(normal.has_value(), "[size] axis ", axis, " is outside a tensor of shape ", shape(),
          "; it must be in [", -rank(), ", ", rank(), ")");
  return shape()[*normal];
}

}  // namespace tilewright
