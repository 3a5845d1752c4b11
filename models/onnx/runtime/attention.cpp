// Attention as ONNX Runtime's optimisers and builders write it (com.microsoft): of many heads, with
// projections before it, with keys and values of former steps, grouped, with rotary positions.
#include <algorithm>

#include "graph/functions/attending/key_cache.h"
#include "graph/functions/attending/masks.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "models/onnx/attention/heads.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/runtime/integers.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace runtime_attention_rows {
namespace {

std::optional<double> scale_of_scores(const Call& call) {
  const double scale = call.number("scale", 0);
  return scale == 0 ? std::nullopt : std::optional(scale);
}

// Where the queries are the last of the keys' places.
std::optional<std::int64_t> first_place(bool causal, const Operands& o) {
  return causal ? std::optional(o.past()) : std::nullopt;
}

// The number that is added to the scores of keys that a mask hides.
Tensor hidden_by(const Call& call, std::size_t input, const Operands& o) {
  if (!call.has(input)) return {};
  const Tensor mask = call.tensor(input);
  require(mask.dtype() == i32, "[onnx] input ", input, ", a mask, is ", mask.dtype(),
          "; i32 is wanted");
  return bias_of_mask(mask, {o.batch(), o.steps(), o.total()},
                      call.number("mask_filter_value", -10000));
}
// The bias that is added to all scores.
Tensor bias_of(const Call& call, std::size_t input, const Operands& o) {
  if (!call.has(input)) return {};
  const Tensor bias = call.tensor(input);
  const bool fits = bias.rank() == 4 && (bias.size(0) == 1 || bias.size(0) == o.batch()) &&
                    (bias.size(1) == 1 || bias.size(1) == o.q.size(1)) &&
                    bias.size(2) == o.steps() && bias.size(3) == o.total();
  require(fits, "[onnx] a bias of scores [", bias.shape(), "] for queries [", o.q.shape(), "] and ",
          o.total(), " keys");
  return bias;
}
// Which inputs of a call say what else attention of projections takes.
struct Places {
  std::size_t mask, past;
  std::optional<std::size_t> bias;  // of scores
};
// Attention of queries, keys and values [batch, steps, sizes of all three], which projections gave.
Results of_projections(const Call& call, const Tensor& all, const Shape& sizes, const Places& at) {
  const std::int64_t heads = heads_of(call, "num_heads"), width = all.size(2);
  for (const char* name : {"do_rotary", "past_present_share_buffer"})
    if (call.integer(name, 0) != 0) call.refuse(name, "is not supported");
  call.integer("rotary_embedding_dim", 0);
  const bool fit = sizes.rank() == 3 && sizes[0] > 0 && sizes[2] > 0 && sizes[0] == sizes[1] &&
                   sizes[0] <= width && sizes[2] <= width && 2 * sizes[0] + sizes[2] == width;
  require(fit, "[onnx] queries, keys and values of the sizes [", sizes, "] of [", all.shape(), "]");
  auto part = [&](std::int64_t start, std::int64_t size) {
    return in_heads(all.slice(2, start, start + size), heads);
  };
  Operands o{part(0, sizes[0]), part(sizes[0], sizes[1]), part(2 * sizes[0], sizes[2])};
  if (call.has(at.past)) {
    const Tensor past = call.tensor(at.past);
    require(past.rank() == 5 && past.size(0) == 2, "[onnx] former keys and values [", past.shape(),
            "]; [2, batch, heads, steps, size] is wanted");
    o.k = behind(past.select(0, 0), o.k, "keys");
    o.v = behind(past.select(0, 1), o.v, "values");
  }
  const bool causal = call.flag("unidirectional", false) && o.steps() > 1;
  const Tensor bias = at.bias ? bias_of(call, *at.bias, o) : Tensor();
  const Tensor added = joined_bias(bias, hidden_by(call, at.mask, o));
  call.number("mask_filter_value", -10000);
  const Scores scores{scale_of_scores(call), first_place(causal, o), added};
  Results results = {Value(out_of_heads(attended(o, scores)))};
  if (call.wants(1)) results.emplace_back(cat({o.k.unsqueeze(0), o.v.unsqueeze(0)}, 0));
  return results;
}
Tensor with_projection_bias(const Call& call, const Tensor& all) {
  if (!call.has(2)) return all;
  const Tensor bias = call.tensor(2);
  require(bias.shape() == Shape({all.size(2)}), "[onnx] a bias [", bias.shape(), "] for [",
          all.shape(), "]; one for each column of the weight is wanted");
  return add(all, bias);
}
Results projected(const Call& call) {
  const Tensor x = call.tensor(0), weight = call.tensor(1);
  require(x.rank() == 3 && weight.rank() == 2 && weight.size(0) == x.size(2), "[onnx] x [",
          x.shape(), "] times a weight [", weight.shape(), "]");
  const std::int64_t third = weight.size(1) / 3;
  const Shape sizes = call.integers("qkv_hidden_sizes", Shape{third, third, third});
  return of_projections(call, with_projection_bias(call, matmul(x, weight)), sizes, {3, 4, 5});
}
Results projected_of_integers(const Call& call) {
  require(call.rank(0) == 3 && call.rank(1) == 2, "[onnx] x [", call.shape(0), "] times a weight [",
          call.shape(1), "]");
  const Tensor all = product_of_integers(call, {0, 1, 3, 4, 6, 7});
  const std::int64_t third = all.size(2) / 3;
  return of_projections(call, with_projection_bias(call, all), {third, third, third}, {5, 8, {}});
}

// Keys and values may be in heads already. All in one tensor, which ONNX Runtime has not on the
// host either, is not supported.
Operands operands_of(const Call& call, std::int64_t heads) {
  require(call.has(1) && call.has(2),
          "[onnx] keys and values that are packed into one tensor are not supported; three inputs "
          "are wanted");
  const Tensor k = call.tensor(1), v = call.tensor(2);
  return {in_heads(call.tensor(0), heads), k.rank() == 4 ? k : in_heads(k, heads),
          v.rank() == 4 ? v : in_heads(v, heads)};
}
Results of_many_heads(const Call& call) {
  const std::int64_t heads = heads_of(call, "num_heads");
  Operands o = operands_of(call, heads);
  if (call.has(3)) {
    const Tensor bias = call.tensor(3);
    const std::int64_t size = heads * o.q.size(3), of_values = heads * o.v.size(3);
    require(bias.shape() == Shape({2 * size + of_values}), "[onnx] a bias [", bias.shape(),
            "] for queries and keys of ", size, " and values of ", of_values);
    auto part = [&](std::int64_t start, std::int64_t end) {
      return bias.slice(0, start, end).reshape({heads, 1, (end - start) / heads});
    };
    o = {add(o.q, part(0, size)), add(o.k, part(size, 2 * size)),
         add(o.v, part(2 * size, 2 * size + of_values))};
  }
  require(call.has(6) == call.has(7), "[onnx] former keys or values alone are given");
  o.k = behind(call.optional_tensor(6), o.k, "keys");
  o.v = behind(call.optional_tensor(7), o.v, "values");
  const bool causal = call.flag("unidirectional", false) && o.steps() > 1;
  require(!causal || o.past() >= 0, "[onnx] ", o.steps(), " queries and ", o.total(),
          " keys, of which each query sees those before it; as many are wanted at least");
  const Tensor added = joined_bias(bias_of(call, 5, o), hidden_by(call, 4, o));
  call.number("mask_filter_value", -10000);
  const Scores scores{scale_of_scores(call), first_place(causal, o), added};
  return {Value(out_of_heads(attended(o, scores))), Value(o.k), Value(o.v)};
}

Tensor rotary(const Call& call) {
  const Tensor x = call.tensor(0), given = call.tensor(1);
  const std::int64_t heads = call.integer("num_heads", 0),
                     turned = call.integer("rotary_embedding_dim", 0);
  const Rotation by{call.tensor(2), call.tensor(3), call.flag("interleaved", false)};
  if (call.number("scale", 1) != 1) call.refuse("scale", "is not 1");
  if (call.integer("is_packed_batching", 0) != 0)
    call.refuse("is_packed_batching", "is not supported");
  require(by.cos.rank() == 2, "[onnx] a table of cosines [", by.cos.shape(), "]");
  require(x.rank() == 4 || x.rank() == 3, "[onnx] [", x.shape(),
          "]; [batch, steps, heads * size] is wanted, or [batch, heads, steps, size]");
  require(turned == 0 || (heads > 0 && turned == 2 * by.cos.size(1)),
          "[onnx] rotary_embedding_dim ", turned, " with ", heads, " heads and a table [",
          by.cos.shape(), "]");
  const std::int64_t own =
      heads > 0 ? heads : x.size(-1) / std::max<std::int64_t>(2 * by.cos.size(1), 1);
  const Tensor split = x.rank() == 4 ? x : in_heads(x, own);
  Tensor places = given.to(i64);
  if (places.count() == 1)
    places = add(arange(0, split.size(2)).reshape({1, split.size(2)}), places.reshape({}));
  require(places.rank() == 2 && (places.size(0) == 1 || places.size(0) == x.size(0)) &&
              places.size(1) == split.size(2),
          "[onnx] places [", given.shape(), "] for [", x.shape(), "]");
  const Tensor result = rotated(split, places, by);
  return x.rank() == 4 ? result : out_of_heads(result);
}

// How many rows a cache has and what of it is new.
struct Cache {
  std::int64_t former, total, capacity;
  bool is_simple;  // it grows by the new rows at its end, in all of the batch
  Tensor from;     // [batch, 1], i64: where the new rows begin
};
Cache cache_of(const Call& call, const Operands& o) {
  require(call.has(3) == call.has(4), "[onnx] former keys or values alone are given");
  require(call.dtype(5) == i32 && element_count(call.shape(5)) == o.batch(), "[onnx] seqlens_k is ",
          call.dtype(5), " [", call.shape(5), "]; i32 [", o.batch(), "] is wanted");
  const std::int64_t steps = o.steps(), total = call.scalar(6).as_integer();
  for (std::size_t input : {std::size_t{3}, std::size_t{4}})
    if (call.has(input)) {
      const Shape& shape = call.shape(input);
      const bool fits = shape.rank() == 4 && shape[0] == o.batch() && shape[1] == o.k.size(1) &&
                        shape[2] == call.shape(3)[2] && shape[3] == o.k.size(3) &&
                        call.dtype(input) == o.k.dtype();
      require(fits, "[onnx] input ", input, ", former keys or values, is ", call.dtype(input), " [",
              shape, "] before [", o.k.shape(), "]; the same batch, heads and sizes are wanted");
    }
  Cache cache{call.has(3) ? call.shape(3)[2] : 0, total, 0, false, {}};
  cache.capacity = std::max(cache.former, total);
  require(total >= steps && steps > 0 && total <= cache.former + steps, "[onnx] ", steps,
          " new rows, ", total, " rows in all and a cache of ", cache.former,
          "; a cache has the others");
  const bool is_first = total == steps;
  cache.is_simple = cache.former + steps == total && (is_first || o.batch() == 1);
  if (is_first || cache.is_simple)
    cache.from = full({o.batch(), 1}, total - steps, i64);
  else
    cache.from = add(call.tensor(5).to(i64), 1 - steps).reshape({o.batch(), 1});
  return cache;
}

Operands grouped_operands(const Call& call) {
  const std::int64_t heads = heads_of(call, "num_heads"), own = heads_of(call, "kv_num_heads");
  require(heads % own == 0, "[onnx] ", heads, " heads of queries and ", own, " of keys");
  const Tensor q = call.tensor(0);
  require(call.has(1) == call.has(2), "[onnx] keys or values alone are given");
  if (call.has(1))
    return {in_heads(q, heads), in_heads(call.tensor(1), own), in_heads(call.tensor(2), own)};
  const Tensor all = in_heads(q, heads + 2 * own);
  return {all.slice(1, 0, heads), all.slice(1, heads, heads + own),
          all.slice(1, heads + own, heads + 2 * own)};
}
void refuse_other_forms(const Call& call) {
  for (const char* name : {"qk_output", "sliding_window_cache"})
    if (call.integer(name, 0) != 0) call.refuse(name, "is not supported");
  if (call.integer("smooth_softmax", 0) > 0) call.refuse("smooth_softmax", "is not supported");
  if (call.integer("causal", 1) != 1) call.refuse("causal", "is not 1, which is not supported");
  for (const char* name : {"k_quant_type", "v_quant_type"})
    if (call.text(name, "NONE") != "NONE") call.refuse(name, "is not NONE");
  call.integer("kv_cache_bit_width", 0);
  for (const char* name : {"qk_norm_epsilon", "q_norm_epsilon", "k_norm_epsilon"})
    call.number(name, 0);  // of norms whose weights are not supported
}

// Each head of keys for several of queries. Rows of the batch may have caches of different lengths,
// as seqlens_k says: the place of the last key.
Results grouped(const Call& call) {
  Operands o = grouped_operands(call);
  refuse_other_forms(call);
  require(o.k.rank() == 4 && o.k.shape() == o.v.shape() && o.k.size(2) == o.steps() &&
              o.k.size(0) == o.batch() && o.k.size(3) == o.q.size(3),
          "[onnx] new keys [", o.k.shape(), "] and values [", o.v.shape(), "] for queries [",
          o.q.shape(), "]");
  const Cache cache = cache_of(call, o);
  const Tensor rows = add(cache.from, arange(0, o.steps()).reshape({1, o.steps()}));
  if (call.flag("do_rotary", false)) {
    const Rotation by{call.tensor(7), call.tensor(8), call.flag("rotary_interleaved", false)};
    const Tensor places = call.has(9) ? call.tensor(9) : rows;
    require(places.shape() == rows.shape(), "[onnx] position_ids [", places.shape(), "]; [",
            rows.shape(), "] are wanted");
    o.q = rotated(o.q, places, by);
    o.k = rotated(o.k, places, by);
  } else {
    call.integer("rotary_interleaved", 0);
    for (std::size_t unread : {7U, 8U, 9U}) static_cast<void>(call.has(unread));
  }
  const std::int64_t window = call.integer("local_window_size", -1);
  if (window < -1 || window == 0) call.refuse("local_window_size", concat("is ", window));
  const Tensor past_k = call.optional_tensor(3), past_v = call.optional_tensor(4);
  Scores scores{scale_of_scores(call), {}, {}, call.number("softcap", 0)};
  if (cache.is_simple) {
    o.k = behind(past_k, o.k, "keys");
    o.v = behind(past_v, o.v, "values");
  } else {
    o.k = rows_in_cache(past_k, o.k, cache.from, cache.capacity);
    o.v = rows_in_cache(past_v, o.v, cache.from, cache.capacity);
  }
  const Tensor present_k = o.k, present_v = o.v;
  o.k = o.k.slice(2, 0, cache.total);
  o.v = o.v.slice(2, 0, cache.total);
  if (!cache.is_simple || window > 0)
    scores.mask = bias_of_places(rows, cache.total, std::max<std::int64_t>(window, 0));
  scores.first_place = first_place(cache.is_simple && window <= 0, o);
  scores.mask = joined_bias(bias_of(call, 10, o), scores.mask);
  return {Value(out_of_heads(attended(o, scores))), Value(present_k), Value(present_v)};
}

constexpr Operator rows[] = {
    {"com.microsoft.Attention", 1, by<projected>},
    {"com.microsoft.GroupQueryAttention", 1, by<grouped>},
    {"com.microsoft.MultiHeadAttention", 1, by<of_many_heads>},
    {"com.microsoft.QAttention", 1, by<projected_of_integers>},
    {"com.microsoft.RotaryEmbedding", 1, by<rotary>},
};

}  // namespace
}  // namespace runtime_attention_rows

std::span<const Operator> runtime_attention_operators() { return runtime_attention_rows::rows; }

}  // namespace tilewright::onnx
