// Attention of many heads, as ONNX's own operators and those of ONNX Runtime have it in common:
// tensors in heads, and what changes scores. What is computed of these is in
// graph/functions/attending.
#pragma once

#include <optional>
#include <string_view>

#include "graph/functions/attending/general_attention.h"
#include "graph/functions/attending/rotary.h"
#include "graph/tensor/tensor.h"
#include "models/onnx/program/call.h"

namespace tilewright::onnx {

// [batch, steps, heads * size] as [batch, heads, steps, size], and back.
Tensor in_heads(const Tensor& x, std::int64_t heads);
Tensor out_of_heads(const Tensor& x);
// An attribute that is a number of heads.
std::int64_t heads_of(const Call& call, std::string_view name);

// q [batch, heads, steps, size], k and v [batch, heads, total, size], of as many heads or fewer.
struct Operands {
  Tensor q, k, v;
  std::int64_t batch() const { return q.size(0); }
  std::int64_t steps() const { return q.size(2); }
  std::int64_t total() const { return k.size(2); }
  std::int64_t past() const { return total() - steps(); }
};

struct Scores {
  std::optional<double> scale;  // 1 / sqrt(size) where absent
  // The key at the place of the first query, if each query sees no key behind its own.
  std::optional<std::int64_t> first_place;
  // Broadcasts to [batch, heads, steps, total], or undefined: floats are added, bool is true of
  // keys that are seen.
  Tensor mask;
  double softcap = 0;               // to which scores are bent, before anything is added
  std::optional<DType> softmax_in;  // no narrower than this
};
// [batch, heads, steps, size of v]; a row that sees no key is 0.
Tensor attended(const Operands& o, const Scores& s);

// The same step by step: [batch, heads, steps, total], no narrower than f32.
AttentionSteps weighing(const Operands& o, const Scores& s);

// Keys or values behind those of former steps, which may be undefined.
Tensor behind(const Tensor& past, const Tensor& x, std::string_view what);

// Tables [places, half] of cosines and sines, and whether neighbours are turned.
struct Rotation {
  Tensor cos, sin;
  bool interleaved;
};
inline Tensor rotated(const Tensor& x, const Tensor& places, const Rotation& by) {
  return rotary_embedding(x, places, by.cos, by.sin, by.interleaved);
}

}  // namespace tilewright::onnx
