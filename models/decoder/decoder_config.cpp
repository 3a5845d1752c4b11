#include "models/decoder/decoder_config.h"

#include <array>
#include <cmath>

#include "models/files/config_fields.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::int64_t max_layers = 1024, max_hidden = 65'536, max_intermediate = 1 << 20,
                       max_vocabulary = 1 << 22, max_max_positions = 1 << 22;

void check_number(std::string_view what, std::string_view name, double value) {
  require(std::isfinite(value), "[", decoder_operation, "] ", what, ": ", name, " is ", value,
          "; a finite number is needed");
}

void check_sizes(const DecoderConfig& c, std::string_view what) {
  auto check = [&](std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high) {
    check_config_range(decoder_operation, what, name, value, low, high);
  };
  check("num_hidden_layers", c.layers, 1, max_layers);
  check("hidden_size", c.hidden, 1, max_hidden);
  check("intermediate_size", c.intermediate, 1, max_intermediate);
  check("num_attention_heads", c.heads, 1, c.hidden);
  check("num_key_value_heads", c.kv_heads, 1, c.heads);
  check("head_dim", c.head_size, 1, 1024);
  check("vocab_size", c.vocabulary, 1, max_vocabulary);
  check("max_position_embeddings", c.max_positions, 1, max_max_positions);
  require(c.heads % c.kv_heads == 0, "[", decoder_operation, "] ", what, ": ", c.heads,
          " attention heads are not a multiple of ", c.kv_heads, " key and value heads");
  check("the offset of the positions", c.position_offset, 0, 1024);
  check("bos_token_id", c.bos, -1, c.vocabulary - 1);
  for (std::int64_t id : c.eos) check("eos_token_id", id, 0, c.vocabulary - 1);
}

}  // namespace

LayerAttention DecoderConfig::attention_of(std::int64_t layer) const {
  LayerAttention own;
  if (!layer_attention.empty()) own = layer_attention.at(static_cast<std::size_t>(layer));
  if (ropes.empty()) own.rope = -1;
  return own;
}

bool DecoderConfig::has_experts(std::int64_t layer) const {
  return experts && (expert_layers.empty() || expert_layers.at(static_cast<std::size_t>(layer)));
}

AttentionForm DecoderConfig::attention_form(std::int64_t layer) const {
  AttentionForm form{.hidden = hidden,
                     .heads = heads,
                     .kv_heads = kv_heads,
                     .head_size = head_size,
                     .qkv_bias = qkv_bias,
                     .output_bias = output_bias,
                     .qkv_by_head = qkv_by_head,
                     .has_sinks = has_sinks,
                     .clip = qkv_clip,
                     .norms_of_all_heads = norms_of_all_heads,
                     .norm = norm,
                     .norm_eps = norm_eps,
                     .order = weights,
                     .names = attention_names};
  form.scores = {attention_scale, attention_cap, attention_of(layer).window};
  if (scales_by_layer)
    form.scores.scale = attention_scale.value_or(1 / std::sqrt(static_cast<double>(head_size))) /
                        static_cast<double>(layer + 1);
  return form;
}

MlpForm DecoderConfig::mlp_form() const { return {activation, mlp_bias, weights, mlp_names}; }

std::int64_t DecoderConfig::parameter_count() const {
  std::int64_t q = heads * head_size, k = kv_heads * head_size;
  std::int64_t inner = mlp_form().is_gated() ? 2 * intermediate : intermediate;
  const std::int64_t mlp = hidden * (inner + intermediate);
  std::int64_t layer = hidden * (2 * q + 2 * k), mlps = 0;
  for (std::int64_t i = 0; i < layers; ++i)
    mlps += has_experts(i) ? experts->parameter_count(hidden) : mlp;
  if (qkv_bias) layer += q + 2 * k;
  if (output_bias) layer += hidden;
  if (has_sinks) layer += heads;
  if (mlp_bias) layer += inner + hidden;
  for (std::string_view name :
       {names.attention_norm, names.attention_output_norm, names.mlp_norm, names.mlp_output_norm})
    if (!name.empty()) layer += tilewright::parameter_count(norm, hidden);
  auto of_heads = [&](std::string_view name, std::int64_t width) {
    if (!name.empty())
      layer += tilewright::parameter_count(norm, norms_of_all_heads ? width : head_size);
  };
  of_heads(attention_names.q_norm, q);
  of_heads(attention_names.k_norm, k);
  std::int64_t ends = vocabulary * hidden + tilewright::parameter_count(norm, hidden);
  if (!names.positions.empty()) ends += (max_positions + position_offset) * hidden;
  if (!tied_embeddings) ends += vocabulary * hidden;
  if (head_bias) ends += vocabulary;
  return layers * layer + mlps + ends;
}

void check_config(const DecoderConfig& c, std::string_view what) {
  check_sizes(c, what);
  require(std::isfinite(c.norm_eps) && c.norm_eps > 0 && c.norm_eps < 1, "[", decoder_operation,
          "] ", what, ": the epsilon of the norms is ", c.norm_eps,
          "; above 0 and below 1 is allowed");
  for (const RopeConfig& rope : c.ropes) check_rope(rope, c.head_size, decoder_operation, what);
  if (c.attention_scale) check_number(what, "the scale of the attention", *c.attention_scale);
  check_number(what, "the factor of the embedding", c.embedding_factor);
  check_number(what, "the factor of the residual stream", c.residual_factor);
  check_number(what, "the factor of the logits", c.logit_factor);
  for (double cap : {c.attention_cap, c.logit_cap})
    require(std::isfinite(cap) && cap >= 0, "[", decoder_operation, "] ", what, ": a cap is ", cap,
            "; 0 (none) or more is allowed");
  require(c.layer_attention.empty() || std::ssize(c.layer_attention) == c.layers, "[",
          decoder_operation, "] ", what, ": the kinds of ", c.layer_attention.size(),
          " layers are given; there are ", c.layers, " layers");
  for (const LayerAttention& own : c.layer_attention)
    require(own.window >= 0 && own.rope < std::ssize(c.ropes), "[", decoder_operation, "] ", what,
            ": a layer has a window of ", own.window, " and the rotary positions ", own.rope,
            "; 0 or more, and less than ", c.ropes.size(), ", are allowed");
  if (c.experts) {
    auto check = [&](std::string_view name, std::int64_t value, std::int64_t low,
                     std::int64_t high) {
      check_config_range(decoder_operation, what, name, value, low, high);
    };
    check("the number of experts", c.experts->count, 1, 4096);
    check("the number of experts of a token", c.experts->chosen, 1, c.experts->count);
    check("the width of an expert", c.experts->inner, 1, max_intermediate);
    check("the width of the shared expert", c.experts->shared_inner, 0, max_intermediate);
  }
  require(!c.head_bias || !c.tied_embeddings, "[", decoder_operation, "] ", what,
          ": the output matrix has a bias and is the embedding's; only one of both is supported");
}

DecoderConfig gpt2_form() {
  DecoderConfig config;
  config.family = "gpt2";
  config.names = {.prefix = "transformer.",
                  .tokens = "wte",
                  .positions = "wpe",
                  .layers = "h",
                  .norm = "ln_f",
                  .attention = "attn",
                  .attention_norm = "ln_1",
                  .mlp_norm = "ln_2"};
  config.attention_names = {.q = {}, .k = {}, .v = {}, .qkv = "c_attn", .output = "c_proj"};
  config.mlp_names = {.gate = {}, .up = "c_fc", .down = "c_proj"};
  config.weights = WeightOrder::in_out;
  config.norm = NormKind::layer;
  config.activation = Activation::gelu_tanh;
  config.qkv_bias = config.output_bias = config.mlp_bias = true;
  config.tied_embeddings = true;
  config.ropes = {};
  config.shrinks_outputs = true;
  return config;
}

namespace {

constexpr std::array config_names = {
#define TILEWRIGHT_LLAMA(name, ...) std::string_view(#name),
#define TILEWRIGHT_GPT2(name, ...) std::string_view(#name),
#include "models/decoder/configs.def"
};

DecoderConfig llama_of(std::int64_t layers, std::int64_t hidden, std::int64_t intermediate,
                       std::int64_t heads, std::int64_t kv_heads, std::int64_t vocabulary,
                       std::int64_t max_positions, bool tied) {
  DecoderConfig config;
  config.layers = layers;
  config.hidden = hidden;
  config.intermediate = intermediate;
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.head_size = hidden / heads;
  config.vocabulary = vocabulary;
  config.max_positions = max_positions;
  config.tied_embeddings = tied;
  config.bos = 1;
  config.eos = {2};
  return config;
}

DecoderConfig gpt2_of(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                      std::int64_t vocabulary, std::int64_t max_positions) {
  DecoderConfig config = gpt2_form();
  config.layers = layers;
  config.hidden = hidden;
  config.intermediate = 4 * hidden;
  config.heads = config.kv_heads = heads;
  config.head_size = hidden / heads;
  config.vocabulary = vocabulary;
  config.max_positions = max_positions;
  config.bos = vocabulary - 1;
  config.eos = {vocabulary - 1};
  return config;
}

}  // namespace

std::span<const std::string_view> decoder_config_names() { return config_names; }

DecoderConfig decoder_config(std::string_view wanted) {
  std::string names;
  DecoderConfig config;
  auto offer = [&](std::string_view name, auto make) {
    names += concat(names.empty() ? "" : ", ", name);
    if (wanted == name) config = make();
  };
#define TILEWRIGHT_LLAMA(name, ...) offer(#name, [] { return llama_of(__VA_ARGS__); });
#define TILEWRIGHT_GPT2(name, ...) offer(#name, [] { return gpt2_of(__VA_ARGS__); });
#include "models/decoder/configs.def"
  require(config.layers > 0, "[", decoder_operation, "] there is no configuration \"", wanted,
          "\"; there are ", names);
  check_config(config, wanted);
  return config;
}

}  // namespace tilewright
