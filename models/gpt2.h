// GPT-2 (Radford et al. 2019), readable as its code:
//
//   x = tokens(ids) + positions(0, 1, ..)
//   for each layer:  x = x + attention(norm(x));  x = x + mlp(norm(x))
//   logits = tokens^T(norm(x))
//
// Weights and sizes come from a Hugging Face folder (config.json, model.safetensors) or are drawn
// from a seed. Parameters have the names of GPT2LMHeadModel.
#pragma once

#include <filesystem>
#include <memory>

#include "models/attention.h"
#include "models/containers.h"
#include "models/gpt2_config.h"
#include "models/language_model.h"

namespace tilewright {

class Gpt2Attention : public Module {
 public:
  Gpt2Attention(const Gpt2Config& config, LayerOptions options);
  // Zeroed memory for `positions` keys and values a sequence, where the weights lie.
  void allocate_cache(std::int64_t batch, std::int64_t positions);
  Tensor forward(const Tensor& x, const Placement& placement);  // [batch, rows, hidden]

  Conv1D c_attn, c_proj;

 private:
  std::int64_t heads_;
  KeyValueCache cache_;
};

class Gpt2Mlp : public Module {
 public:
  Gpt2Mlp(const Gpt2Config& config, LayerOptions options);
  Tensor forward(const Tensor& x) const;

  Conv1D c_fc, c_proj;
};

class Gpt2Layer : public Module {
 public:
  Gpt2Layer(const Gpt2Config& config, LayerOptions options);
  Tensor forward(const Tensor& x, const Placement& placement);

  LayerNorm ln_1;
  Gpt2Attention attn;
  LayerNorm ln_2;
  Gpt2Mlp mlp;
};

class Gpt2 : public LanguageModel {
 public:
  // Raises `Error` for sizes that check_config refuses, or a cache beyond 2^63 bytes.
  explicit Gpt2(const Gpt2Config& config, ModelOptions options = {});

  const Gpt2Config& config() const { return config_; }
  Device device() const override { return wte_.weight.device(); }
  std::int64_t vocabulary() const override { return config_.vocabulary; }
  std::vector<std::int64_t> stop_ids() const override;  // eos and bos
  // Also the head, which has integers of its own then.
  void quantize(const QuantizeOptions& options) override;

 private:
  Tensor hidden_rows(const Tensor& ids, const Tensor& position) override;
  Tensor logits(const Tensor& rows) const override;

  Gpt2Config config_;
  Embedding wte_, wpe_;
  ModuleList<Gpt2Layer> h_;
  LayerNorm ln_f_;
  std::unique_ptr<Linear> head_;  // none where the embedding is the head
};

// From a Hugging Face folder; names with and without "transformer." before them are known. Raises
// `Error` for whatever is wrong with its files.
std::unique_ptr<Gpt2> load_gpt2(const std::filesystem::path& folder, ModelOptions options = {});
// Weights drawn as the paper initialises: normal with deviation 0.02 (positions 0.01), those that
// end in the residual stream smaller by the square root of their number; norms 1, biases 0. The
// same for a seed on every machine.
std::unique_ptr<Gpt2> random_gpt2(const Gpt2Config& config, std::uint64_t seed,
                                  ModelOptions options = {});

}  // namespace tilewright
