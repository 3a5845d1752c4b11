// Clipping of gradients, as torch.nn.utils.clip_grad_norm_ and clip_grad_value_, as functions:
//
//   DynamicScalar limit(1.0);
//   auto step = compile([&](const Tensor& x, const Tensor& y) {
//     auto [loss, gradients] = value_and_grad(net, loss_of)(x, y);
//     auto [clipped, norm] = clip_by_global_norm(gradients, limit);
//     optimizer.step(clipped);
//     return std::pair{loss, norm};
//   });
//
// The limit of a DynamicScalar may change between steps, and nothing is compiled again; a number is
// a constant of the step. Results have the gradients' dtypes. Gradients of 16 bits are summed in
// f32. Raises `Error` for gradients that are not floating, and for an order below 0.
#pragma once

#include <initializer_list>
#include <source_location>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/layers/gradients.h"

namespace tilewright {

// Each element between -limit and limit. NaN stays NaN.
NamedTensors clip_by_value(const NamedTensors& gradients, const TensorOperand& limit);
std::vector<Tensor> clip_by_value(const std::vector<Tensor>& gradients, const TensorOperand& limit);

// The norm of all gradients as one vector, f32, or f64 if one of them is: of order 2, another order
// or infinity. Order 0 gives the number of gradients that are not 0, as in PyTorch. Gradients
// without elements count nothing, in any order.
Tensor global_norm(const NamedTensors& gradients, double order = 2,
                   std::source_location w = std::source_location::current());
Tensor global_norm(const std::vector<Tensor>& gradients, double order = 2,
                   std::source_location w = std::source_location::current());
inline Tensor global_norm(std::initializer_list<Tensor> gradients, double order = 2,
                          std::source_location w = std::source_location::current()) {
  return global_norm(std::vector<Tensor>(gradients), order, w);
}

template <typename Gradients>
struct ClippedGradients {
  Gradients gradients;
  Tensor norm;  // before clipping
};

// All gradients times min(1, limit / (norm + 1e-6)), PyTorch's factor. A norm that is infinite or
// NaN makes gradients 0 or NaN.
ClippedGradients<NamedTensors> clip_by_global_norm(
    const NamedTensors& gradients, const TensorOperand& limit, double order = 2,
    std::source_location w = std::source_location::current());
ClippedGradients<std::vector<Tensor>> clip_by_global_norm(
    const std::vector<Tensor>& gradients, const TensorOperand& limit, double order = 2,
    std::source_location w = std::source_location::current());

}  // namespace tilewright
