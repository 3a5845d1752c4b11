// Attention of several heads, as PyTorch's MultiheadAttention, with its parameters' names:
// "in_proj_weight" and "in_proj_bias", or "q_proj_weight" and so on where keys or values have a
// width of their own, and "out_proj.weight" and "out_proj.bias".
//
// For models of other forms, with grouped or rotary heads and caches, see models/decoder.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/tensor/guarded.h"
#include "graph/tensor/tensor.h"
#include "models/layers/layers.h"
#include "models/layers/module.h"

namespace tilewright {

struct MultiheadAttentionOptions {
  bool bias = true;
  bool batch_first = false;                     // [N, T, width], else [T, N, width]
  double dropout = 0;                           // of the weights, while it is trained
  std::int64_t key_width = 0, value_width = 0;  // 0: that of the queries
  LayerOptions layer = {};
};

struct MultiheadAttentionCall {
  Tensor key_padding_mask = {};  // [N, S]: bool, true of keys that are ignored, or added to scores
  Tensor mask = {};  // [T, S] or [N * heads, T, S]: bool, true where not seen, or added to scores
  bool is_causal = false;      // row i sees keys 0 to i; beside a mask both hold
  bool needs_weights = false;  // PyTorch's default is true, which costs the weights' memory
  bool average_weights = true;
};

struct MultiheadAttentionResult {
  Tensor output;   // as the query
  Tensor weights;  // [N, T, S], or [N, heads, T, S] where not averaged; undefined if not needed
};

// Rows that see no key are 0, where PyTorch's are NaN. Misuse raises `Error` with the caller's
// line.
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(std::int64_t width, std::int64_t heads,
                     const MultiheadAttentionOptions& options = {},
                     std::source_location w = std::source_location::current());
  // Query [T, N, width], key and value [S, N, ..]; with N first where `batch_first`, or without N.
  MultiheadAttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const MultiheadAttentionCall& call = {},
                                   std::source_location w = std::source_location::current()) const;
  MultiheadAttentionResult operator()(
      const Tensor& query, const Tensor& key, const Tensor& value,
      const MultiheadAttentionCall& call = {},
      std::source_location w = std::source_location::current()) const {
    return forward(query, key, value, call, w);
  }
  void train(bool is_training = true) override;

  Tensor in_proj_weight, in_proj_bias;  // [3 * width, width], [3 * width]
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;
  Linear out_proj;

 private:
  bool is_packed() const { return in_proj_weight.defined(); }
  Tensor projected(const Tensor& x, int which, std::source_location w) const;
  Tensor mask_of(const MultiheadAttentionCall& call, const Shape& scores,
                 std::source_location w) const;

  std::int64_t width_, heads_;
  MultiheadAttentionOptions options_;
  Guarded<bool> is_training_{true, "training"};
};

}  // namespace tilewright
