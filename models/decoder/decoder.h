// A language model that is a stack of decoder layers, readable as the papers:
//
//   x = tokens(ids)                                         (GPT-2: + positions(0, 1, ..))
//   for each layer:  x = x + attention(norm(x));  x = x + mlp(norm(x))
//   logits = head(norm(x))
//
// The norms, the fused projections, the parts that are rotated by position, and the names of the
// parameters in a file are data (decoder_config.h): Llama, Mistral, Qwen, GPT-2, Phi, Gemma and the
// like are configurations of this one class.
//
// Weights and sizes come from a Hugging Face folder (config.json, model.safetensors) or are drawn
// from a seed.
#pragma once

#include <memory>
#include <optional>

#include "models/decoder/attention.h"
#include "models/decoder/decoder_config.h"
#include "models/decoder/language_model.h"
#include "models/layers/containers.h"
#include "runtime/files/file_path.h"
#include "runtime/owned.h"

namespace tilewright {

class DecoderLayer : public Module {
 public:
  DecoderLayer(const DecoderConfig& config, std::int64_t index, LayerOptions options);
  Tensor forward(const Tensor& x, const RowPositions& row_positions, KeyValueCache* cache) const;

  std::optional<Norm> attention_norm;  // of the input
  Attention attention;
  std::optional<Norm> attention_output_norm, mlp_norm;
  std::optional<Mlp> mlp;  // one of both
  std::optional<Experts> experts;
  std::optional<Norm> mlp_output_norm;

 private:
  Tensor added(const Tensor& x, Tensor part, const std::optional<Norm>& norm) const;
  double residual_factor_;
  bool is_parallel_;
};

class Decoder : public LanguageModel {
 public:
  // Raises `Error` for sizes that check_config refuses, or a cache beyond 2^63 bytes.
  explicit Decoder(const DecoderConfig& config, ModelOptions options = {});

  const DecoderConfig& config() const { return config_; }
  Device device() const override { return tokens_.weight.device(); }
  std::int64_t vocabulary() const override { return config_.vocabulary; }
  // eos; and bos, unless the folder's generation_config.json names the ends of a text.
  std::vector<std::int64_t> stop_ids() const override;
  std::optional<std::int64_t> reread_beyond() const override;

 protected:
  // The head's too. If the embedding is the head, the head then gets integers of its own.
  int quantize_weights(const QuantizeOptions& options, std::source_location w) override;

 private:
  std::unique_ptr<DecodingState> make_state(std::int64_t batch) const override;
  LayerGroups layer_groups() const override;
  std::vector<KeyValueCache> make_pages(std::int64_t pages, std::int64_t page_rows) const override;
  Tensor hidden_rows(const Tensor& ids, const Tensor& position,
                     DecodingState* state) const override;
  Tensor logits(const Tensor& rows) const override;

  DecoderConfig config_;
  std::vector<std::unique_ptr<RotaryTable>> rotary_;  // as config_.ropes
  Embedding tokens_;
  std::optional<Embedding> positions_;
  ModuleList<DecoderLayer> layers_;
  Norm norm_;
  Owned<Linear> head_;  // none where the embedding is the head
};

// From a Hugging Face folder; names with and without the family's prefix ("model.") are known.
// Raises `Error` for whatever is wrong with its files.
std::unique_ptr<Decoder> load_decoder(const FilePath& folder, ModelOptions options = {});
// Random weights as Hugging Face initialises them: normal with deviation 0.02, norms the identity,
// biases 0. For GPT-2 as in its paper: positions with 0.01, and projections into the residual
// stream divided by the square root of their number. A seed gives the same weights on every
// machine.
std::unique_ptr<Decoder> random_decoder(const DecoderConfig& config, std::uint64_t seed,
                                        ModelOptions options = {});

}  // namespace tilewright
