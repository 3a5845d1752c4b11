#include "models/gpt2_config.h"

#include <array>
#include <cmath>

#include "models/config_fields.h"
#include "models/mapped_file.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::string_view operation = "gpt2_config";
constexpr std::int64_t max_layers = 1024, max_hidden = 65'536, max_intermediate = 1 << 20,
                       max_vocabulary = 1 << 22, max_max_positions = 1 << 22;

constexpr std::array config_names = {
#define TILEWRIGHT_GPT2(name, ...) std::string_view(#name),
#include "models/configs.def"
};

}  // namespace

std::int64_t Gpt2Config::parameter_count() const {
  std::int64_t attention = hidden * 3 * hidden + 3 * hidden + hidden * hidden + hidden;
  std::int64_t mlp = 2 * hidden * intermediate + intermediate + hidden;
  return layers * (attention + mlp + 4 * hidden) + (vocabulary + max_positions) * hidden +
         2 * hidden;
}

void check_config(const Gpt2Config& config, std::string_view what) {
  auto check = [&](std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high) {
    check_config_range(operation, what, name, value, low, high);
  };
  check("n_layer", config.layers, 1, max_layers);
  check("n_embd", config.hidden, 1, max_hidden);
  check("n_inner", config.intermediate, 1, max_intermediate);
  check("n_head", config.heads, 1, config.hidden);
  check("vocab_size", config.vocabulary, 1, max_vocabulary);
  check("n_positions", config.max_positions, 1, max_max_positions);
  require(config.hidden % config.heads == 0, "[", operation, "] ", what, ": n_embd ", config.hidden,
          " is not a multiple of ", config.heads, " heads");
  require(std::isfinite(config.norm_eps) && config.norm_eps > 0 && config.norm_eps < 1, "[",
          operation, "] ", what, ": layer_norm_epsilon is ", config.norm_eps,
          "; above 0 and below 1 is allowed");
  check("bos_token_id", config.bos, -1, config.vocabulary - 1);
  for (std::int64_t id : config.eos) check("eos_token_id", id, 0, config.vocabulary - 1);
}

Gpt2Config parse_gpt2_config(std::string_view text, std::string_view what) {
  ConfigFields fields(text, operation, what);
  fields.expect("model_type", "gpt2");
  fields.expect("activation_function", "gelu_new");
  fields.expect_flag("scale_attn_weights", true);
  fields.expect_flag("scale_attn_by_inverse_layer_idx", false);
  fields.expect_flag("add_cross_attention", false);
  fields.expect_flag("tie_word_embeddings", true);
  fields.expect_absent("quantization_config", "a quantised model");
  Gpt2Config config;
  config.layers = fields.integer("n_layer");
  config.hidden = fields.integer("n_embd");
  check_config_range(operation, what, "n_embd", config.hidden, 1, max_hidden);
  config.intermediate = fields.integer("n_inner", 4 * config.hidden);
  config.heads = fields.integer("n_head");
  config.vocabulary = fields.integer("vocab_size");
  config.max_positions = fields.integer("n_positions", 1024);
  config.norm_eps = fields.number("layer_norm_epsilon", 1e-5);
  config.bos = fields.integer("bos_token_id", -1);
  config.eos = fields.ids("eos_token_id");
  check_config(config, what);
  return config;
}

Gpt2Config read_gpt2_config(const std::filesystem::path& path) {
  auto file = MappedFile::open(path, operation);
  return parse_gpt2_config(file->text(), file->name());
}

std::span<const std::string_view> gpt2_config_names() { return config_names; }

Gpt2Config gpt2_config(std::string_view wanted) {
  std::string names;
  Gpt2Config config;
#define TILEWRIGHT_GPT2(name, layer_count, width, head_count, words, positions) \
  names += names.empty() ? #name : ", " #name;                                  \
  if (wanted == #name) {                                                        \
    config.layers = layer_count;                                                \
    config.hidden = width;                                                      \
    config.intermediate = 4 * (width);                                          \
    config.heads = head_count;                                                  \
    config.vocabulary = words;                                                  \
    config.max_positions = positions;                                           \
  }
#include "models/configs.def"
  require(config.layers > 0, "[", operation, "] there is no configuration \"", wanted,
          "\"; there are ", names);
  config.bos = config.vocabulary - 1;
  config.eos = {config.vocabulary - 1};
  check_config(config, wanted);
  return config;
}

}  // namespace tilewright
