// The weight of a linear layer that is no dense matrix: what a layer needs of it, whichever format
// it has. A layer with a dense weight has none of these, and its weight is a parameter.
//
// An update of low rank (LoRA, Hu et al. 2021) lies beside a weight of any kind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/quant/packed_weight.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

class LinearWeight {
 public:
  virtual ~LinearWeight() = default;
  // x [.., in] -> [.., out], without a bias.
  virtual Tensor product(const TensorOperand& x) const = 0;
  virtual std::vector<Tensor*> tensors() = 0;  // that move with the layer
  virtual Tensor dense() const = 0;            // f32 [out, in], on the host
};

// A quantised weight of a file, decoded within products.
class PackedLinearWeight : public LinearWeight {
 public:
  explicit PackedLinearWeight(quant::PackedWeight weight) : weight_(std::move(weight)) {}
  Tensor product(const TensorOperand& x) const override { return packed_linear(x, weight_); }
  std::vector<Tensor*> tensors() override { return weight_.tensors(); }
  Tensor dense() const override;

 private:
  quant::PackedWeight weight_;
};

// Changes of a layer's products by data that change between calls, beside a weight of any kind
// (models/adapters/bank/layer_bank.h).
class RowUpdates {
 public:
  virtual ~RowUpdates() = default;
  // x [.., in] and its product y [.., out] -> y with the updates of each row.
  virtual Tensor added(const Tensor& x, const Tensor& y) const = 0;
  virtual std::vector<Tensor*> tensors() = 0;  // that move with the layer
};

// y + x A^T B^T, and each of its columns times a factor where there are such: those of DoRA (Liu et
// al. 2024), by which rows of the changed weight get their lengths.
struct LowRankUpdate {
  Tensor a, b;     // [rank, in]; [out, rank], times the update's scale
  Tensor factors;  // [out], or undefined
  Tensor added(const Tensor& x, const Tensor& y) const;
};

}  // namespace tilewright
