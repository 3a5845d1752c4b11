#include "models/decoder/attention.h"

#include "models/layers/random.h"
#include "runtime/base/error.h"

namespace tilewright {

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

KeyValueCache Attention::new_pages(std::int64_t pages, std::int64_t page_rows, const Device& device,
                                   std::optional<DType> code_dtype) const {
  KeyValueCache cache;
  cache.allocate_pages(pages, {form_.kv_heads, form_.head_size, page_rows, dtype_, code_dtype},
                       device);
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
