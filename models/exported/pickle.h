// The pickle within a file of torch.save, as far as a dictionary of tensors goes.
//
// A pickle is a program for Python's unpickler, which may call any function. Nothing is called
// here: an item of the stack is a plain fact, and the few functions that torch.save of tensors
// names (torch._utils._rebuild_tensor_v2 and its kin, collections.OrderedDict) are known by their
// names and checked argument by argument. Whatever else a pickle says is an Error that names it.
// The memory used grows with the pickle's bytes only; nothing recurses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::exported {

// A named tensor: how it lies in a storage, in elements, and which entry of the archive has the
// storage's bytes ("0" for data/0).
struct PickledTensor {
  std::string name;
  DType dtype;
  std::string storage;
  std::int64_t storage_bytes;
  std::int64_t offset;
  Shape sizes, strides;
};

// `bytes` is data.pkl, of protocol 2, the one that torch.save writes. `place` begins the errors:
// "[load_exported] PLACE: byte 17: ...". No name comes twice. Raises `Error`.
std::vector<PickledTensor> read_pickled_tensors(std::string_view bytes, const std::string& place);

}  // namespace tilewright::exported
