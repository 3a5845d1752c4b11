// Attention whose scores a function changes, under PyTorch's name: positions that bias scores,
// documents and windows that hide keys, caps, or all of them together, as formulas of where a score
// stands instead of tensors of all scores.
//
//   // ALiBi, within documents: document [B, T] says which one each place belongs to
//   flex_attention(q, k, v,
//                  {.score_mod = [&](const Tensor& score, const ScorePlace& at) {
//                     return score + index(slopes, {at.head}) * (at.key - at.row);
//                   },
//                   .mask_mod = [&](const ScorePlace& at) {
//                     return index(document, {at.batch, at.row}) == index(document, {at.batch,
//                     at.key});
//                   }});
//
// Within a compiled function, elementwise operations on scores and their places are computed inside
// the attention, a block at a time: neither scores nor masks of all of them lie in memory. Values
// that vary along rows alone, or keys alone, as `slopes` above, are computed before, and so is
// anything that is not an elementwise operation of both, such as a table that is looked up by a
// distance. Keys that a causal mask or a window hides from a block of rows are not gone through. At
// once, outside of a compiled function, each operation is computed by itself, for all scores.
#pragma once

#include <functional>
#include <optional>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Where a score stands: numbers of i32 that broadcast to the scores' [B, H, T, S], in the batch
// [B, 1, 1, 1], among the heads of q [1, H, 1, 1], its rows [1, 1, T, 1], and the keys [1, 1, 1,
// S].
struct ScorePlace {
  Tensor batch, head, row, key;
};
// Takes scores [B, H, T, S], scaled, of f32 (f64 where q is); returns floats that broadcast to
// them.
using ScoreFunction = std::function<Tensor(const Tensor& score, const ScorePlace& at)>;
// Returns bool, broadcast to [B, H, T, S]: a row sees the keys where it is true.
using MaskFunction = std::function<Tensor(const ScorePlace& at)>;

struct FlexAttentionOptions {
  ScoreFunction score_mod = {};      // absent: scores as they are
  MaskFunction mask_mod = {};        // absent: a row sees all keys
  std::optional<double> scale = {};  // 1 / sqrt(D) if absent
};

// softmax(score_mod(q k^T * scale), over the keys that mask_mod leaves) v, of q [B, H, T, D],
// k [B, G, S, D] and v [B, G, S, E], H a multiple of G (grouped queries): [B, H, T, E]. A row that
// sees no key is 0. The functions are called once, and are made of tensor operations. Raises
// `Error` where sizes or dtypes do not fit; safe to call from several threads if the functions are.
Tensor flex_attention(const TensorOperand& q, const Tensor& k, const Tensor& v,
                      const FlexAttentionOptions& options = {});

}  // namespace tilewright
