// Attention of any ranks and widths, step by step: what scaled_dot_product_attention (tensor.h)
// takes as one operation is this where q, k and v have its form; programs also have others, and ask
// for what lies between.
//
// Scores are computed in f32 of 16 bits, else in the queries' dtype, and are 0 in no row of which a
// key is seen. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/tensor/tensor.h"

namespace tilewright {

struct GeneralAttentionOptions {
  std::optional<double> scale = {};  // 1 / sqrt(D) if absent
  // Row i of q stands at key first_place + i and sees none behind it; absent: all of them.
  std::optional<std::int64_t> first_place = {};
  Tensor mask = {};  // broadcast to scores: bool, true of keys that are seen, or floats to be added
  double cap = 0;    // a score x is cap tanh(x / cap) before masks are added; 0: as it is
  std::optional<DType> softmax_dtype = {};  // no narrower than this
};
// q [.., H, T, D], k [.., G, S, D] and v [.., G, S, E] with H a multiple of G: [.., H, T, E]. A row
// that sees no key is 0. As one operation where q, k and v have four axes and one width, and
// softmax_dtype asks for nothing wider.
Tensor general_attention(const TensorOperand& q, const Tensor& k, const Tensor& v,
                         const GeneralAttentionOptions& options = {});

// The same step by step, [.., H, T, S]: products times the scale; these within the cap; these with
// masks; and their softmax.
struct AttentionSteps {
  Tensor products, capped, masked, weights;
};
AttentionSteps attention_steps(const TensorOperand& q, const Tensor& k,
                               const GeneralAttentionOptions& options = {});
// weights [.., H, T, S] times v [.., G, S, E].
Tensor attention_of_weights(const TensorOperand& weights, const Tensor& v);
// Of each row the logarithm of the sum of its scores' exponentials, [.., H, T].
Tensor attention_logsumexp(const TensorOperand& q, const Tensor& k,
                           const GeneralAttentionOptions& options = {});

}  // namespace tilewright
