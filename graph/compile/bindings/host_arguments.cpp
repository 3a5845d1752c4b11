#include "graph/compile/bindings/host_arguments.h"

#include <numeric>

#include "graph/tensor/memory/strided_copy.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/device_pool.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t alignment = 64;

// Bytes from the buffer's start: as far past a multiple of 64 as on the host.
std::int64_t shift_of(const std::byte* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % alignment);
}

}  // namespace

ByteRange bytes_spanned(const Tensor& tensor) {
  const StridedView& place = tensor.body()->view;
  auto* low = static_cast<std::byte*>(address_of(*tensor.body()));
  std::byte* high = low;
  std::int64_t size = size_bytes(tensor.dtype());
  for (int axis = 0; axis < place.shape.rank(); ++axis) {
    if (place.shape[axis] == 0) return {low, low};
    std::int64_t reach = (place.shape[axis] - 1) * place.strides[axis] * size;
    (reach < 0 ? low : high) += reach;
  }
  return {low, high + size};
}

void* HostArguments::bring(std::size_t i, const Tensor& tensor) {
  ByteRange range = bytes_spanned(tensor);
  if (buffers_.size() <= i) {
    buffers_.resize(i + 1);
    sizes_.resize(i + 1);
  }
  std::shared_ptr<Buffer>& buffer = buffers_[i];
  if (!buffer || buffer->size_bytes() < range.size() + alignment) {
    MemoryOwner owner("copies of the host's tensors");
    buffer = Buffer::allocate(range.size() + alignment, memory_);
  }
  sizes_[i] = range.size();
  std::byte* base = static_cast<std::byte*>(buffer->data()) + shift_of(range.begin);
  memory_->copy_from_host(base, range.begin, range.size());
  return base + (static_cast<std::byte*>(address_of(*tensor.body())) - range.begin);
}

// Between the elements of a part of an array others may have been written, such as the other half
// of its columns.
void HostArguments::take_back(std::size_t i, const Tensor& tensor) {
  ByteRange range = bytes_spanned(tensor);
  std::byte* base = static_cast<std::byte*>(buffers_[i]->data()) + shift_of(range.begin);
  const std::int64_t element_bytes = size_bytes(tensor.dtype());
  if (range.size() == tensor.count() * element_bytes)
    return memory_->copy_to_host(range.begin, base, range.size());
  std::vector<std::byte> bytes(static_cast<std::size_t>(range.size()));
  memory_->copy_to_host(bytes.data(), base, range.size());
  StridedView view = tensor.body()->view;
  view.offset = 0;
  auto* first = static_cast<std::byte*>(address_of(*tensor.body()));
  copy_elements(first, view, bytes.data() + (first - range.begin), view, element_bytes);
}

std::int64_t HostArguments::bytes() const {
  return std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{0});
}

}  // namespace tilewright::graph
