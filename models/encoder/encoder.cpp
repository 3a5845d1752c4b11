#include "models/encoder/encoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "graph/functions/attending/flex_attention.h"
#include "models/decoder/model_weights.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright {
namespace {

constexpr std::string_view load_operation = "load_encoder";

// The bucket of a distance: half of them for keys behind the row, in each half the first half for
// near distances one by one, the others for ranges that grow with the logarithm.
std::int64_t bucket_of(std::int64_t distance, const EncoderConfig& config) {
  const std::int64_t half = config.relative_buckets / 2, near = half / 2;
  const std::int64_t side = distance > 0 ? half : 0, size = std::abs(distance);
  if (size < near) return side + size;
  const float ratio = std::log(static_cast<float>(size) / static_cast<float>(near)) /
                      static_cast<float>(std::log(static_cast<double>(config.relative_distance) /
                                                  static_cast<double>(near)));
  const auto beyond = static_cast<std::int64_t>(ratio * static_cast<float>(half - near));
  return side + std::min(near + beyond, half - 1);
}

Tensor buckets_of_distances(std::int64_t places, const EncoderConfig& config) {
  std::vector<std::int64_t> buckets;
  for (std::int64_t distance = 1 - places; distance < places; ++distance)
    buckets.push_back(bucket_of(distance, config));
  return Tensor::from(buckets);
}

LayerOptions layer_options(const EncoderOptions& o) { return {o.init, o.dtype, o.device}; }

}  // namespace

EncoderLayer::EncoderLayer(const EncoderConfig& c, std::int64_t index, LayerOptions options)
    : config_(c),
      own_(c.attention_of(index)),
      output_(c.heads * c.head_size, c.hidden, c.attention_bias, options),
      down_(c.intermediate, c.hidden, c.mlp_bias, options),
      mlp_norm_(c.norm, c.hidden, c.norm_eps, options) {
  auto add = [&](std::optional<Linear>& part, std::string_view name, std::int64_t out, bool bias) {
    if (name.empty()) return;
    part.emplace(c.hidden, out, bias, options);
    register_module(std::string(name), *part);
  };
  const std::int64_t inner = c.heads * c.head_size;
  add(q_, c.names.q, inner, c.attention_bias);
  add(k_, c.names.k, inner, c.attention_bias);
  add(v_, c.names.v, inner, c.attention_bias);
  add(qkv_, c.names.qkv, 3 * inner, c.attention_bias);
  register_module(std::string(c.names.output), output_);
  if (!c.norms_before || c.norms_first_input || index > 0) {
    attention_norm_.emplace(c.norm, c.hidden, c.norm_eps, options);
    register_module(std::string(c.names.attention_norm), *attention_norm_);
  }
  add(gate_, c.names.gate, c.intermediate, c.mlp_bias);
  add(up_, c.names.up, c.intermediate, c.mlp_bias);
  add(gate_up_, c.names.gate_up, 2 * c.intermediate, c.mlp_bias);
  register_module(std::string(c.names.down), down_);
  register_module(std::string(c.names.mlp_norm), mlp_norm_);
}

Tensor EncoderLayer::attend(const Tensor& x, const LanePlaces& places) const {
  std::array<Tensor, 3> parts;
  if (qkv_) {
    const Tensor all = (*qkv_)(x);
    const std::int64_t inner = config_.heads * config_.head_size;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto begin = static_cast<std::int64_t>(i) * inner;
      parts[i] = all.slice(2, begin, begin + inner);
    }
  } else {
    parts = {(*q_)(x), (*k_)(x), (*v_)(x)};
  }
  for (Tensor& part : parts) part = split_heads(part, config_.heads);
  if (own_.rope >= 0) {
    const RowPositions& turn = places.turns[static_cast<std::size_t>(own_.rope)];
    for (std::size_t i : {0, 1}) parts[i] = rotate(parts[i], turn);
  }
  const std::int64_t lanes = x.size(0), count = x.size(1);
  FlexAttentionOptions options{.scale = config_.attention_scale};
  options.mask_mod = [&](const ScorePlace& at) {
    const Tensor same =
        places.texts.reshape({lanes, 1, count, 1}) == places.texts.reshape({lanes, 1, 1, count});
    if (own_.window == 0) return same;
    return logical_and(same, abs(at.row - at.key) < own_.window);
  };
  if (places.bias.defined())
    options.score_mod = [&](const Tensor& score, const ScorePlace&) { return score + places.bias; };
  const Tensor mixed = flex_attention(parts[0], parts[1], parts[2], options);
  return output_(mixed.permute({0, 2, 1, 3}).reshape({lanes, count, output_.in()}));
}

Tensor EncoderLayer::inner(const Tensor& x) const {
  if (gate_up_) {
    const Tensor both = (*gate_up_)(x);
    const std::int64_t width = config_.intermediate;
    return down_(activate(config_.activation, both.slice(2, 0, width)) *
                 both.slice(2, width, 2 * width));
  }
  if (gate_) return down_(activate(config_.activation, (*gate_)(x)) * (*up_)(x));
  return down_(activate(config_.activation, (*up_)(x)));
}

Tensor EncoderLayer::forward(const Tensor& x, const LanePlaces& places) const {
  if (config_.norms_before) {
    const Tensor attended = x + attend(attention_norm_ ? (*attention_norm_)(x) : x, places);
    return attended + inner(mlp_norm_(attended));
  }
  const Tensor attended = (*attention_norm_)(x + attend(x, places));
  return mlp_norm_(attended + inner(attended));
}

Encoder::Encoder(const EncoderConfig& config, std::int64_t max_places, EncoderOptions options)
    : config_(config),
      max_places_(max_places),
      tokens_(config.vocabulary, config.hidden, layer_options(options)) {
  require(max_places > 0, "[", config.family, "] lanes of ", max_places,
          " places; they must have at least 1");
  const LayerOptions layer = layer_options(options);
  auto named = [&](std::string_view name) { return concat(config_.prefix, name); };
  auto add_table = [&](std::optional<Embedding>& table, std::string_view name, std::int64_t rows,
                       std::int64_t width) {
    if (name.empty()) return;
    table.emplace(rows, width, layer);
    register_module(named(name), *table);
  };
  auto add_norm = [&](std::optional<Norm>& norm, std::string_view name) {
    if (name.empty()) return;
    norm.emplace(config_.norm, config_.hidden, config_.norm_eps, layer);
    register_module(named(name), *norm);
  };
  register_module(named(config_.names.tokens), tokens_);
  add_table(positions_, config_.names.positions, config_.position_rows, config_.hidden);
  add_table(token_types_, config_.names.token_types, config_.token_types, config_.hidden);
  add_norm(embedding_norm_, config_.names.embedding_norm);
  add_table(relative_, config_.names.relative, config_.relative_buckets, config_.heads);
  for (std::int64_t i = 0; i < config_.layers; ++i) layers_.add(config_, i, layer);
  register_module(named(config_.names.layers), layers_);
  add_norm(final_norm_, config_.names.final_norm);
  if (relative_) {
    bucket_of_distance_ = buckets_of_distances(max_places, config_);
    bucket_of_distance_.move_to(options.device);
    register_buffer(bucket_of_distance_);
  }
  for (const RopeConfig& rope : config_.ropes) {
    rotary_.push_back(std::make_unique<RotaryTable>(max_places, config_.head_size, rope));
    for (Tensor* part : {&rotary_.back()->cos, &rotary_.back()->sin}) {
      part->move_to(options.device);
      register_buffer(*part);
    }
  }
}

Tensor Encoder::forward(const Tensor& ids, const Tensor& positions, const Tensor& texts) const {
  for (const Tensor* given : {&ids, &positions, &texts})
    require(given->rank() == 2 && is_integer(given->dtype()) && given->shape() == ids.shape(), "[",
            config_.family, "] ids, positions and texts are ", ids.shape(), ", ", positions.shape(),
            " and ", texts.shape(), "; integers of lanes x places are needed in all three");
  const std::int64_t places = ids.size(1);
  require(places >= 1 && places <= max_places_, "[", config_.family, "] lanes of ", places,
          " places; from 1 to ", max_places_, " are allowed");
  Tensor x = tokens_(ids);
  if (positions_) x = x + (*positions_)(positions);
  if (token_types_) x = x + token_types_->weight.select(0, 0);
  if (embedding_norm_) x = (*embedding_norm_)(x);
  LanePlaces shared{.texts = texts};
  for (const auto& table : rotary_) shared.turns.emplace_back(arange(0, 1), places, *table);
  if (relative_) {
    const Tensor at = arange(0, places);
    const Tensor distances = at.reshape({1, places}) - at.reshape({places, 1}) + (max_places_ - 1);
    const Tensor by_distance = (*relative_)(bucket_of_distance_);  // [distances, heads]
    shared.bias = embedding(distances, by_distance).permute({2, 0, 1}).unsqueeze(0);
  }
  for (const EncoderLayer& layer : layers_) x = layer.forward(x, shared);
  if (final_norm_) x = (*final_norm_)(x);
  return x.dtype() == f32 ? x : x.to(f32);
}

namespace {

// Weights that a file may hold beside the parameters: heads for tasks, a decoder, copies.
bool is_no_parameter(const EncoderConfig& config, std::string_view name) {
  if (!config.prefix.empty() && !name.starts_with(config.prefix)) return true;
  name.remove_prefix(config.prefix.size());
  constexpr std::array<std::string_view, 8> others = {
      "pooler.", "cls.", "lm_head.", "decoder.", "head.", "classifier.", "vocab_", "qa_outputs."};
  const bool is_other =
      std::ranges::any_of(others, [&](std::string_view other) { return name.starts_with(other); });
  return is_other || name == "encoder.embed_tokens.weight" || name == "embeddings.position_ids" ||
         name.ends_with("rotary_emb.inv_freq");
}

std::unique_ptr<Encoder> loaded(const std::filesystem::path& folder, std::int64_t max_places,
                                EncoderOptions options) {
  EncoderConfig config = read_encoder_config(folder, {.links_may_leave = options.links_may_leave});
  const Weights weights = model_weights(folder, options.links_may_leave);
  if (!weights.contains(concat(config.prefix, config.names.tokens, ".weight"))) config.prefix = {};
  std::int64_t held = 0;
  for (const std::string& name : weights.names()) held += element_count(weights.shape(name));
  // A small file must not make us allocate what its configuration claims.
  require(held >= config.parameter_count(), "[", load_operation, "] ", folder.string(),
          ": config.json describes a model of ", config.parameter_count(),
          " parameters; the weights hold ", held);
  options.init = Init::none;
  auto model = std::make_unique<Encoder>(config, max_places, options);
  const PackedNames packed = model->pack(weights);
  model->load(weights, {.ignore =
                            [&](std::string_view name) {
                              return packed.contains(name) || is_no_parameter(config, name);
                            },
                        .progress = options.progress});
  return model;
}

}  // namespace

std::unique_ptr<Encoder> load_encoder(const FilePath& folder, std::int64_t max_places,
                                      EncoderOptions options) {
  return while_doing({load_operation, "loading weights of", folder.string()},
                     [&] { return loaded(folder, max_places, std::move(options)); });
}

}  // namespace tilewright
