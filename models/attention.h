// Causal self-attention as Llama has it: grouped heads, rotary positions, and a cache of keys and
// values that is written in place.
//
// The cache has a fixed size, so that every step of a generation is the same program. Keys are kept
// transposed, [batch, groups, head size, positions]: consecutive positions lie side by side, which
// is the order in which one query row meets them.
#pragma once

#include "graph/tensor.h"
#include "models/layers.h"

namespace tilewright {

// cos and sin of position p times frequency theta^(-2i / head size): [positions, head size / 2]
// (Su et al. 2021).
struct RotaryTable {
  RotaryTable(std::int64_t positions, std::int64_t head_size, double theta);
  Tensor cos, sin;
};

// Where the rows of one call stand in the text.
struct Placement {
  // `first` is i64 [1]; the call's rows follow it.
  Placement(const Tensor& first, std::int64_t rows, const RotaryTable& table);
  Tensor first;
  Tensor positions;  // i64 [rows]
  Tensor cos, sin;   // [rows, head size / 2]
};

// Turns each pair (x[i], x[i + D/2]) by its angle: the pairing of Hugging Face's weights.
// x [batch, heads, rows, D].
Tensor rotate(const Tensor& x, const Placement& placement);

struct AttentionSizes {
  std::int64_t hidden, heads, kv_heads, head_size;
  bool bias = false;
};

class Attention : public Module {
 public:
  explicit Attention(const AttentionSizes& sizes, LayerOptions options = {});

  // Zeroed memory for `positions` keys and values a sequence, where the weights lie.
  void allocate_cache(std::int64_t batch, std::int64_t positions);
  bool has_cache() const { return keys_.defined(); }

  // x [batch, rows, hidden]. With a cache, its rows are added there and see all rows before them;
  // without one they see each other.
  Tensor forward(const Tensor& x, const Placement& placement);

  Linear q_proj, k_proj, v_proj, o_proj;

 private:
  Tensor heads_of(const Tensor& x, std::int64_t heads) const;
  AttentionSizes sizes_;
  DType dtype_;
  Tensor keys_, values_;  // [batch, groups, D, positions], [batch, groups, positions, D]
};

}  // namespace tilewright
