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
#include <memory>

#include "models/attention.h"
#include "models/containers.h"
#include "models/language_model.h"
#include "models/llama_config.h"

namespace tilewright {

class LlamaLayer : public Module {
 public:
  LlamaLayer(const LlamaConfig& config, LayerOptions options);
  Tensor forward(const Tensor& x, const Placement& placement);

  RmsNorm input_layernorm;
  Attention self_attn;
  RmsNorm post_attention_layernorm;
  Mlp mlp;
};

class Llama : public LanguageModel {
 public:
  // Raises `Error` for sizes that check_config refuses, or a cache beyond 2^63 bytes.
  explicit Llama(const LlamaConfig& config, ModelOptions options = {});

  const LlamaConfig& config() const { return config_; }
  Device device() const override { return embed_tokens_.weight.device(); }
  std::int64_t vocabulary() const override { return config_.vocabulary; }
  std::vector<std::int64_t> stop_ids() const override;  // eos and bos
  // Also the head, where the embedding is the head: it has integers of its own then.
  void quantize(const QuantizeOptions& options) override;

 private:
  Tensor hidden_rows(const Tensor& ids, const Tensor& position) override;
  Tensor logits(const Tensor& rows) const override;

  LlamaConfig config_;
  RotaryTable rotary_;
  Embedding embed_tokens_;
  ModuleList<LlamaLayer> layers_;
  RmsNorm norm_;
  std::unique_ptr<Linear> lm_head_;  // none where the embedding is the head
};

// From a Hugging Face folder. Raises `Error` for whatever is wrong with its files.
std::unique_ptr<Llama> load_llama(const std::filesystem::path& folder, ModelOptions options = {});
// Weights drawn as Hugging Face initialises: normal with deviation 0.02, norms 1. The same for a
// seed on every machine.
std::unique_ptr<Llama> random_llama(const LlamaConfig& config, std::uint64_t seed,
                                    ModelOptions options = {});

}  // namespace tilewright
