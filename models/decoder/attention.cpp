#include "models/decoder/attention.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "graph/functions/attending/row_codes.h"
#include "models/layers/invariant_step.h"
#include "models/layers/random.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

Tensor zeroed(const Shape& shape, DType dtype, const Device& device) {
  Tensor tensor = Tensor::empty(shape, dtype);
  std::memset(tensor.data(), 0, static_cast<std::size_t>(tensor.count() * size_bytes(dtype)));
  return tensor.to(device);
}

// Attention whose weights have a part for the sink: by tensor operations, several kernels. Rows are
// at `places`, i64 [rows] or [batch, rows].
Tensor attend_with_sinks(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& places,
                         const Scores& scores) {
  const std::int64_t batch = q.size(0), heads = q.size(1), rows = q.size(2), size = q.size(3);
  const std::int64_t groups = k.size(1), keys = k.size(2);
  const Shape wide = {batch, groups, heads / groups, keys, size};
  auto of_heads = [&](const Tensor& t) {
    return t.to(f32).unsqueeze(2).expand(wide).reshape({batch, heads, keys, size});
  };
  const double scale = scores.scale.value_or(1 / std::sqrt(static_cast<double>(size)));
  const Tensor products = matmul(q.to(f32), of_heads(k).transpose(2, 3)) * scale;
  const Tensor at = arange(0, keys).reshape({1, keys}),
               row = places.reshape({places.count() / rows, 1, rows, 1});
  Tensor sees = at <= row;
  if (scores.window > 0) sees = logical_and(sees, at > row - scores.window);
  const Tensor seen = where(sees, products, -std::numeric_limits<double>::infinity());
  const Tensor sink =
      scores.sinks.to(f32).reshape({1, heads, 1, 1}).expand({batch, heads, rows, 1});
  const Tensor shares = softmax(cat({seen, sink}, 3), 3).slice(3, 0, keys);
  const Tensor mixed = matmul(shares, of_heads(v));
  return q.dtype() == f32 ? mixed : mixed.to(q.dtype());
}

// Elements first, first + step, .. of the rotary part of each head.
Tensor elements_of(const Tensor& x, std::int64_t first, std::int64_t end, std::int64_t step) {
  return x.slice(3, first, end, step);
}

}  // namespace

RowPositions::RowPositions(const Tensor& first, std::int64_t rows, const Tensor& text_rows)
    : first(first),
      text_rows(text_rows),
      positions((first.count() == 1 ? first : first.unsqueeze(1)) + arange(0, rows)) {}

RowPositions::RowPositions(const Tensor& first, std::int64_t rows, const RotaryTable& table,
                           const Tensor& text_rows)
    : RowPositions(RowPositions(first, rows, text_rows).with(table)) {}

RowPositions RowPositions::with(const RotaryTable& table) const {
  auto turns = [&](const Tensor& angles) {
    const Tensor rows = embedding(positions, angles);
    return rows.rank() == 2 ? rows : rows.unsqueeze(1);  // the same for all heads of a text
  };
  RowPositions placed = *this;
  placed.pairs = table.pairs;
  placed.cos = turns(table.cos);
  placed.sin = turns(table.sin);
  if (!table.has_long()) return placed;
  Tensor so_far = first + positions.size(-1);
  Tensor is_long = (text_rows.defined() ? maximum(text_rows, so_far) : so_far) > table.short_rows;
  if (is_long.count() > 1) is_long = is_long.reshape({is_long.count(), 1, 1, 1});
  placed.cos = where(is_long, turns(table.long_cos), placed.cos);
  placed.sin = where(is_long, turns(table.long_sin), placed.sin);
  return placed;
}

Tensor rotate(const Tensor& x, const RowPositions& row_positions) {
  const Tensor &cos = row_positions.cos, &sin = row_positions.sin;
  if (!cos.defined()) return x;
  std::int64_t half = cos.size(-1), size = 2 * half;
  bool halves = row_positions.pairs == RopePairs::halves;
  Tensor a = halves ? elements_of(x, 0, half, 1) : elements_of(x, 0, size, 2);
  Tensor b = halves ? elements_of(x, half, size, 1) : elements_of(x, 1, size, 2);
  Tensor first = a * cos - b * sin, second = b * cos + a * sin;
  std::vector<Tensor> parts = {first, second};
  if (!halves)
    parts = {cat({first.unsqueeze(4), second.unsqueeze(4)}, 4)
                 .reshape({x.size(0), x.size(1), x.size(2), size})};
  auto as_x = [&](const Tensor& y) { return y.dtype() == x.dtype() ? y : y.to(x.dtype()); };
  if (size == x.size(3)) return as_x(halves ? cat(parts, 3) : parts[0]);
  for (Tensor& part : parts) part = as_x(part);
  parts.push_back(x.slice(3, size, x.size(3)));
  return cat(parts, 3);
}

Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).permute({0, 2, 1, 3});
}

void KeyValueCache::allocate(std::int64_t batch, const CacheForm& form, const Device& device) {
  const auto [groups, head_size, positions, own, code_dtype] = form;
  require(batch > 0 && positions > 0, "[attention] a cache for ", batch, " sequences of ",
          positions, " positions; both must be above 0");
  const DType dtype = code_dtype.value_or(own);
  constexpr std::int64_t cache_line = 64;
  turns_keys_ = head_size * size_bytes(dtype) < cache_line;
  keys = zeroed(turns_keys_ ? Shape{batch, groups, head_size, positions}
                            : Shape{batch, groups, positions, head_size},
                dtype, device);
  values = zeroed({batch, groups, positions, head_size}, dtype, device);
  if (!code_dtype) return;
  for (Tensor* scales : {&key_scales, &value_scales})
    *scales = zeroed({batch, groups, positions}, accumulator(own), device);
}

std::vector<Tensor*> KeyValueCache::tensors() {
  if (!has_codes()) return {&keys, &values};
  return {&keys, &values, &key_scales, &value_scales};
}
std::vector<const Tensor*> KeyValueCache::tensors() const {
  if (!has_codes()) return {&keys, &values};
  return {&keys, &values, &key_scales, &value_scales};
}

void KeyValueCache::copy_text(std::int64_t to, const KeyValueCache& other, std::int64_t from,
                              std::int64_t rows) {
  if (rows == 0) return;
  auto copy = [&](const Tensor& target, const Tensor& source, int axis) {
    Tensor place = target.select(0, to).slice(axis, 0, rows);
    place.copy_from(source.select(0, from).slice(axis, 0, rows));
  };
  copy(keys, other.keys, turns_keys_ ? 2 : 1);
  copy(values, other.values, 1);
  if (!has_codes()) return;
  copy(key_scales, other.key_scales, 1);
  copy(value_scales, other.value_scales, 1);
}

KeyValueCache::Rows KeyValueCache::with_rows(const Tensor& k, const Tensor& v,
                                             const Tensor& positions) {
  auto added = [&](Tensor& cache, const Tensor& rows) {
    return cache.index_copy_(2, positions, rows);
  };
  auto with_keys = [&](const Tensor& rows) {
    if (!turns_keys_) return added(keys, rows);
    return keys.index_copy_(3, positions, rows.transpose(2, 3)).transpose(2, 3);
  };
  if (!has_codes()) return {with_keys(k), added(values, v), {}, {}};
  const RowCodes key_codes = quantize_rows(k, keys.dtype()),
                 value_codes = quantize_rows(v, values.dtype());
  return {with_keys(key_codes.codes), added(values, value_codes.codes),
          added(key_scales, key_codes.scales), added(value_scales, value_codes.scales)};
}

void KeyValueCache::Rows::expand(std::int64_t batch) {
  for (Tensor* t : {&keys, &values, &key_scales, &value_scales}) {
    if (!t->defined()) continue;
    Shape wide = t->shape();
    wide[0] = batch;
    *t = t->expand(wide);
  }
}

Tensor KeyValueCache::attend(const Tensor& q, const Tensor& k, const Tensor& v,
                             const RowPositions& row_positions, const Scores& scores) {
  AttentionOptions options{.causal = true, .scale = scores.scale, .cap = scores.cap};
  Rows seen{k, v, {}, {}};
  if (is_allocated()) {
    require(q.size(0) == keys.size(0), "[attention] a batch of ", q.size(0), "; the cache is for ",
            keys.size(0));
    seen = with_rows(k, v, row_positions.positions);
    options.position = row_positions.first;
  }
  // A window as long as the cache hides nothing.
  if (scores.window < seen.keys.size(2)) options.window = scores.window;
  const Tensor places = options.position.defined() ? row_positions.positions
                        : scores.sinks.defined()   ? arange(0, q.size(2))
                                                   : Tensor();
  Tensor queries = q;
  const std::int64_t rows = q.size(2);
  if (options.position.defined() && q.size(0) == 1 && rows > 1 && is_invariant_step(1, rows)) {
    // As one row of each of several texts that share a cache.
    queries = q.permute({2, 1, 0, 3});
    seen.expand(rows);
    options.position = row_positions.positions;
  }
  const RowCodes key_codes{seen.keys, seen.key_scales}, value_codes{seen.values, seen.value_scales};
  if (has_codes() && scores.sinks.defined())
    seen = {key_codes.decoded(f32), value_codes.decoded(f32), {}, {}};
  const Tensor mixed =
      scores.sinks.defined() ? attend_with_sinks(queries, seen.keys, seen.values, places, scores)
      : has_codes() ? scaled_dot_product_attention(queries, key_codes, value_codes, options)
                    : scaled_dot_product_attention(queries, seen.keys, seen.values, options);
  return mixed.permute({0, 2, 1, 3}).reshape({q.size(0), q.size(2), q.size(1) * q.size(3)});
}

Attention::Attention(const AttentionForm& form, LayerOptions options)
    : o_proj(form.heads * form.head_size, form.hidden, form.output_bias, options, form.order),
      form_(form),
      dtype_(options.dtype) {
  require(form.heads % form.kv_heads == 0 && form.head_size > 0, "[attention] ", form.heads,
          " heads of size ", form.head_size, " in ", form.kv_heads,
          " groups; heads must be a multiple of groups and the size above 0");
  require(!form.qkv_by_head || form.heads == form.kv_heads, "[attention] q, k and v by head with ",
          form.heads, " heads in ", form.kv_heads, " groups; there must be as many groups");
  std::int64_t q = form.heads * form.head_size, k = form.kv_heads * form.head_size;
  auto add = [&](std::optional<Linear>& part, std::string_view name, std::int64_t out) {
    if (name.empty()) return;
    part.emplace(form.hidden, out, form.qkv_bias, options, form.order);
    register_module(std::string(name), *part);
  };
  auto add_norm = [&](std::optional<Norm>& part, std::string_view name, std::int64_t heads) {
    if (name.empty()) return;
    std::int64_t width = form.head_size * (form.norms_of_all_heads ? heads : 1);
    part.emplace(form.norm, width, form.norm_eps, options);
    register_module(std::string(name), *part);
  };
  add(q_proj, form.names.q, q);
  add(k_proj, form.names.k, k);
  add(v_proj, form.names.v, k);
  add(qkv_proj, form.names.qkv, q + 2 * k);
  require((q_proj && k_proj && v_proj) != qkv_proj.has_value(),
          "[attention] the parts named are not q, k and v, nor qkv; one of both must be");
  register_module(std::string(form.names.output), o_proj);
  if (form.has_sinks) {
    sinks = Tensor::empty({form.heads}, options.dtype, options.device);
    if (options.init == Init::random) fill_value(sinks, 0);
    register_parameter("sinks", sinks);
  }
  add_norm(q_norm, form.names.q_norm, form.heads);
  add_norm(k_norm, form.names.k_norm, form.kv_heads);
}

KeyValueCache Attention::new_cache(std::int64_t batch, std::int64_t positions, const Device& device,
                                   std::optional<DType> code_dtype) const {
  KeyValueCache cache;
  cache.allocate(batch, {form_.kv_heads, form_.head_size, positions, dtype_, code_dtype}, device);
  return cache;
}

Tensor Attention::heads_of(Tensor x, std::int64_t heads, const std::optional<Norm>& norm) const {
  if (norm && form_.norms_of_all_heads) x = (*norm)(x);
  if (form_.clip > 0) x = clamp(x, -form_.clip, form_.clip);
  Tensor split = split_heads(x, heads);
  return norm && !form_.norms_of_all_heads ? (*norm)(split) : split;
}

Tensor Attention::forward(const Tensor& x, const RowPositions& row_positions,
                          KeyValueCache* cache) const {
  Tensor q, k, v;
  if (qkv_proj) {
    Tensor all = (*qkv_proj)(x);
    if (form_.qkv_by_head)  // the parts of a head beside each other, and so the heads of a part
      all = all.reshape({x.size(0), x.size(1), form_.heads, 3, form_.head_size})
                .permute({0, 1, 3, 2, 4})
                .reshape({x.size(0), x.size(1), all.size(2)});
    std::int64_t at = form_.heads * form_.head_size, size = form_.kv_heads * form_.head_size;
    q = all.slice(2, 0, at);
    k = all.slice(2, at, at + size);
    v = all.slice(2, at + size, at + 2 * size);
  } else {
    q = (*q_proj)(x);
    k = (*k_proj)(x);
    v = (*v_proj)(x);
  }
  q = rotate(heads_of(q, form_.heads, q_norm), row_positions);
  k = rotate(heads_of(k, form_.kv_heads, k_norm), row_positions);
  v = heads_of(v, form_.kv_heads, std::nullopt);
  KeyValueCache none;
  Scores scores = form_.scores;
  scores.sinks = sinks;
  return o_proj((cache ? *cache : none).attend(q, k, v, row_positions, scores));
}

}  // namespace tilewright
