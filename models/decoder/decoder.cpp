#include "models/decoder/decoder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "models/decoder/decoder_families.h"
#include "models/decoder/model_weights.h"
#include "models/files/reader.h"
#include "models/layers/random.h"
#include "models/weights/weights.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

const DecoderConfig& checked(const DecoderConfig& config) {
  check_config(config, "sizes");
  return config;
}

ModelMemory memory_of(const DecoderConfig& config) {
  std::int64_t tables = 0;
  for (const RopeConfig& rope : config.ropes) tables += rope.bytes_a_position(config.head_size);
  const std::int64_t heads = 2 * config.layers * config.kv_heads;
  return {heads * config.head_size, heads, tables, config.parameter_count()};
}

LayerOptions layer_options(const ModelOptions& o) { return {o.init, o.dtype, o.device}; }

// A dtype's number, so that a factor of 1 adds no operation.
Tensor times(const Tensor& x, double factor) { return factor == 1 ? x : x * factor; }

}  // namespace

DecoderLayer::DecoderLayer(const DecoderConfig& c, std::int64_t index, LayerOptions options)
    : attention(c.attention_form(index), options),
      residual_factor_(c.residual_factor),
      is_parallel_(c.is_parallel) {
  auto add = [&](std::optional<Norm>& norm, std::string_view name) {
    if (name.empty()) return;
    norm.emplace(c.norm, c.hidden, c.norm_eps, options);
    register_module(std::string(name), *norm);
  };
  add(attention_norm, c.names.attention_norm);
  register_module(std::string(c.names.attention), attention);
  add(attention_output_norm, c.names.attention_output_norm);
  add(mlp_norm, c.names.mlp_norm);
  if (c.has_experts(index)) {
    experts.emplace(c.hidden, c.activation, *c.experts, options);
    register_module(std::string(c.experts->names.mlp), *experts);
  } else {
    mlp.emplace(c.hidden, c.intermediate, c.mlp_form(), options);
    if (c.names.mlp.empty()) {
      register_module(std::string(c.mlp_names.up), *mlp->up_proj);
      register_module(std::string(c.mlp_names.down), mlp->down_proj);
    } else {
      register_module(std::string(c.names.mlp), *mlp);
    }
  }
  add(mlp_output_norm, c.names.mlp_output_norm);
}

Tensor DecoderLayer::added(const Tensor& x, Tensor part, const std::optional<Norm>& norm) const {
  if (norm) part = (*norm)(part);
  return x + times(part, residual_factor_);
}

Tensor DecoderLayer::forward(const Tensor& x, const RowPositions& row_positions,
                             KeyValueCache* cache) const {
  Tensor normed = attention_norm ? (*attention_norm)(x) : x;
  Tensor attended =
      added(x, attention.forward(normed, row_positions, cache), attention_output_norm);
  if (!is_parallel_) normed = attended;
  if (mlp_norm) normed = (*mlp_norm)(is_parallel_ ? x : attended);
  return added(attended, mlp ? (*mlp)(normed) : experts->forward(normed), mlp_output_norm);
}

Decoder::Decoder(const DecoderConfig& config, ModelOptions options)
    : LanguageModel(config.family, options, checked(config).max_positions,
                    memory_of(checked(config))),
      config_(config),
      tokens_(config.vocabulary, config.hidden, layer_options(options)),
      norm_(config.norm, config.hidden, config.norm_eps, layer_options(options)) {
  LayerOptions layer = layer_options(options);
  auto named = [&](std::string_view name) { return concat(config.names.prefix, name); };
  register_module(named(config.names.tokens), tokens_);
  if (!config.names.positions.empty()) {
    positions_.emplace(config.max_positions + config.position_offset, config.hidden, layer);
    register_module(named(config.names.positions), *positions_);
  }
  for (std::int64_t i = 0; i < config.layers; ++i) layers_.add(config, i, layer);
  register_module(named(config.names.layers), layers_);
  register_module(named(config.names.norm), norm_);
  for (const RopeConfig& rope : config.ropes) {
    rotary_.push_back(std::make_unique<RotaryTable>(max_positions(), config.head_size, rope));
    RotaryTable& table = *rotary_.back();
    for (Tensor* part : {&table.cos, &table.sin, &table.long_cos, &table.long_sin}) {
      if (!part->defined()) continue;
      part->move_to(options.device);
      register_buffer(*part);
    }
  }
  if (config.tied_embeddings) return;
  head_ = std::make_unique<Linear>(config.hidden, config.vocabulary, config.head_bias, layer);
  register_module(std::string(config.names.head), *head_);
}

int Decoder::quantize_weights(const QuantizeOptions& options, std::source_location w) {
  if (!head_) {
    head_ = std::make_unique<Linear>(tokens_.weight);
    register_module(std::string(config_.names.head), *head_);
  }
  return Module::quantize_weights(options, w);
}

std::vector<std::int64_t> Decoder::stop_ids() const {
  std::vector<std::int64_t> ids = config_.eos;
  if (config_.ends_at_bos && config_.bos >= 0) ids.push_back(config_.bos);
  return ids;
}

std::optional<std::int64_t> Decoder::reread_beyond() const {
  for (const auto& table : rotary_)
    if (table->has_long()) return table->short_rows;
  return std::nullopt;
}

std::unique_ptr<DecodingState> Decoder::make_state(std::int64_t batch) const {
  std::vector<KeyValueCache> caches;
  for (std::size_t i = 0; i < layers_.size(); ++i)
    caches.push_back(
        layers_[i].attention.new_cache(batch, max_positions(), device(), cache_dtype()));
  return std::make_unique<DecodingState>(std::move(caches), reread_beyond().has_value());
}

// A window as long as the longest text hides nothing.
LayerGroups Decoder::layer_groups() const {
  std::vector<std::int64_t> windows;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::int64_t window = config_.attention_of(static_cast<std::int64_t>(i)).window;
    windows.push_back(window < max_positions() ? window : 0);
  }
  return LayerGroups::of(windows);
}

std::vector<KeyValueCache> Decoder::make_pages(std::int64_t pages, std::int64_t page_rows) const {
  std::vector<KeyValueCache> caches;
  for (std::size_t i = 0; i < layer_groups().slots; ++i)
    caches.push_back(layers_[i].attention.new_pages(pages, page_rows, device(), cache_dtype()));
  return caches;
}

Tensor Decoder::hidden_rows(const Tensor& ids, const Tensor& position, DecodingState* state) const {
  require(!state || state->layers() == layers_.size(), "[", config_.family, "] a state of ",
          state ? state->layers() : 0, " layers; this model has ", layers_.size(),
          " (its new_state makes one that fits)");
  std::vector<RowPositions> row_positions = {
      RowPositions(position, ids.size(1), state ? state->expected_rows() : Tensor())};
  for (const auto& table : rotary_) row_positions.push_back(row_positions[0].with(*table));
  Tensor x = times(tokens_(ids), config_.embedding_factor);
  if (positions_) {
    Tensor at = row_positions[0].positions;
    x = x + (*positions_)(config_.position_offset == 0 ? at : at + config_.position_offset);
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    int rope = config_.attention_of(static_cast<std::int64_t>(i)).rope;
    x = layers_[i].forward(x, row_positions[static_cast<std::size_t>(std::max(rope, -1) + 1)],
                           state ? &state->cache(i) : nullptr);
  }
  return x;
}

Tensor Decoder::logits(const Tensor& rows) const {
  Tensor x = norm_(rows);
  Tensor y = head_ ? (*head_)(x) : linear(x, tokens_.weight);
  y = times(y.dtype() == f32 ? y : y.to(f32), config_.logit_factor);
  return config_.logit_cap == 0 ? y : tanh(y / config_.logit_cap) * config_.logit_cap;
}

namespace {

// Weights that a file may hold beside the parameters.
bool is_no_parameter(const DecoderConfig& config, std::string_view name) {
  // A copy of the embedding; tables and masks that older files carry.
  bool is_copy = config.tied_embeddings && name.ends_with(concat(config.names.head, ".weight"));
  return is_copy || name.ends_with("rotary_emb.inv_freq") || name.ends_with(".attn.bias") ||
         name.ends_with(".attn.masked_bias") || name.ends_with(".attention.bias") ||
         name.ends_with(".attention.masked_bias");
}

// The weights under names with the family's prefix, even if the file leaves it out.
Weights named_weights(const DecoderConfig& config, const std::filesystem::path& folder,
                      bool links_may_leave) {
  Weights weights = model_weights(folder, links_may_leave);
  std::string bare = concat(config.names.tokens, ".weight");
  bool is_bare = weights.contains(bare) && !weights.contains(concat(config.names.prefix, bare));
  for (std::int64_t i = 0; i < config.layers; ++i)
    if (config.has_experts(i))
      stack_experts(weights,
                    concat(is_bare ? std::string_view() : config.names.prefix, config.names.layers,
                           ".", i, ".", config.experts->names.mlp, "."),
                    *config.experts);
  return is_bare ? weights.with_prefix(config.names.prefix) : weights;
}

// Lines on the formats of quantised weights in the files.
void note_formats(const Weights& weights, const PackedNames& packed, DType dtype,
                  const std::function<void(const std::string&)>& note) {
  struct Count {
    std::int64_t packed = 0, expanded = 0;
    std::string first;  // that is expanded
  };
  std::map<quant::Format, Count> counts;
  for (const std::string& name : weights.names()) {
    const std::optional<quant::Format> format = weights.format(name);
    if (!format) continue;
    Count& count = counts[*format];
    const bool is_packed = packed.contains(name);
    if (!is_packed && count.expanded++ == 0) count.first = name;
    if (is_packed) ++count.packed;
  }
  for (const auto& [format, count] : counts) {
    if (count.packed > 0) note(concat(format, ": ", count.packed, " weights stay packed"));
    if (count.expanded > 0)
      note(concat(format, ": ", count.expanded, " weights are expanded to ", dtype, ", ",
                  json::excerpt(count.first), count.expanded > 1 ? " among them" : ""));
  }
}

}  // namespace

std::unique_ptr<Decoder> load_decoder(const FilePath& folder, ModelOptions options) {
  DecoderConfig config = read_decoder_config(folder, {.links_may_leave = options.links_may_leave});
  Weights weights = named_weights(config, folder, options.links_may_leave);
  std::int64_t held = 0;
  for (const std::string& name : weights.names()) held += element_count(weights.shape(name));
  // A small file must not make us allocate what its configuration claims.
  require(held >= config.parameter_count(), "[load_model] ", folder.string(),
          ": config.json describes a model of ", config.parameter_count(),
          " parameters; the weights hold ", held);
  options.init = Init::none;
  auto model = std::make_unique<Decoder>(config, options);
  const PackedNames packed = model->pack(weights);
  if (options.note) note_formats(weights, packed, options.dtype, options.note);
  model->load(weights, {.ignore =
                            [&](std::string_view name) {
                              return packed.contains(name) || is_no_parameter(config, name);
                            },
                        .progress = options.progress});
  return model;
}

std::unique_ptr<Decoder> random_decoder(const DecoderConfig& config, std::uint64_t seed,
                                        ModelOptions options) {
  options.init = Init::none;
  auto model = std::make_unique<Decoder>(config, options);
  double identity = config.norm == NormKind::rms_plus_one ? 0 : 1;
  std::string outputs[] = {concat(config.attention_names.output, ".weight"),
                           concat(config.mlp_names.down, ".weight")};
  std::uint64_t stream = 0;
  for (auto& [name, tensor] : model->named_parameters()) {
    double deviation = 0.02;
    if (!config.names.positions.empty() &&
        name.ends_with(concat(config.names.positions, ".weight")))
      deviation = 0.01;
    if (config.shrinks_outputs && (name.ends_with(outputs[0]) || name.ends_with(outputs[1])))
      deviation /= std::sqrt(2 * static_cast<double>(config.layers));
    if (name.ends_with(".bias"))
      fill_value(tensor, 0);
    else if (tensor.rank() == 1)
      fill_value(tensor, identity);
    else
      fill_normal(tensor, 0, deviation, RandomStream(seed, stream));
    ++stream;
  }
  return model;
}

}  // namespace tilewright
