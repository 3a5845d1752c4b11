// The members of config.json that families of models share, each read into a DecoderConfig.
//
// A family's function (decoder_families.cpp) is a list of calls of these; differences between
// families, names of members and their defaults, are arguments.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "models/decoder/decoder_config.h"
#include "models/files/config_fields.h"

namespace tilewright {

// The names that a family has for the sizes, and the values of absent ones.
struct SizeFields {
  std::string_view layers = "num_hidden_layers", hidden = "hidden_size",
                   heads = "num_attention_heads";
  std::string_view intermediate = "intermediate_size", positions = "max_position_embeddings";
  std::optional<std::int64_t> max_positions;  // absent: an error
  std::optional<std::int64_t> head_size;      // absent: hidden / heads
  // intermediate, where absent: this multiple of hidden
  std::optional<std::int64_t> inner_of_hidden;
};

class FamilyFields {
 public:
  FamilyFields(const ConfigFields& fields, DecoderConfig& config)
      : fields(fields), config(config) {}

  void sizes(const SizeFields& names);
  void activation(std::string_view name, Activation missing);
  void norm(NormKind kind, std::string_view eps_name, double missing);
  void tied(bool missing) { config.tied_embeddings = boolean("tie_word_embeddings", missing); }
  void attention_bias(bool missing, bool of_output = true);
  void ropes(const RopeDefaults& defaults = {});
  // Experts in all layers: their number, by either of two names, and how many a row has.
  void experts(std::string_view width_name, bool normalises, const ExpertNames& names = {});
  // Fewer layers: those that mlp_only_layers names, and those between, by decoder_sparse_step, have
  // an MLP.
  void some_layers_of_experts();
  bool boolean(std::string_view name, bool missing) const { return fields.boolean(name, missing); }
  double number(std::string_view name, double missing) const {
    return fields.number(name, missing);
  }

  // Keys that a row sees where a layer has a window: a member that may be null, for none.
  std::int64_t window(std::string_view name, std::optional<std::int64_t> missing) const;
  // By the member layer_types, else by `is_sliding` of each layer. Sliding layers have the window,
  // and the second of two rotary positions.
  template <typename F>
  void layer_kinds(std::int64_t window, F is_sliding) {
    std::vector<std::string> kinds = layer_types();
    for (std::int64_t i = 0; i < config.layers; ++i) {
      bool slides =
          kinds.empty() ? is_sliding(i) : kinds[static_cast<std::size_t>(i)] == "sliding_attention";
      config.layer_attention.push_back(
          {slides ? window : 0, slides && config.ropes.size() > 1 ? 1 : 0});
    }
  }
  void one_window(std::int64_t window) {  // in all layers
    layer_kinds(window, [](std::int64_t) { return true; });
  }

  const ConfigFields& fields;
  DecoderConfig& config;

 private:
  std::int64_t size(std::string_view name, std::int64_t high,
                    std::optional<std::int64_t> missing = {}) const;
  std::vector<std::string> layer_types() const;  // empty, or one of the two kinds for each layer
};

// Members that do not influence the logits of a text in any family.
std::span<const std::string_view> passed_over_fields();

}  // namespace tilewright
