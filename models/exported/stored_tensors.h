// Tensors in the storages of an archive: each storage is an entry, in which any number of tensors
// lie. Apart from their descriptions, which are a table in JSON or a pickle (tensor_data.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/exported/archive.h"

namespace tilewright::exported {

// How a tensor lies in its storage, in elements. The offset and strides are not negative.
struct Placement {
  DType dtype;
  Shape sizes, strides;
  std::int64_t offset = 0;
  auto operator<=>(const Placement&) const = default;
};

class StoredTensors {
 public:
  // The archive must outlive this.
  explicit StoredTensors(const Archive& archive) : archive_(archive) {}

  // Tensors that share an entry and lie equally in it are one. Raises `Error`, "[load_exported]
  // FILE: PLACE: ...", where the tensor would reach out of its entry, repeats few elements often,
  // or all tensors together would take far more memory than the file.
  Tensor tensor(const ArchiveEntry& entry, const Placement& placement, const std::string& place);

 private:
  Tensor placed(const ArchiveEntry& entry, const Placement& placement) const;
  Tensor storage(const ArchiveEntry& entry, DType dtype) const;

  const Archive& archive_;
  std::map<std::string, std::map<Placement, Tensor>> known_;  // by entry
  std::int64_t bytes_ = 0;                                    // of all of them
};

}  // namespace tilewright::exported
