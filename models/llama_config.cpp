#include "models/llama_config.h"

#include <array>
#include <cmath>

#include "models/config_fields.h"
#include "models/mapped_file.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::string_view operation = "llama_config";
constexpr std::int64_t max_layers = 1024, max_hidden = 65'536, max_intermediate = 1 << 20,
                       max_vocabulary = 1 << 22, max_max_positions = 1 << 22;

void check_range(std::string_view what, std::string_view name, std::int64_t value, std::int64_t low,
                 std::int64_t high) {
  check_config_range(operation, what, name, value, low, high);
}

}  // namespace

std::int64_t LlamaConfig::parameter_count() const {
  std::int64_t attention = hidden * head_size * (2 * heads + 2 * kv_heads);
  std::int64_t mlp = 3 * hidden * intermediate;
  std::int64_t biases = (attention_bias ? head_size * (heads + 2 * kv_heads) + hidden : 0) +
                        (mlp_bias ? 2 * intermediate + hidden : 0);
  std::int64_t embeddings = vocabulary * hidden * (tied_embeddings ? 1 : 2);
  return layers * (attention + mlp + biases + 2 * hidden) + embeddings + hidden;
}

void check_config(const LlamaConfig& config, std::string_view what) {
  check_range(what, "num_hidden_layers", config.layers, 1, max_layers);
  check_range(what, "hidden_size", config.hidden, 1, max_hidden);
  check_range(what, "intermediate_size", config.intermediate, 1, max_intermediate);
  check_range(what, "num_attention_heads", config.heads, 1, config.hidden);
  check_range(what, "num_key_value_heads", config.kv_heads, 1, config.heads);
  check_range(what, "head_dim", config.head_size, 2, 1024);
  check_range(what, "vocab_size", config.vocabulary, 1, max_vocabulary);
  check_range(what, "max_position_embeddings", config.max_positions, 1, max_max_positions);
  require(config.heads % config.kv_heads == 0, "[", operation, "] ", what, ": ", config.heads,
          " attention heads are not a multiple of ", config.kv_heads, " key and value heads");
  require(config.head_size % 2 == 0, "[", operation, "] ", what, ": head_dim is ", config.head_size,
          "; rotary embedding needs an even one");
  require(std::isfinite(config.norm_eps) && config.norm_eps > 0 && config.norm_eps < 1, "[",
          operation, "] ", what, ": rms_norm_eps is ", config.norm_eps,
          "; above 0 and below 1 is allowed");
  require(std::isfinite(config.rope_theta) && config.rope_theta >= 1, "[", operation, "] ", what,
          ": rope_theta is ", config.rope_theta, "; 1 or more is allowed");
  check_range(what, "bos_token_id", config.bos, -1, config.vocabulary - 1);
  for (std::int64_t id : config.eos)
    check_range(what, "eos_token_id", id, 0, config.vocabulary - 1);
}

LlamaConfig parse_llama_config(std::string_view text, std::string_view what) {
  ConfigFields fields(text, operation, what);
  fields.expect("model_type", "llama");
  fields.expect("hidden_act", "silu");
  fields.expect_absent("rope_scaling", "scaled rotary embedding");
  fields.expect_absent("quantization_config", "a quantised model");
  LlamaConfig config;
  config.layers = fields.integer("num_hidden_layers");
  config.hidden = fields.integer("hidden_size");
  config.intermediate = fields.integer("intermediate_size");
  config.heads = fields.integer("num_attention_heads");
  config.kv_heads = fields.integer("num_key_value_heads", config.heads);
  check_range(what, "num_attention_heads", config.heads, 1, max_hidden);
  if (!fields.has("head_dim")) {
    require(config.hidden % config.heads == 0, "[", operation, "] ", what, ": hidden_size ",
            config.hidden, " is not a multiple of ", config.heads, " attention heads");
    config.head_size = config.hidden / config.heads;
  } else {
    config.head_size = fields.integer("head_dim");
  }
  config.vocabulary = fields.integer("vocab_size");
  config.max_positions = fields.integer("max_position_embeddings", 2048);
  config.norm_eps = fields.number("rms_norm_eps", 1e-6);
  config.rope_theta = fields.number("rope_theta", 10000);
  config.tied_embeddings = fields.boolean("tie_word_embeddings", false);
  config.attention_bias = fields.boolean("attention_bias", false);
  config.mlp_bias = fields.boolean("mlp_bias", false);
  config.bos = fields.integer("bos_token_id", -1);
  config.eos = fields.ids("eos_token_id");
  check_config(config, what);
  return config;
}

LlamaConfig read_llama_config(const std::filesystem::path& path) {
  auto file = MappedFile::open(path, operation);
  return parse_llama_config(file->text(), file->name());
}

namespace {
constexpr std::array config_names = {
#define TILEWRIGHT_LLAMA(name, ...) std::string_view(#name),
#include "models/configs.def"
};
}  // namespace

std::span<const std::string_view> llama_config_names() { return config_names; }

LlamaConfig llama_config(std::string_view wanted) {
  std::string names;
  LlamaConfig config;
  config.bos = 1;
  config.eos = {2};
#define TILEWRIGHT_LLAMA(name, layer_count, width, inner, q, kv, words, positions, tied) \
  names += names.empty() ? #name : ", " #name;                                           \
  if (wanted == #name) {                                                                 \
    config.layers = layer_count;                                                         \
    config.hidden = width;                                                               \
    config.intermediate = inner;                                                         \
    config.heads = q;                                                                    \
    config.kv_heads = kv;                                                                \
    config.head_size = (width) / (q);                                                    \
    config.vocabulary = words;                                                           \
    config.max_positions = positions;                                                    \
    config.tied_embeddings = tied;                                                       \
  }
#include "models/configs.def"
  require(config.layers > 0, "[", operation, "] there is no configuration \"", wanted,
          "\"; there are ", names);
  check_config(config, wanted);
  return config;
}

}  // namespace tilewright
