#include "models/llama_config.h"

#include <array>
#include <cmath>
#include <optional>

#include "models/json/tree.h"
#include "models/mapped_file.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::string_view operation = "llama_config";
constexpr std::int64_t max_layers = 1024, max_hidden = 65'536, max_intermediate = 1 << 20,
                       max_vocabulary = 1 << 22, max_max_positions = 1 << 22;

// The members of a config.json, read with their types checked.
class Fields {
 public:
  Fields(const json::Node& root, std::string_view what) : root_(root), what_(what) {}

  // Absent and null members have the default; without one they are an error.
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> missing = {}) const {
    const json::Node* node = find(name);
    if (!node && missing) return *missing;
    require(node != nullptr, "[", operation, "] ", what_, ": has no ", name);
    require(node->is_integer(), "[", operation, "] ", what_, ": ", name, " is ",
            json::describe(*node), "; an integer is needed");
    return node->scalar.integer;
  }
  double number(std::string_view name, double missing) const {
    const json::Node* node = find(name);
    if (!node) return missing;
    using Kind = json::Scalar::Kind;
    bool is_number = node->kind == json::Node::Kind::scalar &&
                     (node->scalar.kind == Kind::integer || node->scalar.kind == Kind::real);
    require(is_number, "[", operation, "] ", what_, ": ", name, " is ", json::describe(*node),
            "; a number is needed");
    return node->scalar.real;
  }
  bool boolean(std::string_view name, bool missing) const {
    const json::Node* node = find(name);
    if (!node) return missing;
    require(
        node->kind == json::Node::Kind::scalar && node->scalar.kind == json::Scalar::Kind::boolean,
        "[", operation, "] ", what_, ": ", name, " is ", json::describe(*node),
        "; true or false is needed");
    return node->scalar.boolean;
  }
  // One id or a list of them.
  std::vector<std::int64_t> ids(std::string_view name) const {
    const json::Node* node = find(name);
    if (!node) return {};
    if (node->kind != json::Node::Kind::array) return {integer(name)};
    std::vector<std::int64_t> ids;
    for (const json::Node& item : node->items) {
      require(item.is_integer(), "[", operation, "] ", what_, ": ", name, " holds ",
              json::describe(item), "; integers are needed");
      ids.push_back(item.scalar.integer);
    }
    return ids;
  }
  // Refuses what the model would otherwise silently not do.
  void expect(std::string_view name, std::string_view supported) const {
    const json::Node* node = find(name);
    if (!node) return;
    require(node->is_string() && node->scalar.string == supported, "[", operation, "] ", what_,
            ": ", name, " is ", json::describe(*node), "; supported is \"", supported, '"');
  }
  void expect_absent(std::string_view name, std::string_view meaning) const {
    require(find(name) == nullptr, "[", operation, "] ", what_, ": ", name, " is set; ", meaning,
            " is not supported");
  }

 private:
  const json::Node* find(std::string_view name) const {
    const json::Node* node = root_.find(name);
    return node && !node->is_null() ? node : nullptr;
  }
  const json::Node& root_;
  std::string_view what_;
};

void check_range(std::string_view what, std::string_view name, std::int64_t value, std::int64_t low,
                 std::int64_t high) {
  require(value >= low && value <= high, "[", operation, "] ", what, ": ", name, " is ", value,
          "; from ", low, " to ", high, " is allowed");
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
  json::Limits limits{
      .text_bytes = 1 << 20, .depth = 16, .string_bytes = 1 << 16, .nodes = 100'000};
  json::Node root = json::read_tree(text, operation, what, limits);
  require(root.kind == json::Node::Kind::object, "[", operation, "] ", what, ": is ",
          json::describe(root), "; an object is needed");
  Fields fields(root, what);
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
  if (root.find("head_dim") == nullptr || root.find("head_dim")->is_null()) {
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
#undef TILEWRIGHT_LLAMA
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
#undef TILEWRIGHT_LLAMA
  require(config.layers > 0, "[", operation, "] there is no configuration \"", wanted,
          "\"; there are ", names);
  check_config(config, wanted);
  return config;
}

}  // namespace tilewright
