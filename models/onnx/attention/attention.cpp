// Attention, rotary positions and caches that are written to, as ONNX's own operators since the
// operator sets 23 and 24.
#include <limits>

#include "graph/functions/attending/key_cache.h"
#include "graph/functions/attending/masks.h"
#include "models/onnx/attention/heads.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace attention_rows {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

// Operands of three axes are split into as many heads as attributes say; those of four have them
// already.
Operands operands_of(const Call& call) {
  const int rank = call.rank(0);
  require((rank == 3 || rank == 4) && call.rank(1) == rank && call.rank(2) == rank,
          "[onnx] queries [", call.shape(0), "], keys [", call.shape(1), "] and values [",
          call.shape(2), "]; three or four axes each are wanted");
  if (rank == 3) {
    const std::int64_t heads = heads_of(call, "q_num_heads"), own = heads_of(call, "kv_num_heads");
    return {in_heads(call.tensor(0), heads), in_heads(call.tensor(1), own),
            in_heads(call.tensor(2), own)};
  }
  Operands o{call.tensor(0), call.tensor(1), call.tensor(2)};
  if (call.integer("q_num_heads", o.q.size(1)) != o.q.size(1))
    call.refuse("q_num_heads", concat("is not the ", o.q.size(1), " heads of the queries"));
  if (call.integer("kv_num_heads", o.k.size(1)) != o.k.size(1))
    call.refuse("kv_num_heads", concat("is not the ", o.k.size(1), " heads of the keys"));
  return o;
}

// From operator set 24 on a mask may say nothing of the last keys, which are not seen then.
Tensor mask_of(const Call& call, const Operands& o) {
  if (!call.has(3)) return {};
  const Tensor mask = call.tensor(3);
  const bool is_flags = is_boolean(mask.dtype());
  require((is_flags || is_floating(mask.dtype())) && mask.rank() >= 1 && mask.rank() <= 4,
          "[onnx] a mask of ", mask.dtype(), " [", mask.shape(),
          "]; bool or floats of up to four axes are wanted");
  if (call.opset() < 24 || mask.size(-1) >= o.total()) return mask;
  Shape rest = mask.shape();
  rest[-1] = o.total() - mask.size(-1);
  return cat({mask, full(rest, is_flags ? 0 : nothing, mask.dtype())}, mask.rank() - 1);
}

Scores scores_of(const Call& call, const Operands& o, std::int64_t past) {
  Scores s;
  if (call.has("scale")) s.scale = call.number("scale");
  s.softcap = call.number("softcap", 0);
  if (s.softcap < 0) call.refuse("softcap", concat("is ", s.softcap, "; 0 or more is wanted"));
  if (call.has("softmax_precision")) s.softmax_in = call.dtype("softmax_precision");
  if (s.softmax_in && !is_floating(*s.softmax_in))
    call.refuse("softmax_precision", "is no type of floats");
  const bool causal = call.flag("is_causal", false);
  s.mask = mask_of(call, o);
  if (!call.has(6)) {
    if (causal) s.first_place = past;
    return s;
  }
  const Tensor counts = call.tensor(6);
  require(counts.shape() == Shape({o.batch()}), "[onnx] nonpad_kv_seqlen [", counts.shape(), "]; [",
          o.batch(), "] is wanted");
  s.mask = joined_mask(keys_within(counts, {o.batch(), o.steps(), o.total()}, causal), s.mask);
  return s;
}

// Keys and values of former steps stand before the new ones, or a node before has put the new ones
// into a cache of which nonpad_kv_seqlen says how much is filled.
Results attention(const Call& call) {
  Operands o = operands_of(call);
  require(call.has(4) == call.has(5), "[onnx] former keys or values alone are given");
  require(!call.has(4) || !call.has(6),
          "[onnx] former keys and values are given together with nonpad_kv_seqlen; one of both is "
          "wanted");
  o.k = behind(call.optional_tensor(4), o.k, "keys");
  o.v = behind(call.optional_tensor(5), o.v, "values");
  const Scores s = scores_of(call, o, call.has(4) ? call.shape(4)[2] : 0);
  const std::int64_t mode = call.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    call.refuse("qk_matmul_output_mode", concat("is ", mode, "; 0 to 3 are wanted"));
  auto as_given = [&](const Tensor& y) { return call.rank(0) == 3 ? out_of_heads(y) : y; };
  if (!call.wants(3)) return {Value(as_given(attended(o, s))), Value(o.k), Value(o.v)};
  const AttentionSteps w = weighing(o, s);
  const Tensor shown[] = {w.products, w.capped, w.masked, w.weights};
  return {Value(as_given(attention_of_weights(w.weights, o.v))), Value(o.k), Value(o.v),
          Value(shown[mode].to(o.q.dtype()))};
}

Tensor rotary(const Call& call) {
  const Tensor x = call.tensor(0);
  require(x.rank() == 4 || x.rank() == 3, "[onnx] [", x.shape(),
          "]; [batch, steps, heads * size] is wanted, or [batch, heads, steps, size]");
  if (x.rank() == 4) call.integer("num_heads", 0);
  const Tensor split = x.rank() == 4 ? x : in_heads(x, heads_of(call, "num_heads"));
  const Rotation by{call.tensor(1), call.tensor(2), call.flag("interleaved", false)};
  const std::int64_t given = call.integer("rotary_embedding_dim", 0),
                     size = given == 0 ? split.size(3) : given;
  require(by.cos.rank() >= 1 && size <= split.size(3) && 2 * by.cos.size(-1) == size,
          "[onnx] cosines [", by.cos.shape(), "] for ", size, " elements of heads of ",
          split.size(3), "; half as many are wanted");
  Tensor result;
  if (call.has(3)) {
    const Tensor places = call.tensor(3);
    require(places.shape() == Shape({x.size(0), split.size(2)}), "[onnx] position_ids [",
            places.shape(), "]; [", x.size(0), "x", split.size(2), "] are wanted");
    result = rotated(split, places, by);
  } else {
    result = rotary_embedding(split, by.cos, by.sin, by.interleaved);
  }
  return x.rank() == 4 ? result : out_of_heads(result);
}

// The update at its place in the cache, which each of the batch has its own of. Elements beyond the
// end are not written where the model computes places, and are an Error where these are known.
Tensor with_update(const Call& call) {
  const Tensor cache = call.tensor(0), update = call.tensor(1);
  const int axis = call.axis_within("axis", -2, cache.rank());
  const std::string mode = call.text("mode", "linear");
  if (mode != "linear" && mode != "circular") call.refuse("mode", "is neither linear nor circular");
  if (axis == 0) call.refuse("axis", "is that of the batch");
  Shape wanted = cache.shape();
  if (update.rank() == cache.rank()) wanted[axis] = update.size(axis);
  const std::int64_t capacity = cache.size(axis), steps = wanted[axis];
  require(update.shape() == wanted && steps <= capacity && update.dtype() == cache.dtype(),
          "[onnx] an update ", update.dtype(), " [", update.shape(), "] along axis ", axis,
          " of a cache ", cache.dtype(), " [", cache.shape(),
          "]; the same type and other sizes are wanted");
  if (steps == 0) return cache;
  if (!call.has(2))
    return steps == capacity ? update : cat({update, cache.slice(axis, steps, capacity)}, axis);
  require(call.shape(2) == Shape({cache.size(0)}), "[onnx] write_indices [", call.shape(2), "]; [",
          cache.size(0), "] are wanted");
  if (const Known* known = call.known(2); known != nullptr && mode == "linear")
    for (const Number& each : known->elements)
      require(each.as_integer() >= 0 && each.as_integer() <= capacity - steps,
              "[onnx] an update of ", steps, " at ", each.as_integer(), " of a cache of ", capacity,
              "; 0 to ", capacity - steps, " are wanted");
  return tensor_scatter(cache, update, call.tensor(2), axis, mode == "circular");
}

constexpr Operator rows[] = {
    {"Attention", 23, by<attention>},
    {"RotaryEmbedding", 23, by<rotary>},
    {"TensorScatter", 24, by<with_update>},
};

}  // namespace
}  // namespace attention_rows

std::span<const Operator> attention_operators() { return attention_rows::rows; }

}  // namespace tilewright::onnx
