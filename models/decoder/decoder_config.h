// The structure of a decoder (models/decoder/decoder.h), as data: sizes, which parts a layer has
// and under which names, and the numbers in its formulas.
//
// A family of models (Llama, Qwen 3, Gemma 2, ...) is a value of this struct, not a class: families
// differ in their norms, in whether projections are fused, and in which parts are rotated by
// position. decoder_families.h reads it from a config.json.
//
// The file is foreign: every number has a limit, and the numbers must fit each other, before
// anything is allocated from them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/attention.h"
#include "models/decoder/experts/experts.h"
#include "models/decoder/rope/rope.h"
#include "models/layers/layers.h"

namespace tilewright {

// The beginning of errors in a decoder's configuration.
inline constexpr std::string_view decoder_operation = "decoder_config";

// The names that files of weights have for the parts. A part whose name is empty is not there; but
// the MLP's parts are then the layer's own.
struct DecoderNames {
  std::string_view prefix = "model.";  // before all but the head
  std::string_view tokens = "embed_tokens", positions, layers = "layers", norm = "norm";
  std::string_view head = "lm_head";
  // Names within a layer: the norms of the inputs of the attention and the MLP, and of their
  // outputs.
  std::string_view attention = "self_attn", mlp = "mlp";
  std::string_view attention_norm = "input_layernorm", mlp_norm = "post_attention_layernorm";
  std::string_view attention_output_norm, mlp_output_norm;
};

// The properties of a single layer's attention.
struct LayerAttention {
  std::int64_t window = 0;  // keys that a row sees; 0: all before it
  int rope = 0;             // which of DecoderConfig::ropes; below 0: none
};

struct DecoderConfig {
  std::string family = "llama";  // begins the errors of the model
  std::int64_t layers = 0;
  std::int64_t hidden = 0;        // width of the residual stream
  std::int64_t intermediate = 0;  // width inside the MLP
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // key and value heads; `heads` is a multiple
  std::int64_t head_size = 0;
  std::int64_t vocabulary = 0;
  std::int64_t max_positions = 0;

  DecoderNames names;
  AttentionNames attention_names;
  MlpNames mlp_names;
  WeightOrder weights = WeightOrder::out_in;
  std::int64_t position_offset = 0;  // rows of the table of positions before the first one's
  NormKind norm = NormKind::rms;
  double norm_eps = 1e-5;
  Activation activation = Activation::silu;
  bool qkv_bias = false, output_bias = false, mlp_bias = false, head_bias = false;
  bool qkv_by_head = false;         // AttentionForm
  bool norms_of_all_heads = false;  // AttentionForm
  bool has_sinks = false;           // AttentionForm
  double qkv_clip = 0;              // AttentionForm
  bool tied_embeddings = false;     // the output matrix is the embedding's
  // x + attention(n) + mlp(m), both of the norms of x; m is n where the MLP has no norm of its own.
  bool is_parallel = false;

  // Experts in place of the MLP, in the layers that say so; empty: in all.
  std::optional<ExpertsForm> experts;
  std::vector<bool> expert_layers;

  std::vector<RopeConfig> ropes = {{}};         // empty: no part of the model turns
  std::vector<LayerAttention> layer_attention;  // by layer; empty: all as the default
  std::optional<double> attention_scale;        // 1 / sqrt(head_size) if absent
  bool scales_by_layer = false;                 // attention_scale divided by 1, 2, .. in the layers
  double attention_cap = 0, logit_cap = 0;      // cap * tanh(x / cap); 0: none
  double embedding_factor = 1, residual_factor = 1, logit_factor = 1;
  bool shrinks_outputs = false;  // random weights: those that end in the residual stream are less

  std::int64_t bos = -1;          // begin-of-sequence id, -1: none
  std::vector<std::int64_t> eos;  // end-of-sequence ids
  bool ends_at_bos = true;        // a text is over where the model begins another

  std::int64_t parameter_count() const;
  // True if the id is in the vocabulary. Some files name ids outside of it, from tokenizers that
  // the model was not made for; they never occur in a text.
  bool knows(std::int64_t id) const { return id >= 0 && id < vocabulary; }
  LayerAttention attention_of(std::int64_t layer) const;
  bool has_experts(std::int64_t layer) const;
  AttentionForm attention_form(std::int64_t layer) const;
  MlpForm mlp_form() const;
};

// Raises `Error` beginning with "[decoder_config] what:" unless the numbers are in their limits and
// fit each other.
void check_config(const DecoderConfig& config, std::string_view what);

// A configuration of configs.def by its name ("tiny"); raises `Error` that lists the names.
DecoderConfig decoder_config(std::string_view name);
std::span<const std::string_view> decoder_config_names();

// GPT-2 without its sizes.
DecoderConfig gpt2_form();

}  // namespace tilewright
