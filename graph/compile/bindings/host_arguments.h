// Tensors of the host as inputs of a plan that runs on a GPU.
//
// Each gets memory on the GPU at a fixed address, so that recordings can hold it. Before a call the
// bytes that the tensor spans are copied there, and after it those of tensors that were written in
// place are copied back. This is cheap for small arguments (token ids, a position), but not for
// weights, which explain() names.
#pragma once

#include <memory>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The bytes between the first and the last element, as addresses of the tensor's memory.
struct ByteRange {
  std::byte* begin;
  std::byte* end;
  std::int64_t size() const { return end - begin; }
};
ByteRange bytes_spanned(const Tensor& tensor);

class HostArguments {
 public:
  explicit HostArguments(DeviceMemory* memory) : memory_(memory) {}
  // The address on the device where input `i` of the plan now is.
  void* bring(std::size_t i, const Tensor& tensor);
  // Copies the elements of input `i` back, which must have been brought; waits for the device.
  void take_back(std::size_t i, const Tensor& tensor);
  std::int64_t bytes() const;  // that one call copies to the device

 private:
  DeviceMemory* memory_;
  std::vector<std::shared_ptr<Buffer>> buffers_;  // by input; null: not of the host
  std::vector<std::int64_t> sizes_;
};

}  // namespace tilewright::graph
