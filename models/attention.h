// Causal self-attention over a cache of keys and values that is written in place, and the layer as
// Llama has it: grouped heads and rotary positions.
//
// The cache has a fixed size, so that every step of a generation is the same program. Keys lie as
// they come, one after the other. Only those that do not fill a cache line are turned over, so that
// consecutive positions lie side by side: a vector then holds many keys instead of a part of one.
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
  Placement(const Tensor& first, std::int64_t rows);
  Placement(const Tensor& first, std::int64_t rows, const RotaryTable& table);
  Tensor first;
  Tensor positions;  // i64 [rows]
  Tensor cos, sin;   // [rows, head size / 2]; undefined without a table
};

// Turns each pair (x[i], x[i + D/2]) by its angle: the pairing of Hugging Face's weights.
// x [batch, heads, rows, D].
Tensor rotate(const Tensor& x, const Placement& placement);

// [batch, rows, heads * D] -> [batch, heads, rows, D]
Tensor split_heads(const Tensor& x, std::int64_t heads);

// Keys and values of all rows so far, and attention over them.
class KeyValueCache {
 public:
  // Zeroed memory for `positions` keys and values a sequence in `groups` heads of size `head_size`.
  void allocate(std::int64_t batch, std::int64_t groups, std::int64_t head_size,
                std::int64_t positions, DType dtype, const Device& device);
  bool is_allocated() const { return keys.defined(); }

  // q [batch, heads, rows, D], k and v [batch, groups, rows, D]: what the rows see, [batch, rows,
  // heads * D]. An allocated cache takes the rows in, and they see all rows before them; otherwise
  // they see each other.
  Tensor attend(const Tensor& q, Tensor k, Tensor v, const Placement& placement);

  Tensor keys, values;  // [batch, groups, positions, D]; keys [.., D, positions] if they are turned

 private:
  bool turns_keys_ = false;
};

struct AttentionSizes {
  std::int64_t hidden, heads, kv_heads, head_size;
  bool bias = false;
};

class Attention : public Module {
 public:
  explicit Attention(const AttentionSizes& sizes, LayerOptions options = {});

  // Zeroed memory for `positions` keys and values a sequence, where the weights lie.
  void allocate_cache(std::int64_t batch, std::int64_t positions);

  // x [batch, rows, hidden]. With a cache, its rows are added there and see all rows before them;
  // without one they see each other.
  Tensor forward(const Tensor& x, const Placement& placement);

  Linear q_proj, k_proj, v_proj, o_proj;

 private:
  AttentionSizes sizes_;
  KeyValueCache cache_;
};

}  // namespace tilewright
