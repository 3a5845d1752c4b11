// A layer of a transformer's encoder (Vaswani et al., 2017), as PyTorch's TransformerEncoderLayer,
// with its parameters' names: "self_attn.in_proj_weight", "linear1.weight", "norm2.bias" and so on.
// A stack of them is a Sequential, or a ModuleList for calls with masks.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/tensor/tensor.h"
#include "models/layers/layers.h"
#include "models/layers/module.h"
#include "models/layers/multihead_attention.h"

namespace tilewright {

struct TransformerEncoderLayerOptions {
  std::int64_t inner = 2048;  // the width between the two linear layers
  double dropout = 0.1;
  Activation activation = Activation::relu;
  double eps = 1e-5;
  bool batch_first = false;  // [N, T, width], else [T, N, width]
  bool norm_first = false;   // norms before attention and the linear layers, rather than after
  bool bias = true;
  LayerOptions layer = {};
};

struct TransformerEncoderCall {
  Tensor mask = {};              // as MultiheadAttentionCall has it
  Tensor key_padding_mask = {};  // likewise
  bool is_causal = false;        // row i sees rows 0 to i
};

// Misuse raises `Error` with the caller's line.
class TransformerEncoderLayer : public Module {
 public:
  using Options = TransformerEncoderLayerOptions;
  TransformerEncoderLayer(std::int64_t width, std::int64_t heads,
                          const TransformerEncoderLayerOptions& options = {},
                          std::source_location w = std::source_location::current());
  // [T, N, width], [N, T, width] where `batch_first`, or [T, width].
  Tensor forward(const Tensor& x, const TransformerEncoderCall& call = {},
                 std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& x, const TransformerEncoderCall& call = {},
                    std::source_location w = std::source_location::current()) const {
    return forward(x, call, w);
  }

  MultiheadAttention self_attn;
  Linear linear1, linear2;
  Norm norm1, norm2;

 private:
  Tensor attended(const Tensor& x, const TransformerEncoderCall& call,
                  std::source_location w) const;
  Tensor fed_forward(const Tensor& x, std::source_location w) const;

  TransformerEncoderLayerOptions options_;
  Dropout dropout_, dropout1_, dropout2_;
};

}  // namespace tilewright
