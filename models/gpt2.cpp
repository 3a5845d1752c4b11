#include "models/gpt2.h"

#include <cmath>

#include "models/random.h"
#include "models/weights.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

const Gpt2Config& checked(const Gpt2Config& config) {
  check_config(config, "sizes");
  return config;
}

LayerOptions layer_options(const ModelOptions& o) { return {o.init, o.dtype, o.device}; }

}  // namespace

Gpt2Attention::Gpt2Attention(const Gpt2Config& c, LayerOptions options)
    : c_attn(c.hidden, 3 * c.hidden, options),
      c_proj(c.hidden, c.hidden, options),
      heads_(c.heads) {
  register_module("c_attn", c_attn);
  register_module("c_proj", c_proj);
}

void Gpt2Attention::allocate_cache(std::int64_t batch, std::int64_t positions) {
  const Tensor& weight = c_proj.weight;
  cache_.allocate(batch, heads_, weight.size(0) / heads_, positions, weight.dtype(),
                  weight.device());
  register_buffer(cache_.keys);
  register_buffer(cache_.values);
}

Tensor Gpt2Attention::forward(const Tensor& x, const Placement& placement) {
  Tensor qkv = c_attn(x);
  std::int64_t width = qkv.size(2) / 3;
  auto part = [&](std::int64_t i) {
    return split_heads(qkv.slice(2, i * width, (i + 1) * width), heads_);
  };
  return c_proj(cache_.attend(part(0), part(1), part(2), placement));
}

Gpt2Mlp::Gpt2Mlp(const Gpt2Config& c, LayerOptions options)
    : c_fc(c.hidden, c.intermediate, options), c_proj(c.intermediate, c.hidden, options) {
  register_module("c_fc", c_fc);
  register_module("c_proj", c_proj);
}

Tensor Gpt2Mlp::forward(const Tensor& x) const { return c_proj(gelu(c_fc(x), GeluForm::tanh)); }

Gpt2Layer::Gpt2Layer(const Gpt2Config& c, LayerOptions options)
    : ln_1(c.hidden, c.norm_eps, options),
      attn(c, options),
      ln_2(c.hidden, c.norm_eps, options),
      mlp(c, options) {
  register_module("ln_1", ln_1);
  register_module("attn", attn);
  register_module("ln_2", ln_2);
  register_module("mlp", mlp);
}

Tensor Gpt2Layer::forward(const Tensor& x, const Placement& placement) {
  Tensor attended = x + attn.forward(ln_1(x), placement);
  return attended + mlp.forward(ln_2(attended));
}

Gpt2::Gpt2(const Gpt2Config& config, ModelOptions options)
    : LanguageModel("gpt2", options, checked(config).max_positions, config.layers * config.hidden),
      config_(config),
      wte_(config.vocabulary, config.hidden, layer_options(options)),
      wpe_(config.max_positions, config.hidden, layer_options(options)),
      ln_f_(config.hidden, config.norm_eps, layer_options(options)) {
  for (std::int64_t i = 0; i < config.layers; ++i)
    h_.add(config, layer_options(options)).attn.allocate_cache(batch(), max_positions());
  register_module("transformer.wte", wte_);
  register_module("transformer.wpe", wpe_);
  register_module("transformer.h", h_);
  register_module("transformer.ln_f", ln_f_);
}

void Gpt2::quantize(const QuantizeOptions& options) {
  if (!head_) {
    head_ = std::make_unique<Linear>(wte_.weight);
    register_module("lm_head", *head_);
  }
  Module::quantize(options);
}

std::vector<std::int64_t> Gpt2::stop_ids() const {
  std::vector<std::int64_t> ids = config_.eos;
  if (config_.bos >= 0) ids.push_back(config_.bos);
  return ids;
}

Tensor Gpt2::hidden_rows(const Tensor& ids, const Tensor& position) {
  Placement placement(position, ids.size(1));
  Tensor x = wte_(ids) + wpe_(placement.positions);
  for (std::size_t i = 0; i < h_.size(); ++i) x = h_[i].forward(x, placement);
  return x;
}

Tensor Gpt2::logits(const Tensor& rows) const {
  Tensor x = ln_f_(rows);
  Tensor y = head_ ? (*head_)(x) : linear(x, wte_.weight);
  return y.dtype() == f32 ? y : y.to(f32);
}

std::unique_ptr<Gpt2> load_gpt2(const std::filesystem::path& folder, ModelOptions options) {
  Gpt2Config config = read_gpt2_config(folder / "config.json");
  Weights weights = Weights::open(folder);
  if (!weights.contains("transformer.wte.weight") && weights.contains("wte.weight"))
    weights = weights.with_prefix("transformer.");
  std::int64_t held = 0;
  for (const std::string& name : weights.names()) held += element_count(weights.shape(name));
  // A small file must not make us allocate what its configuration claims.
  require(held >= config.parameter_count(), "[load_gpt2] ", folder.string(),
          ": config.json describes a model of ", config.parameter_count(),
          " parameters; the weights hold ", held);
  options.init = Init::none;
  auto model = std::make_unique<Gpt2>(config, options);
  model->load(weights, {.ignore =
                            [](std::string_view name) {
                              // A copy of the embedding, and masks that older files carry.
                              return name.ends_with("lm_head.weight") ||
                                     name.ends_with(".attn.bias") ||
                                     name.ends_with(".attn.masked_bias");
                            },
                        .progress = options.progress});
  return model;
}

std::unique_ptr<Gpt2> random_gpt2(const Gpt2Config& config, std::uint64_t seed,
                                  ModelOptions options) {
  options.init = Init::none;
  auto model = std::make_unique<Gpt2>(config, options);
  std::uint64_t stream = 0;
  for (auto& [name, tensor] : model->named_parameters()) {
    bool is_norm = name.find("ln_") != std::string::npos;
    double deviation = 0.02;
    if (name.ends_with("wpe.weight")) deviation = 0.01;
    if (name.ends_with("c_proj.weight"))
      deviation /= std::sqrt(2 * static_cast<double>(config.layers));
    if (name.ends_with(".bias"))
      fill_value(tensor, 0);
    else if (is_norm)
      fill_value(tensor, 1);
    else
      fill_normal(tensor, 0, deviation, RandomStream(seed, stream));
    ++stream;
  }
  return model;
}

}  // namespace tilewright
