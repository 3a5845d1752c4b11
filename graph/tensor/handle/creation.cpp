// Tensors over new memory, and over memory of the user's.
#include <cstring>

#include "graph/tensor/capture.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::Capture;

// Raises `Error` where the shape is impossible.
static std::int64_t bytes_of_shape(const Shape& shape, DType dtype, std::string_view operation) {
  std::int64_t bytes = size_bytes(dtype);
  for (std::int64_t size : shape) {
    require(size >= 0, "[", operation, "] size ", size, " in the shape ", shape,
            "; sizes must not be negative");
    require(!__builtin_mul_overflow(bytes, size, &bytes), "[", operation, "] a tensor of shape ",
            shape, " is too large; its bytes must fit 63 bits");
  }
  return bytes;
}

Tensor Tensor::empty(const Shape& shape, DType dtype, const Device& device) {
  auto buffer = Buffer::allocate(bytes_of_shape(shape, dtype, "empty"), device.memory());
  Tensor tensor = graph::make_tensor(dtype, graph::row_major(shape), std::move(buffer));
  if (Capture* capture = Capture::active()) capture->note_empty(tensor.body());
  return tensor;
}

Tensor Tensor::from_bytes(const void* data, std::int64_t bytes, const Shape& shape, DType dtype) {
  std::int64_t wanted = bytes_of_shape(shape, dtype, "from");
  require(bytes == wanted, "[from] ", bytes / size_bytes(dtype), " elements for the shape ", shape,
          "; it takes ", wanted / size_bytes(dtype));
  auto buffer = Buffer::allocate(bytes, nullptr);
  Tensor tensor = graph::make_tensor(dtype, graph::row_major(shape), std::move(buffer));
  if (bytes > 0) std::memcpy(tensor.body_->buffer->data(), data, static_cast<std::size_t>(bytes));
  if (Capture* capture = Capture::active()) capture->note_made(tensor.body());
  return tensor;
}

Tensor Tensor::from_blob(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner) {
  std::int64_t bytes = bytes_of_shape(shape, dtype, "from_blob");
  require(data != nullptr || bytes == 0, "[from_blob] the memory is null, for a tensor of shape ",
          shape, "; give the address of its ", bytes, " bytes");
  auto buffer = Buffer::wrap(data, bytes, std::move(owner));
  return graph::make_tensor(dtype, graph::row_major(shape), std::move(buffer));
}

}  // namespace tilewright
