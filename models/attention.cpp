#include "models/attention.h"

#include <cmath>
#include <cstring>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

Tensor zeroed(const Shape& shape, DType dtype, const Device& device) {
  Tensor tensor = Tensor::empty(shape, dtype);
  std::memset(tensor.data(), 0, static_cast<std::size_t>(tensor.count() * size_bytes(dtype)));
  return tensor.to(device);
}

}  // namespace

RotaryTable::RotaryTable(std::int64_t positions, std::int64_t head_size, double theta) {
  std::int64_t half = head_size / 2;
  std::vector<float> cosines, sines;
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t i = 0; i < half; ++i) {
      double exponent = -static_cast<double>(i) / static_cast<double>(half);
      double angle = static_cast<double>(p) * std::pow(theta, exponent);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  cos = Tensor::from(cosines, {positions, half});
  sin = Tensor::from(sines, {positions, half});
}

Placement::Placement(const Tensor& first, std::int64_t rows)
    : first(first), positions(first + arange(0, rows)) {}

Placement::Placement(const Tensor& first, std::int64_t rows, const RotaryTable& table)
    : Placement(first, rows) {
  cos = embedding(positions, table.cos);
  sin = embedding(positions, table.sin);
}

Tensor rotate(const Tensor& x, const Placement& placement) {
  std::int64_t size = x.size(3);
  Tensor a = x.slice(3, 0, size / 2), b = x.slice(3, size / 2, size);
  const Tensor &cos = placement.cos, &sin = placement.sin;
  Tensor turned = cat({a * cos - b * sin, b * cos + a * sin}, 3);
  return turned.dtype() == x.dtype() ? turned : turned.to(x.dtype());
}

Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).permute({0, 2, 1, 3});
}

void KeyValueCache::allocate(std::int64_t batch, std::int64_t groups, std::int64_t head_size,
                             std::int64_t positions, DType dtype, const Device& device) {
  require(batch > 0 && positions > 0, "[attention] a cache for ", batch, " sequences of ",
          positions, " positions; both must be above 0");
  constexpr std::int64_t cache_line = 64;
  turns_keys_ = head_size * size_bytes(dtype) < cache_line;
  keys = zeroed(turns_keys_ ? Shape{batch, groups, head_size, positions}
                            : Shape{batch, groups, positions, head_size},
                dtype, device);
  values = zeroed({batch, groups, positions, head_size}, dtype, device);
}

Tensor KeyValueCache::attend(const Tensor& q, Tensor k, Tensor v, const Placement& placement) {
  AttentionOptions options{.causal = true};
  if (is_allocated()) {
    require(q.size(0) == keys.size(0), "[attention] a batch of ", q.size(0), "; the cache is for ",
            keys.size(0));
    k = turns_keys_ ? keys.index_copy_(3, placement.positions, k.transpose(2, 3)).transpose(2, 3)
                    : keys.index_copy_(2, placement.positions, k);
    v = values.index_copy_(2, placement.positions, v);
    options.position = placement.first;
  }
  Tensor mixed = scaled_dot_product_attention(q, k, v, options);
  return mixed.permute({0, 2, 1, 3}).reshape({q.size(0), q.size(2), q.size(1) * q.size(3)});
}

Attention::Attention(const AttentionSizes& sizes, LayerOptions options)
    : q_proj(sizes.hidden, sizes.heads * sizes.head_size, sizes.bias, options),
      k_proj(sizes.hidden, sizes.kv_heads * sizes.head_size, sizes.bias, options),
      v_proj(sizes.hidden, sizes.kv_heads * sizes.head_size, sizes.bias, options),
      o_proj(sizes.heads * sizes.head_size, sizes.hidden, sizes.bias, options),
      sizes_(sizes) {
  require(sizes.heads % sizes.kv_heads == 0 && sizes.head_size % 2 == 0, "[attention] ",
          sizes.heads, " heads of size ", sizes.head_size, " in ", sizes.kv_heads,
          " groups; heads must be a multiple of groups and the size even");
  register_module("q_proj", q_proj);
  register_module("k_proj", k_proj);
  register_module("v_proj", v_proj);
  register_module("o_proj", o_proj);
}

void Attention::allocate_cache(std::int64_t batch, std::int64_t positions) {
  cache_.allocate(batch, sizes_.kv_heads, sizes_.head_size, positions, q_proj.weight.dtype(),
                  q_proj.weight.device());
  register_buffer(cache_.keys);
  register_buffer(cache_.values);
}

Tensor Attention::forward(const Tensor& x, const Placement& placement) {
  Tensor q = rotate(split_heads(q_proj(x), sizes_.heads), placement);
  Tensor k = rotate(split_heads(k_proj(x), sizes_.kv_heads), placement);
  Tensor v = split_heads(v_proj(x), sizes_.kv_heads);
  return o_proj(cache_.attend(q, k, v, placement));
}

}  // namespace tilewright
