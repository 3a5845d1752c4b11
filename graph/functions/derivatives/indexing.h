// Derivatives of lookups and of parts of tensors, under PyTorch's names: the gradient of a part
// goes to where the part was, and zeros elsewhere.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

struct EmbeddingGradientOptions {
  std::optional<std::int64_t> padding_row = {};  // whose gradient is 0
  bool scale_by_frequency = false;               // divided by how often a row was looked up
};
// Of embedding: gradient [.., width], indices [..]; gives [rows, width] in the gradient's dtype.
Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& indices, std::int64_t rows,
                                const EmbeddingGradientOptions& options = {},
                                std::source_location w = std::source_location::current());

// embedding(ids, table), whose table has such a gradient.
Tensor embedding(const TensorOperand& ids, const Tensor& table,
                 const EmbeddingGradientOptions& gradient);

struct SliceOf {
  int axis = 0;
  std::optional<std::int64_t> start = {}, end = {};
  std::int64_t step = 1;
};
Tensor slice_backward(const Tensor& gradient, const Shape& sizes, const SliceOf& slice,
                      std::source_location w = std::source_location::current());
Tensor select_backward(const Tensor& gradient, const Shape& sizes, int axis, std::int64_t index,
                       std::source_location w = std::source_location::current());

}  // namespace tilewright
