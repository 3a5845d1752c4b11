// Ids of tokens and their positions as tensors, which decoders take.
#pragma once

#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::testing {

inline Tensor ids_of(const std::vector<std::int64_t>& ids, std::int64_t batch = 1) {
  return Tensor::from(ids, {batch, std::ssize(ids) / batch});
}

inline Tensor at(std::int64_t position) { return Tensor::from<std::int64_t>({position}, {1}); }

}  // namespace tilewright::testing
