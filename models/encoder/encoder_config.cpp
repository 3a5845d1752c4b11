#include "models/encoder/encoder_config.h"

#include "models/decoder/family_fields.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::int64_t max_rows = 1 << 20;  // of tables of positions and token types

constexpr EncoderNames bert_names = {
    .tokens = "embeddings.word_embeddings",
    .positions = "embeddings.position_embeddings",
    .token_types = "embeddings.token_type_embeddings",
    .embedding_norm = "embeddings.LayerNorm",
    .layers = "encoder.layer",
    .q = "attention.self.query",
    .k = "attention.self.key",
    .v = "attention.self.value",
    .output = "attention.output.dense",
    .attention_norm = "attention.output.LayerNorm",
    .up = "intermediate.dense",
    .down = "output.dense",
    .mlp_norm = "output.LayerNorm",
};

// The members of a config.json that encoders share, and those that they share with decoders, which
// are read into a decoder's description and copied.
struct EncoderFields {
  EncoderFields(const ConfigFields& fields, EncoderConfig& config)
      : fields(fields), shared(fields, decoder), config(config) {}

  void sizes(const SizeFields& names) {
    shared.sizes(names);
    config.layers = decoder.layers;
    config.hidden = decoder.hidden;
    config.intermediate = decoder.intermediate;
    config.heads = decoder.heads;
    config.head_size = decoder.head_size;
    config.vocabulary = decoder.vocabulary;
    config.max_tokens = decoder.max_positions;
  }
  void activation(std::string_view name, Activation missing) {
    shared.activation(name, missing);
    config.activation = decoder.activation;
  }
  void norm(NormKind kind, std::string_view eps_name, double missing) {
    shared.norm(kind, eps_name, missing);
    config.norm = kind;
    config.norm_eps = decoder.norm_eps;
  }
  std::int64_t size(std::string_view name, std::int64_t missing, std::int64_t most = max_rows) {
    std::int64_t value = fields.integer(name, missing);
    check_config_range(fields.operation(), fields.what(), name, value, 1, most);
    return value;
  }
  // A table of positions for as many tokens as a text may have.
  void positions() {
    config.position_rows = config.max_tokens;
    fields.expect("position_embedding_type", "absolute");
  }
  // Positions begin behind the row of padding, which is a token that counts as none.
  void positions_behind_padding() {
    positions();
    const std::int64_t padding = fields.integer("pad_token_id", 1);
    check_config_range(fields.operation(), fields.what(), "pad_token_id", padding, 0,
                       config.position_rows - 2);
    config.uncounted_id = padding;
    config.position_offset = padding + 1;
    config.max_tokens = config.position_rows - config.position_offset;
  }
  void ropes(double theta, double sliding_theta) {
    shared.ropes({.theta = theta, .sliding_theta = sliding_theta});
    config.ropes = decoder.ropes;
  }
  template <typename F>
  void layer_kinds(std::int64_t window, F is_sliding) {
    decoder.ropes = config.ropes;
    shared.layer_kinds(window, is_sliding);
    config.layer_attention = decoder.layer_attention;
  }

  const ConfigFields& fields;
  DecoderConfig decoder;
  FamilyFields shared;
  EncoderConfig& config;
};

void read_bert(EncoderFields& f) {
  f.sizes({});
  f.activation("hidden_act", Activation::gelu);
  f.norm(NormKind::layer, "layer_norm_eps", 1e-12);
  f.positions();
  f.config.token_types = f.size("type_vocab_size", 2);
  f.config.names = bert_names;
  f.config.prefix = "bert.";
}

void read_roberta(EncoderFields& f) {
  read_bert(f);
  f.positions_behind_padding();
  f.config.prefix = "roberta.";
}

void read_mpnet(EncoderFields& f) {
  f.sizes({});
  f.activation("hidden_act", Activation::gelu);
  f.norm(NormKind::layer, "layer_norm_eps", 1e-12);
  f.positions_behind_padding();
  f.config.relative_buckets = f.size("relative_attention_num_buckets", 32);
  f.config.names = bert_names;
  f.config.names.token_types = {};
  f.config.names.relative = "encoder.relative_attention_bias";
  f.config.names.q = "attention.attn.q";
  f.config.names.k = "attention.attn.k";
  f.config.names.v = "attention.attn.v";
  f.config.names.output = "attention.attn.o";
  f.config.names.attention_norm = "attention.LayerNorm";
  f.config.prefix = "mpnet.";
}

void read_distilbert(EncoderFields& f) {
  f.sizes({.layers = "n_layers",
           .hidden = "dim",
           .heads = "n_heads",
           .intermediate = "hidden_dim",
           .max_positions = 512});
  f.activation("activation", Activation::gelu);
  f.norm(NormKind::layer, "layer_norm_eps", 1e-12);
  f.positions();
  f.config.names = {.tokens = "embeddings.word_embeddings",
                    .positions = "embeddings.position_embeddings",
                    .embedding_norm = "embeddings.LayerNorm",
                    .layers = "transformer.layer",
                    .q = "attention.q_lin",
                    .k = "attention.k_lin",
                    .v = "attention.v_lin",
                    .output = "attention.out_lin",
                    .attention_norm = "sa_layer_norm",
                    .up = "ffn.lin1",
                    .down = "ffn.lin2",
                    .mlp_norm = "output_layer_norm"};
  f.config.prefix = "distilbert.";
  f.fields.has("sinusoidal_pos_embds");  // of the first weights alone
}

void read_modernbert(EncoderFields& f) {
  f.sizes({});
  f.activation("hidden_activation", Activation::gelu);
  f.norm(f.shared.boolean("norm_bias", false) ? NormKind::layer : NormKind::layer_no_bias,
         "norm_eps", 1e-5);
  f.config.attention_bias = f.shared.boolean("attention_bias", false);
  f.config.mlp_bias = f.shared.boolean("mlp_bias", false);
  f.config.norms_before = true;
  f.config.norms_first_input = false;
  // Transformers 4 has a member for each kind of layer.
  const double theta = f.shared.number("global_rope_theta", 160'000);
  const double sliding_theta = f.shared.number("local_rope_theta", 10'000);
  f.ropes(theta, sliding_theta);
  if (f.config.ropes.size() == 1) {
    f.config.ropes.push_back(f.config.ropes[0]);
    f.config.ropes[1].theta = sliding_theta;
  }
  const std::int64_t every = f.size("global_attn_every_n_layers", 3);
  const std::int64_t local = f.size("local_attention", 128);
  f.layer_kinds(local / 2 + 1, [&](std::int64_t i) { return i % every != 0; });
  f.config.names = {.tokens = "embeddings.tok_embeddings",
                    .embedding_norm = "embeddings.norm",
                    .layers = "layers",
                    .final_norm = "final_norm",
                    .qkv = "attn.Wqkv",
                    .output = "attn.Wo",
                    .attention_norm = "attn_norm",
                    .gate_up = "mlp.Wi",
                    .down = "mlp.Wo",
                    .mlp_norm = "mlp_norm"};
  f.config.prefix = "model.";
}

// The encoder of an encoder and a decoder.
void read_t5(EncoderFields& f) {
  f.sizes({.layers = "num_layers",
           .hidden = "d_model",
           .heads = "num_heads",
           .intermediate = "d_ff",
           .positions = "n_positions",
           .max_positions = 512,
           .head_size = f.size("d_kv", 64, 65'536)});
  f.config.max_tokens = 0;
  f.norm(NormKind::rms, "layer_norm_epsilon", 1e-6);
  const std::string form = f.fields.text("feed_forward_proj", "relu");
  const bool is_gated = form.starts_with("gated-");
  require(form == "relu" || form == "gated-gelu", "[", encoder_operation, "] ", f.fields.what(),
          ": feed_forward_proj is \"", json::excerpt(form),
          "\"; supported are \"relu\" and \"gated-gelu\"");
  f.config.activation = is_gated ? Activation::gelu_tanh : Activation::relu;
  f.config.attention_bias = f.config.mlp_bias = false;
  f.config.norms_before = true;
  f.config.attention_scale = 1;
  f.config.relative_buckets = f.size("relative_attention_num_buckets", 32);
  f.config.relative_distance = f.size("relative_attention_max_distance", 128);
  f.config.names = {.tokens = "shared",
                    .layers = "encoder.block",
                    .final_norm = "encoder.final_layer_norm",
                    .relative = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
                    .q = "layer.0.SelfAttention.q",
                    .k = "layer.0.SelfAttention.k",
                    .v = "layer.0.SelfAttention.v",
                    .output = "layer.0.SelfAttention.o",
                    .attention_norm = "layer.0.layer_norm",
                    .gate = is_gated ? "layer.1.DenseReluDense.wi_0" : "",
                    .up = is_gated ? "layer.1.DenseReluDense.wi_1" : "layer.1.DenseReluDense.wi",
                    .down = "layer.1.DenseReluDense.wo",
                    .mlp_norm = "layer.1.layer_norm"};
  for (std::string_view copy : {"dense_act_fn", "is_gated_act"}) f.fields.has(copy);
}

struct Family {
  std::string_view model_type;
  void (*read)(EncoderFields&);
};
constexpr Family families[] = {
    {"bert", read_bert},
    {"roberta", read_roberta},
    {"xlm-roberta", read_roberta},
    {"camembert", read_roberta},
    {"mpnet", read_mpnet},
    {"distilbert", read_distilbert},
    {"modernbert", read_modernbert},
    {"t5", read_t5},
    {"mt5", read_t5},
};

// Members that do not influence the states of a text: heads for tasks, training, a decoder.
constexpr std::string_view passed_over[] = {"attention_probs_dropout_prob",
                                            "classifier_activation",
                                            "classifier_bias",
                                            "classifier_pooling",
                                            "cls_token_id",
                                            "decoder_bias",
                                            "deterministic_flash_attn",
                                            "directionality",
                                            "dropout",
                                            "dropout_rate",
                                            "hidden_dropout_prob",
                                            "initializer_cutoff_factor",
                                            "initializer_factor",
                                            "is_encoder_decoder",
                                            "mask_token_id",
                                            "mlp_dropout",
                                            "num_decoder_layers",
                                            "pooler_fc_size",
                                            "pooler_num_attention_heads",
                                            "pooler_num_fc_layers",
                                            "pooler_size_per_head",
                                            "pooler_type",
                                            "qa_dropout",
                                            "reference_compile",
                                            "repad_logits_with_grad",
                                            "scale_decoder_outputs",
                                            "seq_classif_dropout",
                                            "sparse_pred_ignore_index",
                                            "sparse_prediction",
                                            "tie_word_embeddings"};

}  // namespace

std::int64_t EncoderConfig::parameter_count() const {
  const std::int64_t inner = heads * head_size,
                     norm_count = tilewright::parameter_count(norm, hidden);
  const bool is_gated = !names.gate.empty() || !names.gate_up.empty();
  std::int64_t each = 4 * hidden * inner + (is_gated ? 3 : 2) * hidden * intermediate;
  each += 2 * norm_count;
  if (attention_bias) each += 3 * inner + hidden;
  if (mlp_bias) each += (is_gated ? 2 : 1) * intermediate + hidden;
  std::int64_t rows = vocabulary + position_rows + (names.token_types.empty() ? 0 : token_types);
  std::int64_t norms = (names.embedding_norm.empty() ? 0 : 1) + (names.final_norm.empty() ? 0 : 1) -
                       (norms_before && !norms_first_input ? 1 : 0);
  return layers * each + rows * hidden + norms * norm_count + relative_buckets * heads;
}

LayerAttention EncoderConfig::attention_of(std::int64_t layer) const {
  if (layer_attention.empty()) return {0, ropes.empty() ? -1 : 0};
  return layer_attention[static_cast<std::size_t>(layer)];
}

std::vector<std::string_view> encoder_families() {
  std::vector<std::string_view> names;
  for (const Family& family : families) names.push_back(family.model_type);
  return names;
}

EncoderConfig parse_encoder_config(std::string_view text, std::string_view what) {
  ConfigFields fields(text, encoder_operation, what);
  const Family& family = families[fields.choice(
      "model_type", encoder_families(),
      "export a model of another kind to ONNX, and load that (tilewright run FILE)")];
  fields.has("quantization_config");  // of the weights (models/formats)
  for (std::string_view flag : {"is_decoder", "add_cross_attention"})
    fields.expect_flag(flag, false);
  if (auto pruned = fields.object("pruned_heads")) pruned->refuse_unread({});
  EncoderConfig config;
  EncoderFields members(fields, config);
  family.read(members);
  config.family = family.model_type;
  std::vector<std::string_view> unused(std::begin(passed_over), std::end(passed_over));
  for (std::string_view name : passed_over_fields()) unused.push_back(name);
  fields.refuse_unread(unused);
  check_config_range(encoder_operation, what, "the size of a head", config.head_size, 1, 65'536);
  for (const RopeConfig& rope : config.ropes)
    check_rope(rope, config.head_size, encoder_operation, what);
  return config;
}

EncoderConfig read_encoder_config(const FilePath& folder, ModelFileOptions options) {
  auto file = open_model_file(folder, "config.json", encoder_operation, options);
  return parse_encoder_config(file->text(max_config_bytes, encoder_operation), file->name());
}

}  // namespace tilewright
