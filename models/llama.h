// Llama (Touvron et al. 2023), readable as the paper:
//
//   x = embedding(ids)
//   for each layer:  x = x + attention(norm(x));  x = x + mlp(norm(x))
//   logits = head(norm(x))
//
// Weights and sizes come from a Hugging Face folder (config.json, model.safetensors) or are drawn
// from a seed. Parameters have Hugging Face's names.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "models/attention.h"
#include "models/containers.h"
#include "models/layers.h"
#include "models/llama_config.h"

namespace tilewright {

struct LlamaOptions {
  std::int64_t batch = 1;
  std::optional<std::int64_t> max_positions;  // of the cache; the configuration's if absent
  DType dtype = f32;                          // of parameters and cache, whatever the file's
  Init init = Init::none;
  Device device = Device::cpu();                           // where parameters and cache lie
  std::function<void(const LoadProgress&)> progress = {};  // of `load_llama`
};

class LlamaLayer : public Module {
 public:
  LlamaLayer(const LlamaConfig& config, LayerOptions options);
  Tensor forward(const Tensor& x, const Placement& placement);

  RmsNorm input_layernorm;
  Attention self_attn;
  RmsNorm post_attention_layernorm;
  Mlp mlp;
};

class Llama : public Module {
 public:
  // Raises `Error` for sizes that check_config refuses, or a cache beyond 2^63 bytes.
  explicit Llama(const LlamaConfig& config, LlamaOptions options = {});

  // ids i64 [batch, rows], position i64 [1]: the first row's. Adds the rows to the cache.
  // Logits of every row, f32 [batch, rows, vocabulary].
  Tensor forward(const Tensor& ids, const Tensor& position);
  // Of the last row alone, f32 [batch, vocabulary]: what generation needs.
  Tensor forward_last(const Tensor& ids, const Tensor& position);

  const LlamaConfig& config() const { return config_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t max_positions() const { return max_positions_; }
  Device device() const { return embed_tokens_.weight.device(); }  // of the model

 private:
  Tensor hidden_rows(const Tensor& ids, const Tensor& position);
  Tensor logits(const Tensor& x) const;

  LlamaConfig config_;
  std::int64_t batch_, max_positions_;
  RotaryTable rotary_;
  Embedding embed_tokens_;
  ModuleList<LlamaLayer> layers_;
  RmsNorm norm_;
  std::unique_ptr<Linear> lm_head_;  // none where the embedding is the head
};

// From a Hugging Face folder. Raises `Error` for whatever is wrong with its files.
std::unique_ptr<Llama> load_llama(const std::filesystem::path& folder, LlamaOptions options = {});
// Weights drawn as Hugging Face initialises: normal with deviation 0.02, norms 1. The same for a
// seed on every machine.
std::unique_ptr<Llama> random_llama(const LlamaConfig& config, std::uint64_t seed,
                                    LlamaOptions options = {});

}  // namespace tilewright
