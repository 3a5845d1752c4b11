#include "models/llama.h"

#include "models/random.h"
#include "models/weights.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

const LlamaConfig& checked(const LlamaConfig& config) {
  check_config(config, "sizes");
  return config;
}

}  // namespace

LlamaLayer::LlamaLayer(const LlamaConfig& c, LayerOptions options)
    : input_layernorm(c.hidden, c.norm_eps, options),
      self_attn({c.hidden, c.heads, c.kv_heads, c.head_size, c.attention_bias}, options),
      post_attention_layernorm(c.hidden, c.norm_eps, options),
      mlp(c.hidden, c.intermediate, c.mlp_bias, options) {
  register_module("input_layernorm", input_layernorm);
  register_module("self_attn", self_attn);
  register_module("post_attention_layernorm", post_attention_layernorm);
  register_module("mlp", mlp);
}

Tensor LlamaLayer::forward(const Tensor& x, const Placement& placement) {
  Tensor attended = x + self_attn.forward(input_layernorm(x), placement);
  return attended + mlp(post_attention_layernorm(attended));
}

Llama::Llama(const LlamaConfig& config, ModelOptions options)
    : LanguageModel("llama", options, checked(config).max_positions,
                    config.layers * config.kv_heads * config.head_size),
      config_(config),
      rotary_(max_positions(), config.head_size, config.rope_theta),
      embed_tokens_(config.vocabulary, config.hidden,
                    {options.init, options.dtype, options.device}),
      norm_(config.hidden, config.norm_eps, {options.init, options.dtype, options.device}) {
  LayerOptions layer{options.init, options.dtype, options.device};
  for (std::int64_t i = 0; i < config.layers; ++i)
    layers_.add(config, layer).self_attn.allocate_cache(batch(), max_positions());
  register_module("model.embed_tokens", embed_tokens_);
  register_module("model.layers", layers_);
  register_module("model.norm", norm_);
  for (Tensor* table : {&rotary_.cos, &rotary_.sin}) {
    table->move_to(options.device);
    register_buffer(*table);
  }
  if (config.tied_embeddings) return;
  lm_head_ = std::make_unique<Linear>(config.hidden, config.vocabulary, false, layer);
  register_module("lm_head", *lm_head_);
}

void Llama::quantize(const QuantizeOptions& options) {
  if (!lm_head_) {
    lm_head_ = std::make_unique<Linear>(embed_tokens_.weight);
    register_module("lm_head", *lm_head_);
  }
  Module::quantize(options);
}

std::vector<std::int64_t> Llama::stop_ids() const {
  std::vector<std::int64_t> ids = config_.eos;
  if (config_.bos >= 0) ids.push_back(config_.bos);
  return ids;
}

Tensor Llama::hidden_rows(const Tensor& ids, const Tensor& position) {
  Placement placement(position, ids.size(1), rotary_);
  Tensor x = embed_tokens_(ids);
  for (std::size_t i = 0; i < layers_.size(); ++i) x = layers_[i].forward(x, placement);
  return x;
}

Tensor Llama::logits(const Tensor& rows) const {
  Tensor x = norm_(rows);
  Tensor y = lm_head_ ? (*lm_head_)(x) : linear(x, embed_tokens_.weight);
  return y.dtype() == f32 ? y : y.to(f32);
}

std::unique_ptr<Llama> load_llama(const std::filesystem::path& folder, ModelOptions options) {
  LlamaConfig config = read_llama_config(folder / "config.json");
  Weights weights = Weights::open(folder);
  std::int64_t held = 0;
  for (const std::string& name : weights.names()) held += element_count(weights.shape(name));
  // A small file must not make us allocate what its configuration claims.
  require(held >= config.parameter_count(), "[load_llama] ", folder.string(),
          ": config.json describes a model of ", config.parameter_count(),
          " parameters; the weights hold ", held);
  options.init = Init::none;
  auto model = std::make_unique<Llama>(config, options);
  bool tied = config.tied_embeddings;
  model->load(weights, {.ignore =
                            [tied](std::string_view name) {
                              // A copy of the embedding, and a table that older files carry.
                              return (tied && name == "lm_head.weight") ||
                                     name.ends_with("rotary_emb.inv_freq");
                            },
                        .progress = options.progress});
  return model;
}

std::unique_ptr<Llama> random_llama(const LlamaConfig& config, std::uint64_t seed,
                                    ModelOptions options) {
  constexpr double deviation = 0.02;
  options.init = Init::none;
  auto model = std::make_unique<Llama>(config, options);
  std::uint64_t stream = 0;
  for (auto& [name, tensor] : model->named_parameters()) {
    if (name.ends_with("norm.weight"))
      fill_value(tensor, 1);
    else if (name.ends_with(".bias"))
      fill_value(tensor, 0);
    else
      fill_normal(tensor, 0, deviation, RandomStream(seed, stream));
    ++stream;
  }
  return model;
}

}  // namespace tilewright
