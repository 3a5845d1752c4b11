// Causal self-attention with its projections: grouped heads, rotary positions, norms of queries and
// keys. The cache that it writes is not the layer's: each conversation has its own
// (decoding_state.h).
#pragma once

#include <optional>
#include <string_view>

#include "graph/tensor/tensor.h"
#include "models/decoder/cache/key_value_cache.h"
#include "models/layers/layers.h"

namespace tilewright {

// The names of the layer's parts. A part with an empty name does not exist. `qkv` is one product
// instead of three.
struct AttentionNames {
  std::string_view q = "q_proj", k = "k_proj", v = "v_proj", qkv, output = "o_proj", q_norm, k_norm;
};

struct AttentionForm {
  std::int64_t hidden, heads, kv_heads, head_size;
  bool qkv_bias = false, output_bias = false;
  bool qkv_by_head = false;  // of one product: q, k and v of head 0, of head 1, ...; else all q, ..
  bool has_sinks = false;    // a parameter of the layer
  double clip = 0;           // queries, keys and values are cut off at -clip and clip; 0: not
  bool norms_of_all_heads = false;  // a row's queries are normed together, likewise its keys
  NormKind norm = NormKind::rms;    // of queries and keys
  double norm_eps = 1e-6;
  WeightOrder order = WeightOrder::out_in;
  Scores scores;
  AttentionNames names;
};

class Attention : public Module {
 public:
  explicit Attention(const AttentionForm& form, LayerOptions options = {});

  // A cache for `positions` keys and values a sequence, of the weights' type or as codes.
  KeyValueCache new_cache(std::int64_t batch, std::int64_t positions,
                          const Device& device = Device::cpu(),
                          std::optional<DType> code_dtype = {}) const;

  // Likewise memory for pages of so many rows, of any texts.
  KeyValueCache new_pages(std::int64_t pages, std::int64_t page_rows, const Device& device,
                          std::optional<DType> code_dtype) const;

  // x [batch, rows, hidden]. With a cache, its rows are added there and see all rows before them;
  // without one they see each other.
  Tensor forward(const Tensor& x, const RowPositions& row_positions,
                 KeyValueCache* cache = nullptr) const;

  std::optional<Linear> q_proj, k_proj, v_proj, qkv_proj;  // those that the form names
  Linear o_proj;
  std::optional<Norm> q_norm, k_norm;
  Tensor sinks;  // [heads], or undefined

 private:
  // The rows of one projection in heads, normed.
  Tensor heads_of(Tensor x, std::int64_t heads, const std::optional<Norm>& norm) const;
  AttentionForm form_;
  DType dtype_;
};

}  // namespace tilewright
