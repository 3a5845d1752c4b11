// Long because the families lie side by side: each is a few lines that say how it differs.
#include "models/decoder/decoder_families.h"

#include <algorithm>
#include <cmath>

#include "models/decoder/family_fields.h"
#include "models/gguf/gguf_model.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// Llama, and the base of families that are like Llama except for what their functions change
// afterwards.
void read_llama(FamilyFields& f) {
  f.sizes({.max_positions = 2048});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::rms, "rms_norm_eps", 1e-6);
  f.tied(false);
  f.attention_bias(false);
  f.config.mlp_bias = f.boolean("mlp_bias", false);
  f.ropes();
}

void read_mistral(FamilyFields& f) {
  f.sizes({});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::rms, "rms_norm_eps", 1e-6);
  f.tied(false);
  f.ropes();
  f.one_window(f.window("sliding_window", 4096));
}

void read_ministral(FamilyFields& f) {
  read_mistral(f);
  f.config.layer_attention.clear();
  f.layer_kinds(f.window("sliding_window", 4096), [](std::int64_t) { return true; });
}

// An MLP without a gate.
void read_arcee(FamilyFields& f) {
  read_llama(f);
  f.norm(NormKind::rms, "rms_norm_eps", 1e-5);
  f.activation("hidden_act", Activation::relu_squared);
  f.config.mlp_names.gate = {};
}

void read_seed_oss(FamilyFields& f) {
  read_llama(f);
  f.sizes({.head_size = 128});
  f.attention_bias(true);
  f.config.output_bias = f.boolean("attention_out_bias", false);
}

// Windows of Qwen: in the layers from max_window_layers on, if use_sliding_window asks for them.
void read_qwen_windows(FamilyFields& f) {
  const bool has_window = f.boolean("use_sliding_window", false);
  f.fields.has("sliding_window");
  const std::int64_t window = has_window ? f.window("sliding_window", 4096) : 0;
  std::int64_t first = f.fields.integer("max_window_layers", 28);
  f.layer_kinds(window, [&](std::int64_t layer) { return window > 0 && layer >= first; });
}

void read_qwen2(FamilyFields& f) {
  f.sizes({});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::rms, "rms_norm_eps", 1e-6);
  f.tied(false);
  f.config.qkv_bias = true;
  f.fields.expect_flag("use_mrope", false);
  f.ropes();
  read_qwen_windows(f);
}

void read_qwen3(FamilyFields& f) {
  f.sizes({.head_size = 128});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::rms, "rms_norm_eps", 1e-6);
  f.tied(false);
  f.attention_bias(false);
  f.config.attention_names.q_norm = "q_norm";
  f.config.attention_names.k_norm = "k_norm";
  f.ropes();
  read_qwen_windows(f);
}

void read_gpt2(FamilyFields& f) {
  f.config = gpt2_form();
  f.sizes({.layers = "n_layer",
           .hidden = "n_embd",
           .heads = "n_head",
           .intermediate = "n_inner",
           .positions = "n_positions",
           .max_positions = 1024,
           .inner_of_hidden = 4});
  f.activation("activation_function", Activation::gelu_tanh);
  f.norm(NormKind::layer, "layer_norm_epsilon", 1e-5);
  f.tied(true);
  if (!f.boolean("scale_attn_weights", true)) f.config.attention_scale = 1;
  f.config.scales_by_layer = f.boolean("scale_attn_by_inverse_layer_idx", false);
  for (std::string_view name :
       {"n_ctx", "reorder_and_upcast_attn", "summary_activation", "summary_first_dropout",
        "summary_proj_to_labels", "summary_type", "summary_use_proj"})
    f.fields.has(name);  // of classifiers, and of 16-bit sums, which are of 32 bits here
}

void read_phi3(FamilyFields& f) {
  f.sizes({.max_positions = 4096});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::rms, "rms_norm_eps", 1e-5);
  f.tied(false);
  f.config.attention_names.q = f.config.attention_names.k = f.config.attention_names.v = {};
  f.config.attention_names.qkv = "qkv_proj";
  f.config.mlp_names = {.gate = {}, .up = {}, .gate_up = "gate_up_proj"};
  f.ropes();
  f.one_window(f.window("sliding_window", std::nullopt));
}

void read_gemma(FamilyFields& f) {
  f.sizes({.max_positions = 8192, .head_size = 256});
  f.activation("hidden_act", Activation::gelu_tanh);
  // The name "gelu" of the first files always meant the other form.
  if (f.config.activation == Activation::gelu) f.config.activation = Activation::gelu_tanh;
  if (f.fields.has("hidden_activation")) f.activation("hidden_activation", Activation::gelu_tanh);
  f.norm(NormKind::rms_plus_one, "rms_norm_eps", 1e-6);
  f.tied(true);
  f.attention_bias(false);
  f.config.embedding_factor = std::sqrt(static_cast<double>(f.config.hidden));
  f.fields.expect_flag("use_bidirectional_attention", false);
  f.ropes();
}

// The additional fields of Gemma 2 and 3.
void read_later_gemma(FamilyFields& f, const SizeFields& sizes, double attention_cap,
                      double logit_cap) {
  f.sizes(sizes);
  f.activation("hidden_activation", Activation::gelu_tanh);
  f.fields.has("hidden_act");  // a copy of hidden_activation in the first files
  f.norm(NormKind::rms_plus_one, "rms_norm_eps", 1e-6);
  f.tied(true);
  f.attention_bias(false);
  f.config.embedding_factor = std::sqrt(static_cast<double>(f.config.hidden));
  f.config.names.attention_output_norm = "post_attention_layernorm";
  f.config.names.mlp_norm = "pre_feedforward_layernorm";
  f.config.names.mlp_output_norm = "post_feedforward_layernorm";
  f.config.attention_scale = 1 / std::sqrt(f.number("query_pre_attn_scalar", 256));
  auto cap = [&](std::string_view name, double missing) {
    return f.fields.is_null(name) ? 0 : f.number(name, missing);
  };
  f.config.attention_cap = cap("attn_logit_softcapping", attention_cap);
  f.config.logit_cap = cap("final_logit_softcapping", logit_cap);
  f.fields.expect_flag("use_bidirectional_attention", false);
}

void read_gemma2(FamilyFields& f) {
  read_later_gemma(f, {.max_positions = 8192, .head_size = 256}, 50, 30);
  f.ropes();
  f.layer_kinds(f.window("sliding_window", 4096), [](std::int64_t i) { return i % 2 == 0; });
}

void read_gemma3(FamilyFields& f) {
  read_later_gemma(f, {.max_positions = 131'072, .head_size = 256}, 0, 0);
  f.config.attention_names.q_norm = "q_norm";
  f.config.attention_names.k_norm = "k_norm";
  f.ropes({.theta = 1e6, .sliding_theta = 1e4});
  // transformers 4: what scales the others leaves the layers with windows as they are.
  double local = f.number("rope_local_base_freq", 1e4);
  if (f.config.ropes.size() == 1) f.config.ropes.push_back({.theta = local});
  std::int64_t pattern = f.fields.integer("sliding_window_pattern", 6);
  pattern = f.fields.integer("_sliding_window_pattern", pattern);
  check_config_range(decoder_operation, f.fields.what(), "sliding_window_pattern", pattern, 1,
                     1024);
  f.layer_kinds(f.window("sliding_window", 4096),
                [&](std::int64_t i) { return (i + 1) % pattern != 0; });
}

void read_smollm3(FamilyFields& f) {
  read_llama(f);
  f.ropes({.theta = 2e6});
  f.tied(true);
  std::int64_t window = f.window("sliding_window", std::nullopt);
  if (!f.boolean("use_sliding_window", false)) window = 0;
  f.fields.has("max_window_layers");                                 // layer_types says it
  std::vector<std::int64_t> turns = f.fields.ids("no_rope_layers");  // 1: the layer turns
  std::int64_t interval = f.fields.integer("no_rope_layer_interval", 4);
  check_config_range(decoder_operation, f.fields.what(), "no_rope_layer_interval", interval, 1,
                     1024);
  require(turns.empty() || std::ssize(turns) >= f.config.layers, "[", decoder_operation, "] ",
          f.fields.what(), ": no_rope_layers has ", turns.size(), " numbers; there are ",
          f.config.layers, " layers");
  auto does_turn = [&](std::int64_t i) {
    return turns.empty() ? (i + 1) % interval != 0 : turns[static_cast<std::size_t>(i)] != 0;
  };
  f.layer_kinds(window, [&](std::int64_t i) { return window > 0 && !does_turn(i); });
  for (std::int64_t i = 0; i < f.config.layers; ++i)
    if (!does_turn(i)) f.config.layer_attention[static_cast<std::size_t>(i)].rope = -1;
}

void read_granite(FamilyFields& f) {
  read_llama(f);
  f.config.embedding_factor = f.number("embedding_multiplier", 1);
  f.config.residual_factor = f.number("residual_multiplier", 1);
  f.config.attention_scale = f.number("attention_multiplier", 1);
  double scaling = f.number("logits_scaling", 1);
  require(scaling != 0, "[", decoder_operation, "] ", f.fields.what(),
          ": logits_scaling is 0; logits are divided by it");
  f.config.logit_factor = 1 / scaling;
}

// A limit of queries, keys and values.
void read_clip(FamilyFields& f) {
  if (!f.fields.has("clip_qkv")) return;
  f.config.qkv_clip = f.number("clip_qkv", 0);
  require(f.config.qkv_clip > 0, "[", decoder_operation, "] ", f.fields.what(), ": clip_qkv is ",
          f.config.qkv_clip, "; a number above 0 is needed");
}

// Norms of what comes out of the parts alone, and of all queries and keys of a row together.
void read_olmo2(FamilyFields& f) {
  f.sizes({.max_positions = 2048});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::rms, "rms_norm_eps", 1e-5);
  f.tied(false);
  f.attention_bias(false);
  f.config.names.attention_norm = f.config.names.mlp_norm = {};
  f.config.names.attention_output_norm = "post_attention_layernorm";
  f.config.names.mlp_output_norm = "post_feedforward_layernorm";
  f.config.attention_names.q_norm = "q_norm";
  f.config.attention_names.k_norm = "k_norm";
  f.config.norms_of_all_heads = true;
  f.ropes();
}

void read_olmo3(FamilyFields& f) {
  read_olmo2(f);
  // transformers 4: what scales the others leaves the layers with windows as they are.
  if (f.config.ropes.size() == 1) f.config.ropes.push_back({.theta = f.config.ropes[0].theta});
  f.layer_kinds(f.window("sliding_window", 4096), [](std::int64_t i) { return (i + 1) % 4 != 0; });
}

void read_olmo(FamilyFields& f) {
  f.sizes({.max_positions = 2048});
  f.activation("hidden_act", Activation::silu);
  f.config.norm = NormKind::layer_no_weight;
  f.config.norm_eps = 1e-5;
  f.tied(false);
  f.attention_bias(false);
  read_clip(f);
  f.ropes();
}

void read_stablelm(FamilyFields& f) {
  f.sizes({.max_positions = 4096});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::layer, "layer_norm_eps", 1e-5);
  f.tied(false);
  f.config.qkv_bias = f.boolean("use_qkv_bias", false);
  f.fields.expect_flag("qk_layernorm", false);
  f.config.is_parallel = f.boolean("use_parallel_residual", false);
  if (f.config.is_parallel) f.config.names.mlp_norm = {};
  f.ropes({.rotary_share = 0.25});
}

void read_phi(FamilyFields& f) {
  f.sizes({.max_positions = 2048});
  f.activation("hidden_act", Activation::gelu_tanh);
  f.norm(NormKind::layer, "layer_norm_eps", 1e-5);
  f.tied(false);
  f.config.is_parallel = true;
  f.config.names.norm = "final_layernorm";
  f.config.names.mlp_norm = {};
  f.config.attention_names.output = "dense";
  f.config.mlp_names = {.gate = {}, .up = "fc1", .down = "fc2"};
  f.config.qkv_bias = f.config.output_bias = f.config.mlp_bias = f.config.head_bias = true;
  if (f.boolean("qk_layernorm", false)) {
    f.config.attention_names.q_norm = "q_layernorm";
    f.config.attention_names.k_norm = "k_layernorm";
  }
  f.ropes({.rotary_share = 0.5});
}

void read_starcoder2(FamilyFields& f) {
  f.sizes({.max_positions = 4096});
  f.activation("hidden_act", Activation::gelu_tanh);
  f.norm(NormKind::layer, "norm_epsilon", 1e-5);
  f.tied(true);
  bool bias = f.boolean("use_bias", true);
  f.config.qkv_bias = f.config.output_bias = f.config.mlp_bias = bias;
  f.config.mlp_names = {.gate = {}, .up = "c_fc", .down = "c_proj"};
  f.ropes();
  f.one_window(f.window("sliding_window", std::nullopt));
}

void read_gpt_neox(FamilyFields& f) {
  f.sizes({.max_positions = 2048});
  f.activation("hidden_act", Activation::gelu);
  f.norm(NormKind::layer, "layer_norm_eps", 1e-5);
  f.tied(false);
  f.attention_bias(true);
  f.config.mlp_bias = true;
  f.config.is_parallel = f.boolean("use_parallel_residual", true);
  f.config.names.prefix = "gpt_neox.";
  f.config.names.tokens = "embed_in";
  f.config.names.norm = "final_layer_norm";
  f.config.names.head = "embed_out";
  f.config.names.attention = "attention";
  f.config.attention_names = {
      .q = {}, .k = {}, .v = {}, .qkv = "query_key_value", .output = "dense"};
  f.config.qkv_by_head = true;
  f.config.mlp_names = {.gate = {}, .up = "dense_h_to_4h", .down = "dense_4h_to_h"};
  f.ropes({.rotary_share = 0.25, .theta_name = "rotary_emb_base", .share_name = "rotary_pct"});
  f.fields.has("is_decoder");  // always
}

void read_cohere(FamilyFields& f) {
  f.sizes({.max_positions = 8192});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::layer_no_bias, "layer_norm_eps", 1e-5);
  f.tied(true);
  f.attention_bias(false);
  f.fields.expect_flag("use_qk_norm", false);
  f.config.is_parallel = true;
  f.config.names.mlp_norm = {};
  f.config.logit_factor = f.number("logit_scale", 0.0625);
  f.ropes({.pairs = RopePairs::neighbours});
}

// Only layers with a window turn.
void read_cohere2(FamilyFields& f) {
  read_cohere(f);
  std::int64_t pattern = f.fields.integer("sliding_window_pattern", 4);
  pattern = f.fields.integer("_sliding_window_pattern", pattern);
  check_config_range(decoder_operation, f.fields.what(), "sliding_window_pattern", pattern, 1,
                     1024);
  f.layer_kinds(f.window("sliding_window", 4096),
                [&](std::int64_t i) { return (i + 1) % pattern != 0; });
  for (LayerAttention& own : f.config.layer_attention)
    if (own.window == 0) own.rope = -1;
}

void read_gptj(FamilyFields& f) {
  f.sizes({.layers = "n_layer",
           .hidden = "n_embd",
           .heads = "n_head",
           .intermediate = "n_inner",
           .positions = "n_positions",
           .max_positions = 2048,
           .inner_of_hidden = 4});
  f.activation("activation_function", Activation::gelu_tanh);
  f.norm(NormKind::layer, "layer_norm_epsilon", 1e-5);
  f.tied(false);
  f.config.names = {.prefix = "transformer.",
                    .tokens = "wte",
                    .layers = "h",
                    .norm = "ln_f",
                    .attention = "attn",
                    .attention_norm = "ln_1",
                    .mlp_norm = {}};
  f.config.attention_names.output = "out_proj";
  f.config.mlp_names = {.gate = {}, .up = "fc_in", .down = "fc_out"};
  f.config.is_parallel = f.config.mlp_bias = f.config.head_bias = true;
  std::int64_t turned = f.fields.integer("rotary_dim", 64);
  check_config_range(decoder_operation, f.fields.what(), "rotary_dim", turned, 2,
                     f.config.head_size);
  double share = static_cast<double>(turned) / static_cast<double>(f.config.head_size);
  if (share < 1) share = std::nextafter(share, 1.0);  // rounded down to `turned` elements
  f.config.ropes = {{.pairs = RopePairs::neighbours, .rotary_share = share}};
  for (std::string_view name :
       {"n_ctx", "rotary", "scale_attn_weights", "summary_activation", "summary_first_dropout",
        "summary_proj_to_labels", "summary_type", "summary_use_proj"})
    f.fields.has(name);  // of classifiers, or of no effect in this family
}

void read_opt(FamilyFields& f) {
  f.sizes({.intermediate = "ffn_dim", .max_positions = 2048});
  f.activation("activation_function", Activation::relu);
  f.tied(true);
  bool has_weights = f.boolean("layer_norm_elementwise_affine", true);
  f.config.norm = has_weights ? NormKind::layer : NormKind::layer_no_weight;
  f.config.norm_eps = 1e-5;
  f.config.qkv_bias = f.config.output_bias = f.config.mlp_bias = f.boolean("enable_bias", true);
  f.config.names = {.prefix = "model.decoder.",
                    .positions = "embed_positions",
                    .norm = "final_layer_norm",
                    .attention_norm = "self_attn_layer_norm",
                    .mlp_norm = "final_layer_norm"};
  f.config.names.mlp = {};
  f.config.attention_names.output = "out_proj";
  f.config.mlp_names = {.gate = {}, .up = "fc1", .down = "fc2"};
  f.config.position_offset = 2;
  f.config.ropes = {};
  f.fields.expect_flag("do_layer_norm_before", true);
  f.fields.expect_flag("_remove_final_layer_norm", false);
  std::int64_t width = f.fields.integer("word_embed_proj_dim", f.config.hidden);
  require(width == f.config.hidden, "[", decoder_operation, "] ", f.fields.what(),
          ": word_embed_proj_dim is ", width, "; supported is hidden_size, ", f.config.hidden);
  for (std::string_view name : {"dropout", "init_std", "layerdrop"}) f.fields.has(name);
}

void read_glm(FamilyFields& f) {
  f.sizes({.max_positions = 131'072, .head_size = 128});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::rms, "rms_norm_eps", 1.5625e-7);
  f.tied(false);
  f.attention_bias(true, false);
  f.config.mlp_names = {.gate = {}, .up = {}, .gate_up = "gate_up_proj"};
  f.ropes({.rotary_share = 0.5, .pairs = RopePairs::neighbours});
}

void read_glm4(FamilyFields& f) {
  read_glm(f);
  f.config.names.attention_output_norm = "post_self_attn_layernorm";
  f.config.names.mlp_output_norm = "post_mlp_layernorm";
}

void read_mixtral(FamilyFields& f) {
  f.sizes({});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::rms, "rms_norm_eps", 1e-5);
  f.tied(false);
  f.ropes({.theta = 1e6});
  f.one_window(f.window("sliding_window", std::nullopt));
  f.experts("intermediate_size", true,
            {.mlp = "block_sparse_moe", .gate = "w1", .up = "w3", .down = "w2"});
}

void read_qwen2_moe(FamilyFields& f) {
  read_qwen2(f);
  f.config.qkv_bias = f.boolean("qkv_bias", true);
  f.experts("moe_intermediate_size", false);
  f.config.experts->shared_inner = f.fields.integer("shared_expert_intermediate_size", 5632);
  f.some_layers_of_experts();
}

void read_qwen3_moe(FamilyFields& f) {
  read_qwen3(f);
  f.experts("moe_intermediate_size", false);
  f.some_layers_of_experts();
}

void read_olmoe(FamilyFields& f) {
  read_olmo2(f);
  f.config.names.attention_norm = "input_layernorm";
  f.config.names.mlp_norm = "post_attention_layernorm";
  f.config.names.attention_output_norm = f.config.names.mlp_output_norm = {};
  read_clip(f);
  f.experts("intermediate_size", false);
}

void read_granitemoe(FamilyFields& f) {
  read_granite(f);
  f.experts("intermediate_size", true,
            {.mlp = "block_sparse_moe",
             .router = "router.layer",
             .stacked_gate_up = "input_linear",
             .stacked_down = "output_linear"});
}

void read_gpt_oss(FamilyFields& f) {
  f.sizes({.max_positions = 131'072, .head_size = 64});
  f.activation("hidden_act", Activation::silu);
  f.norm(NormKind::rms, "rms_norm_eps", 1e-5);
  f.tied(false);
  f.attention_bias(true);
  f.config.has_sinks = true;
  f.ropes({.theta = 150'000});
  f.layer_kinds(f.window("sliding_window", 128), [](std::int64_t i) { return i % 2 == 0; });
  f.experts("intermediate_size", true, {.router = "router"});
  f.config.experts->has_bias = true;
  f.config.experts->alpha = f.number("swiglu_alpha", 1.702);
  f.config.experts->limit = f.number("swiglu_limit", 7);
  for (std::string_view name : {"experts_per_token", "initial_context_length"})
    f.fields.has(name);  // copies of other members
}

struct Family {
  std::string_view model_type;
  void (*read)(FamilyFields&);
};
constexpr Family families[] = {
    {"llama", read_llama},
    {"mistral", read_mistral},
    {"qwen2", read_qwen2},
    {"qwen3", read_qwen3},
    {"gpt2", read_gpt2},
    {"phi3", read_phi3},
    {"gemma", read_gemma},
    {"gemma2", read_gemma2},
    {"gemma3_text", read_gemma3},
    {"smollm3", read_smollm3},
    {"granite", read_granite},
    {"olmo", read_olmo},
    {"olmo2", read_olmo2},
    {"olmo3", read_olmo3},
    {"stablelm", read_stablelm},
    {"phi", read_phi},
    {"starcoder2", read_starcoder2},
    {"gpt_neox", read_gpt_neox},
    {"cohere", read_cohere},
    {"glm", read_glm},
    {"glm4", read_glm4},
    {"ministral", read_ministral},
    {"arcee", read_arcee},
    {"seed_oss", read_seed_oss},
    {"cohere2", read_cohere2},
    {"gptj", read_gptj},
    {"opt", read_opt},
    {"mixtral", read_mixtral},
    {"qwen2_moe", read_qwen2_moe},
    {"qwen3_moe", read_qwen3_moe},
    {"olmoe", read_olmoe},
    {"granitemoe", read_granitemoe},
    {"gpt_oss", read_gpt_oss},
};

}  // namespace

std::vector<std::string_view> decoder_families() {
  std::vector<std::string_view> names;
  for (const Family& family : families) names.push_back(family.model_type);
  return names;
}

DecoderConfig parse_decoder_config(std::string_view text, std::string_view what) {
  ConfigFields fields(text, decoder_operation, what);
  const Family& family = families[fields.choice(
      "model_type", decoder_families(),
      "export a model of another kind, by torch.export to a .pt2 file or to ONNX, and load that "
      "(tilewright run FILE)")];
  fields.has("quantization_config");  // of the weights (models/formats)
  for (std::string_view flag : {"is_encoder_decoder", "add_cross_attention"})
    fields.expect_flag(flag, false);
  if (auto pruned = fields.object("pruned_heads")) pruned->refuse_unread({});
  DecoderConfig config;
  FamilyFields members(fields, config);
  family.read(members);
  config.family = family.model_type;
  fields.refuse_unread(passed_over_fields());
  check_config(config, what);
  return config;
}

DecoderConfig read_decoder_config(const std::filesystem::path& folder, ModelFileOptions options) {
  if (gguf::is_gguf(folder)) {
    auto file = gguf::GgufFile::open(folder);
    return parse_decoder_config(gguf::config_json(*file), file->name());
  }
  auto file = open_model_file(folder, "config.json", decoder_operation, options);
  DecoderConfig config =
      parse_decoder_config(file->text(max_config_bytes, decoder_operation), file->name());
  constexpr const char* defaults_name = "generation_config.json";
  std::error_code ignored;
  // A link that leads nowhere is a file that cannot be read, and no absent one.
  if (!exists(std::filesystem::symlink_status(folder / defaults_name, ignored))) return config;
  auto defaults = open_model_file(folder, defaults_name, decoder_operation, options);
  ConfigFields generation(defaults->text(max_config_bytes, decoder_operation), decoder_operation,
                          defaults->name());
  config.ends_at_bos = false;
  for (std::int64_t id : generation.ids("eos_token_id"))
    if (config.knows(id) && std::ranges::find(config.eos, id) == config.eos.end())
      config.eos.push_back(id);
  return config;
}

}  // namespace tilewright
