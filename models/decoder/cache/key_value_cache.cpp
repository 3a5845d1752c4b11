#include "models/decoder/cache/key_value_cache.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "graph/functions/attending/paged_attention.h"
#include "graph/functions/attending/row_codes.h"
#include "models/layers/invariant_step.h"
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

}  // namespace

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

void KeyValueCache::allocate_pages(std::int64_t pages, const CacheForm& form,
                                   const Device& device) {
  groups_ = form.groups;
  page_rows_ = form.positions;
  const std::int64_t rows = pages * groups_ * page_rows_;
  for (Tensor* part : {&keys, &values})
    *part = Tensor::empty({rows, form.head_size}, form.code_dtype.value_or(form.dtype), device);
  if (!form.code_dtype) return;
  for (Tensor* scales : {&key_scales, &value_scales})
    *scales = Tensor::empty({rows}, accumulator(form.dtype), device);
}

KeyValueCache KeyValueCache::with_table(const Tensor& page_table, const Tensor& writable) const {
  KeyValueCache cache = *this;
  cache.page_table_ = page_table;
  cache.writable_pages_ = writable;
  return cache;
}

bool KeyValueCache::is_like(const KeyValueCache& other) const {
  const bool pages = has_pages();
  return pages == other.has_pages() && values.dtype() == other.values.dtype() &&
         values.size(-1) == other.values.size(-1) &&
         (pages ? groups_ == other.groups_ : values.size(1) == other.values.size(1));
}

void KeyValueCache::fill_page(std::int64_t page, const std::vector<Tensor*>& parts, double value) {
  const std::int64_t rows = groups_ * page_rows_;
  for (Tensor* part : parts) {
    Tensor place = part->slice(0, page * rows, (page + 1) * rows);
    place.copy_from(full(place.shape(), value, f32).to(part->dtype()).to(place.device()));
  }
}

void KeyValueCache::clear_page(std::int64_t page) { fill_page(page, tensors(), 0); }

void KeyValueCache::spoil_page(std::int64_t page) {
  fill_page(page, {has_codes() ? &value_scales : &values},
            std::numeric_limits<double>::quiet_NaN());
}

void KeyValueCache::copy_page(std::int64_t to, std::int64_t from) {
  const std::int64_t rows = groups_ * page_rows_;
  for (Tensor* part : tensors()) {
    Tensor place = part->slice(0, to * rows, (to + 1) * rows);
    place.copy_from(part->slice(0, from * rows, (from + 1) * rows));
  }
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
  if (!has_codes()) return {with_keys(k), added(values, v), {}, {}, {}};
  const RowCodes key_codes = quantize_rows(k, keys.dtype()),
                 value_codes = quantize_rows(v, values.dtype());
  return {with_keys(key_codes.codes),
          added(values, value_codes.codes),
          added(key_scales, key_codes.scales),
          added(value_scales, value_codes.scales),
          {}};
}

KeyValueCache::Rows KeyValueCache::with_rows_in_pages(const Tensor& k, const Tensor& v,
                                                      const Tensor& positions) {
  const Tensor places = places_in_pages(writable_pages_, positions, groups_, page_rows_);
  const std::int64_t count = places.count(), size = k.size(3);
  auto added = [&](Tensor& memory, const Tensor& rows) {
    const bool are_scales = memory.rank() == 1;
    memory.index_copy_(0, places, rows.reshape(are_scales ? Shape{count} : Shape{count, size}));
    Shape shape{memory.size(0) / groups_ / page_rows_, groups_, page_rows_};
    if (!are_scales) shape.push_back(size);
    return memory.reshape(shape);
  };
  if (!has_codes()) return {added(keys, k), added(values, v), {}, {}, page_table_};
  const RowCodes key_codes = quantize_rows(k, keys.dtype()),
                 value_codes = quantize_rows(v, values.dtype());
  return {added(keys, key_codes.codes), added(values, value_codes.codes),
          added(key_scales, key_codes.scales), added(value_scales, value_codes.scales),
          page_table_};
}

void KeyValueCache::Rows::expand(std::int64_t batch) {
  auto widen = [&](Tensor& t) {
    if (!t.defined()) return;
    Shape wide = t.shape();
    wide[0] = batch;
    t = t.expand(wide);
  };
  if (page_table.defined()) return widen(page_table);
  for (Tensor* t : {&keys, &values, &key_scales, &value_scales}) widen(*t);
}

KeyValueCache::Rows KeyValueCache::Rows::in_order() const {
  if (!page_table.defined()) return *this;
  const std::int64_t batch = page_table.size(0), pages = page_table.size(1);
  auto ordered = [&](const Tensor& memory) {
    if (!memory.defined()) return memory;
    Shape apart = memory.shape(), joined = apart;
    const Tensor lines = memory.reshape({apart[0], memory.count() / apart[0]});
    const Tensor rows = embedding(page_table, lines);
    // Rows of no page are seen by no row, and their values must be numbers.
    const Tensor is_own = (page_table >= CommonPages::count).unsqueeze(2);
    const Tensor seen = where(is_own, rows.to(f32), 0).to(memory.dtype());
    apart[0] = pages;
    apart.insert(apart.begin(), batch);
    joined[0] = batch;
    joined[2] *= pages;
    std::vector<int> axes = {0, 2, 1, 3, 4};
    axes.resize(apart.size());
    return seen.reshape(apart).permute(axes).reshape(joined);
  };
  return {ordered(keys), ordered(values), ordered(key_scales), ordered(value_scales), {}};
}

Tensor KeyValueCache::Rows::attended(const Tensor& q, const AttentionOptions& options) const {
  const RowCodes key_codes{keys, key_scales}, value_codes{values, value_scales};
  const bool are_codes = key_scales.defined();
  if (page_table.defined())
    return are_codes ? paged_attention(q, key_codes, value_codes, page_table, options)
                     : paged_attention(q, keys, values, page_table, options);
  return are_codes ? scaled_dot_product_attention(q, key_codes, value_codes, options)
                   : scaled_dot_product_attention(q, keys, values, options);
}

Tensor KeyValueCache::attend(const Tensor& q, const Tensor& k, const Tensor& v,
                             const RowPositions& row_positions, const Scores& scores) {
  AttentionOptions options{.causal = true, .scale = scores.scale, .cap = scores.cap};
  Rows seen{k, v, {}, {}, {}};
  std::int64_t keys_seen = k.size(2);
  if (is_allocated()) {
    require(q.size(0) == batch(), "[attention] a batch of ", q.size(0), "; the cache is for ",
            batch());
    seen = has_pages() ? with_rows_in_pages(k, v, row_positions.positions)
                       : with_rows(k, v, row_positions.positions);
    keys_seen = positions();
    options.position = row_positions.first;
  }
  // A window as long as the cache hides nothing.
  if (scores.window < keys_seen) options.window = scores.window;
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
  if (scores.sinks.defined()) seen = seen.in_order();
  if (scores.sinks.defined() && has_codes())
    seen = {RowCodes{seen.keys, seen.key_scales}.decoded(f32),
            RowCodes{seen.values, seen.value_scales}.decoded(f32),
            {},
            {},
            {}};
  const Tensor mixed = scores.sinks.defined()
                           ? attend_with_sinks(queries, seen.keys, seen.values, places, scores)
                           : seen.attended(queries, options);
  return mixed.permute({0, 2, 1, 3}).reshape({q.size(0), q.size(2), q.size(1) * q.size(3)});
}

}  // namespace tilewright
