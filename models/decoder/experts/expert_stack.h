// The weights of one kind of all experts of a layer: a stack of matrices, or their codes as a file
// has them, which stay packed and are decoded within products.
#pragma once

#include <optional>
#include <vector>

#include "graph/quant/packed_weight.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

class ExpertStack {
 public:
  ExpertStack() = default;
  ExpertStack(std::int64_t count, std::int64_t out, std::int64_t in, DType dtype,
              const Device& device);
  bool is_packed() const { return codes_.has_value(); }
  // Takes the codes of all matrices, one below the other, in place of the dense ones. False, and
  // nothing changes, where they need an order of columns.
  bool pack(quant::PackedWeight matrices);
  std::vector<Tensor*> packed_tensors();  // that move with the layer

  // Blocks of rows, each times the matrix of its expert: x [blocks, rows, in], experts i64 [blocks]
  // -> [blocks, rows, out].
  Tensor of_blocks(const Tensor& x, const Tensor& experts) const;
  // Rows sorted by expert, where the rows of each end at `ends`, i64 [experts]: x [rows, in] ->
  // [rows, out]. The stack must be dense.
  Tensor of_groups(const Tensor& x, const Tensor& ends) const;

  Tensor dense;  // [experts, out, in]; undefined once packed

 private:
  // The packed matrices of some experts, one below the other.
  quant::PackedWeight of(const Tensor& experts) const;

  std::int64_t count_ = 0, out_ = 0, in_ = 0;
  std::optional<quant::PackedWeight> codes_;  // its tensors are [experts, elements of a matrix]
};

}  // namespace tilewright
