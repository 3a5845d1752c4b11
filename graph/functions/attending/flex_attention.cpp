#include "graph/functions/attending/flex_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/functions/creation.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using graph::At;

constexpr double infinity = std::numeric_limits<double>::infinity();

struct AttentionSizes {
  std::int64_t batch, heads, rows, keys, groups;
  Shape scores() const { return {batch, heads, rows, keys}; }
};

AttentionSizes sizes_of(const Tensor& q, const Tensor& k, const Tensor& v, std::source_location w) {
  require(k.defined() && v.defined(), "[flex_attention] ", k.defined() ? "v" : "k",
          " is undefined (at ", At{w}, "); give a tensor");
  require(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, "[flex_attention] q is ", q.shape(),
          ", k is ", k.shape(), ", v is ", v.shape(),
          "; each must be [batch, heads, rows, columns] (at ", At{w}, ")");
  require(q.dtype() == k.dtype() && q.dtype() == v.dtype(), "[flex_attention] q is ", q.dtype(),
          ", k is ", k.dtype(), ", v is ", v.dtype(), "; they must have one dtype (at ", At{w},
          ")");
  require(is_floating(q.dtype()) && !is_float8(q.dtype()), "[flex_attention] q is ", q.dtype(),
          "; it must be floats of 16 bits or more: convert with to() (at ", At{w}, ")");
  require(q.size(0) == k.size(0) && q.size(3) == k.size(3), "[flex_attention] q is ", q.shape(),
          ", k is ", k.shape(), "; batch and head size must be equal (at ", At{w}, ")");
  require(v.size(0) == k.size(0) && v.size(1) == k.size(1) && v.size(2) == k.size(2),
          "[flex_attention] k is ", k.shape(), ", v is ", v.shape(),
          "; they must agree but for the head size (at ", At{w}, ")");
  const bool are_groups = k.size(1) == 0 ? q.size(1) == 0 : q.size(1) % k.size(1) == 0;
  require(are_groups, "[flex_attention] q has ", q.size(1), " heads, k has ", k.size(1),
          "; q's heads must be a multiple of k's (at ", At{w}, ")");
  return {q.size(0), q.size(1), q.size(2), k.size(2), k.size(1)};
}

ScorePlace places_of(const AttentionSizes& sizes) {
  auto count = [](std::int64_t size, const Shape& shape) {
    return arange(0, size, 1, DType::i32).reshape(shape);
  };
  return {count(sizes.batch, {sizes.batch, 1, 1, 1}), count(sizes.heads, {1, sizes.heads, 1, 1}),
          count(sizes.rows, {1, 1, sizes.rows, 1}), count(sizes.keys, {1, 1, 1, sizes.keys})};
}

// The result of a function, for all scores.
Tensor for_all_scores(const Tensor& given, std::string_view function, const Shape& scores,
                      std::source_location w) {
  require(given.defined(), "[flex_attention] ", function, " gave an undefined tensor (at ", At{w},
          "); it must give one that broadcasts to the scores, ", scores);
  const auto joint = broadcast_shapes(given.shape(), scores);
  require(joint && *joint == scores, "[flex_attention] ", function, " gave a tensor of ",
          given.shape(), " (at ", At{w}, "); it must broadcast to the scores, ", scores);
  return given;
}

// Heads of keys or values, once for each head of q.
Tensor for_each_head(const Tensor& x, const AttentionSizes& sizes) {
  if (sizes.heads == sizes.groups) return x;
  const std::int64_t each = sizes.heads / sizes.groups;
  return x.unsqueeze(2)
      .expand({sizes.batch, sizes.groups, each, sizes.keys, x.size(3)})
      .reshape({sizes.batch, sizes.heads, sizes.keys, x.size(3)});
}

}  // namespace

Tensor flex_attention(const TensorOperand& q, const Tensor& k, const Tensor& v,
                      const FlexAttentionOptions& options) {
  if (const graph::AutocastCall cast("scaled_dot_product_attention", q.where); cast.is_listed())
    return flex_attention(cast(q), cast(k), cast(v), options);
  const Tensor& queries = graph::tensor_of(q, "flex_attention");
  const AttentionSizes sizes = sizes_of(queries, k, v, q.where);
  if (sizes.heads == 0)
    return zeros({sizes.batch, 0, sizes.rows, v.size(3)}, queries.dtype(), q.where);
  const ScorePlace places = places_of(sizes);
  const Shape all = sizes.scores();
  Tensor mask;
  if (options.mask_mod) {
    mask = for_all_scores(options.mask_mod(places), "mask_mod", all, q.where);
    require(is_boolean(mask.dtype()), "[flex_attention] mask_mod gave ", mask.dtype(), " (at ",
            At{q.where}, "); it must give bool, true where a row sees a key");
  }
  const double scale = options.scale.value_or(
      1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(queries.size(3), 1))));
  if (!options.score_mod && k.size(3) == v.size(3))
    return scaled_dot_product_attention(q, k, v, {.scale = scale, .mask = mask});

  const DType own = queries.dtype(), carried = accumulator(own);
  std::optional<DType> sums;
  if (carried != own) sums = carried;
  Tensor scores = matmul(queries, for_each_head(k, sizes).transpose(2, 3), sums) * scale;
  if (options.score_mod) {
    const Tensor changed =
        for_all_scores(options.score_mod(scores, places), "score_mod", all, q.where);
    require(is_floating(changed.dtype()), "[flex_attention] score_mod gave ", changed.dtype(),
            " (at ", At{q.where}, "); it must give floats");
    scores = graph::broadcast_to(changed.to(carried), all, "flex_attention", q.where);
  }
  if (mask.defined()) scores = where(mask, scores, -infinity);
  const Tensor weights =
      where(tilewright::all(scores == -infinity, {-1}, true), 0.0, softmax(scores, -1));
  return matmul(weights.to(own), for_each_head(v, sizes));
}

}  // namespace tilewright
