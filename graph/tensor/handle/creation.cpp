// Tensors over new memory, and over memory of the user's.
#include <cstring>

#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Capture;
using std::source_location;

// Raises `Error` where the shape is impossible.
static std::int64_t bytes_of_shape(const Shape& shape, DType dtype, std::string_view operation,
                                   source_location w) {
  std::int64_t bytes = size_bytes(dtype);
  for (std::int64_t size : shape) {
    require(size >= 0, "[", operation, "] size ", size, " in the shape ", shape, " (at ", At{w},
            "); sizes must not be negative");
    require(!__builtin_mul_overflow(bytes, size, &bytes), "[", operation, "] a tensor of shape ",
            shape, " is too large (at ", At{w}, "); its bytes must fit 63 bits");
  }
  return bytes;
}

Tensor Tensor::empty(const Shape& shape, DType dtype, const Device& device, source_location w) {
  auto buffer = Buffer::allocate(bytes_of_shape(shape, dtype, "empty", w), device.memory());
  Tensor tensor = graph::make_tensor(dtype, graph::row_major(shape), std::move(buffer));
  if (Capture* capture = Capture::active()) capture->note_empty(tensor.body());
  return tensor;
}

Tensor Tensor::from_bytes(const void* data, std::int64_t bytes, const Shape& shape, DType dtype,
                          source_location w) {
  std::int64_t wanted = bytes_of_shape(shape, dtype, "from", w);
  require(bytes == wanted, "[from] ", bytes / size_bytes(dtype), " elements for the shape ", shape,
          " (at ", At{w}, "); it takes ", wanted / size_bytes(dtype));
  auto buffer = Buffer::allocate(bytes, nullptr);
  Tensor tensor = graph::make_tensor(dtype, graph::row_major(shape), std::move(buffer));
  if (bytes > 0) std::memcpy(tensor.body_->buffer->data(), data, static_cast<std::size_t>(bytes));
  if (Capture* capture = Capture::active()) capture->note_made(tensor.body());
  return tensor;
}

void detail::note_list(Shape& shape, int depth, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  if (depth == shape.rank()) return shape.push_back(length);
  require(shape[depth] == length, "[from] a list has ", length, " elements, another at its depth ",
          shape[depth], "; lists that are beside each other must have equal lengths");
}

// A buffer begins at a multiple of 64 bytes; memory before the first element is not touched.
Tensor Tensor::from_blob(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner,
                         const Device& device) {
  std::int64_t bytes = bytes_of_shape(shape, dtype, "from_blob", source_location());
  require(data != nullptr || bytes == 0, "[from_blob] the memory is null, for a tensor of shape ",
          shape, "; give the address of its ", bytes, " bytes");
  constexpr std::uintptr_t alignment = 64;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = address / alignment * alignment;
  const auto size = static_cast<std::uintptr_t>(size_bytes(dtype));
  if (address % size != 0) {
    require(!device.is_cuda(), "[from_blob] the memory at ", data,
            " lies at no multiple of the size of ", dtype, " (", size,
            " bytes); GPUs read such elements only");
    return from_bytes(data, bytes, shape, dtype);
  }
  graph::StridedView place = graph::row_major(shape);
  place.offset = static_cast<std::int64_t>((address - begin) / size);
  auto buffer = Buffer::wrap(reinterpret_cast<void*>(begin),
                             bytes + static_cast<std::int64_t>(address - begin), std::move(owner),
                             device.memory());
  return graph::make_tensor(dtype, std::move(place), std::move(buffer));
}

}  // namespace tilewright
