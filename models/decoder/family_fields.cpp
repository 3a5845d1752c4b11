#include "models/decoder/family_fields.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::int64_t max_size = 1 << 22;  // of vocabularies, positions and windows

struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr NamedActivation activations[] = {{"silu", Activation::silu},
                                           {"swish", Activation::silu},
                                           {"gelu", Activation::gelu},
                                           {"gelu_python", Activation::gelu},
                                           {"gelu_new", Activation::gelu_tanh},
                                           {"gelu_fast", Activation::gelu_tanh},
                                           {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                           {"quick_gelu", Activation::quick_gelu},
                                           {"relu", Activation::relu},
                                           {"relu2", Activation::relu_squared}};

// Authors and tools; training; how results are returned; defaults of sampling, which
// GenerateOptions has.
constexpr std::string_view passed_over[] = {"_attn_implementation",
                                            "_attn_implementation_autoset",
                                            "_commit_hash",
                                            "_from_model_config",
                                            "_name_or_path",
                                            "architectures",
                                            "attention_dropout",
                                            "attn_implementation",
                                            "attn_pdrop",
                                            "auto_map",
                                            "bad_words_ids",
                                            "begin_suppress_tokens",
                                            "cache_implementation",
                                            "chunk_size_feed_forward",
                                            "classifier_dropout",
                                            "decoder_start_token_id",
                                            "diversity_penalty",
                                            "do_sample",
                                            "dtype",
                                            "early_stopping",
                                            "embd_pdrop",
                                            "embedding_dropout",
                                            "encoder_no_repeat_ngram_size",
                                            "exponential_decay_length_penalty",
                                            "finetuning_task",
                                            "forced_bos_token_id",
                                            "forced_eos_token_id",
                                            "gradient_checkpointing",
                                            "hidden_dropout",
                                            "id2label",
                                            "initializer_range",
                                            "label2id",
                                            "length_penalty",
                                            "max_length",
                                            "min_length",
                                            "no_repeat_ngram_size",
                                            "num_beam_groups",
                                            "num_beams",
                                            "num_return_sequences",
                                            "output_attentions",
                                            "output_hidden_states",
                                            "output_scores",
                                            "pad_token_id",
                                            "prefix",
                                            "pretraining_tp",
                                            "problem_type",
                                            "remove_invalid_values",
                                            "repetition_penalty",
                                            "resid_pdrop",
                                            "residual_dropout",
                                            "return_dict",
                                            "return_dict_in_generate",
                                            "sep_token_id",
                                            "suppress_tokens",
                                            "task_specific_params",
                                            "temperature",
                                            "tf_legacy_loss",
                                            "tie_encoder_decoder",
                                            "tokenizer_class",
                                            "top_k",
                                            "top_p",
                                            "torch_dtype",
                                            "torchscript",
                                            "transformers_version",
                                            "typical_p",
                                            "use_bfloat16",
                                            "use_cache"};

}  // namespace

std::span<const std::string_view> passed_over_fields() { return passed_over; }

std::int64_t FamilyFields::size(std::string_view name, std::int64_t high,
                                std::optional<std::int64_t> missing) const {
  std::int64_t value = fields.integer(name, missing);
  check_config_range(fields.operation(), fields.what(), name, value, 1, high);
  return value;
}

void FamilyFields::sizes(const SizeFields& names) {
  config.layers = size(names.layers, 1024);
  config.hidden = size(names.hidden, 65'536);
  std::optional<std::int64_t> inner;
  if (names.inner_of_hidden) inner = *names.inner_of_hidden * config.hidden;
  config.intermediate = size(names.intermediate, 1 << 20, inner);
  config.heads = size(names.heads, config.hidden);
  config.kv_heads = fields.integer("num_key_value_heads", config.heads);
  if (!names.head_size && !fields.has("head_dim"))
    require(config.hidden % config.heads == 0, "[", fields.operation(), "] ", fields.what(), ": ",
            names.hidden, " ", config.hidden, " is not a multiple of ", config.heads,
            " attention heads");
  config.head_size =
      fields.integer("head_dim", names.head_size.value_or(config.hidden / config.heads));
  config.vocabulary = size("vocab_size", max_size);
  config.max_positions = size(names.positions, max_size, names.max_positions);
  config.bos = fields.id("bos_token_id");
  if (!config.knows(config.bos)) config.bos = -1;
  config.eos = fields.ids("eos_token_id");
  std::erase_if(config.eos, [&](std::int64_t id) { return !config.knows(id); });
}

void FamilyFields::activation(std::string_view name, Activation missing) {
  config.activation = missing;
  if (!fields.has(name)) return;
  std::string wanted = fields.text(name), names;
  for (const NamedActivation& known : activations) {
    if (known.name == wanted) {
      config.activation = known.activation;
      return;
    }
    names += concat(names.empty() ? "\"" : ", \"", known.name, '"');
  }
  raise_error(concat("[", fields.operation(), "] ", fields.what(), ": ", name, " is \"",
                     json::excerpt(wanted), "\"; supported are ", names));
}

void FamilyFields::norm(NormKind kind, std::string_view eps_name, double missing) {
  config.norm = kind;
  config.norm_eps = fields.number(eps_name, missing);
  require(config.norm_eps > 0 && config.norm_eps < 1, "[", fields.operation(), "] ", fields.what(),
          ": ", eps_name, " is ", config.norm_eps, "; above 0 and below 1 is allowed");
}

void FamilyFields::attention_bias(bool missing, bool of_output) {
  config.qkv_bias = boolean("attention_bias", missing);
  config.output_bias = config.qkv_bias && of_output;
}

void FamilyFields::ropes(const RopeDefaults& defaults) {
  config.ropes = read_ropes(fields, config.max_positions, defaults);
}

void FamilyFields::experts(std::string_view width_name, bool normalises, const ExpertNames& names) {
  constexpr std::int64_t most = 4096;
  ExpertsForm form;
  const bool is_local = fields.has("num_local_experts");
  form.count = size(is_local ? "num_local_experts" : "num_experts", most);
  form.chosen = size("num_experts_per_tok", form.count);
  form.inner = size(width_name, 1 << 20);
  form.normalises = boolean("norm_topk_prob", normalises);
  form.names = names;
  config.experts = form;
  for (std::string_view name :
       {"num_experts", "output_router_logits", "router_aux_loss_coef", "router_jitter_noise"})
    fields.has(name);  // a copy, and training
}

void FamilyFields::some_layers_of_experts() {
  const std::int64_t step = fields.integer("decoder_sparse_step", 1);
  check_config_range(fields.operation(), fields.what(), "decoder_sparse_step", step, 1, 1024);
  const std::vector<std::int64_t> without = fields.ids("mlp_only_layers");
  for (std::int64_t i = 0; i < config.layers; ++i)
    config.expert_layers.push_back((i + 1) % step == 0 &&
                                   std::ranges::find(without, i) == without.end());
}

std::int64_t FamilyFields::window(std::string_view name,
                                  std::optional<std::int64_t> missing) const {
  if (fields.is_null(name) || (!fields.has(name) && !missing)) return 0;
  return size(name, max_size, missing);
}

std::vector<std::string> FamilyFields::layer_types() const {
  std::vector<std::string> kinds = fields.texts("layer_types");
  require(kinds.empty() || std::ssize(kinds) == config.layers, "[", fields.operation(), "] ",
          fields.what(), ": layer_types names ", kinds.size(), " layers; there are ",
          config.layers);
  for (const std::string& kind : kinds)
    require(kind == "full_attention" || kind == "sliding_attention", "[", fields.operation(), "] ",
            fields.what(), ": layer_types holds \"", json::excerpt(kind),
            "\"; known are \"full_attention\" and \"sliding_attention\"");
  return kinds;
}

}  // namespace tilewright
