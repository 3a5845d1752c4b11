// The settings of an architecture as the members of a config.json.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "models/files/reader.h"
#include "models/gguf/architectures.h"
#include "models/gguf/gguf_model.h"
#include "runtime/base/error.h"

namespace tilewright::gguf {
namespace {

// Settings that are used below, or that have no effect on the result.
constexpr std::string_view used_settings[] = {"context_length",
                                              "embedding_length",
                                              "block_count",
                                              "feed_forward_length",
                                              "attention.head_count",
                                              "attention.head_count_kv",
                                              "attention.key_length",
                                              "attention.value_length",
                                              "attention.layer_norm_rms_epsilon",
                                              "attention.sliding_window",
                                              "rope.freq_base",
                                              "rope.dimension_count",
                                              "rope.scaling.type",
                                              "rope.scaling.factor",
                                              "rope.scaling.original_context_length",
                                              "rope.scaling.finetuned",
                                              "attn_logit_softcapping",
                                              "final_logit_softcapping",
                                              "vocab_size",
                                              "tensor_data_layout"};

// An object of a JSON text, member by member.
class JsonObject {
 public:
  void raw(std::string_view name, const std::string& value) {
    text_ += concat(text_.empty() ? "{" : ", ", '"', name, "\": ", value);
  }
  void integer(std::string_view name, std::int64_t value) { raw(name, std::to_string(value)); }
  void number(std::string_view name, double value) { raw(name, digits(value)); }
  void flag(std::string_view name, bool value) { raw(name, value ? "true" : "false"); }
  std::string text() const { return text_ + "}"; }

  static std::string digits(double value) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17g", value);
    return buffer;
  }

 private:
  std::string text_;
};

class ConfigWriter {
 public:
  explicit ConfigWriter(const GgufFile& file)
      : file_(file), architecture_(architecture_of(file)), prefix_(architecture_.name) {
    prefix_ += '.';
  }

  std::string text() {
    refuse_unknown();
    object_.raw("model_type", concat('"', architecture_.model_type, '"'));
    write_sizes();
    object_.number("rms_norm_eps", file_.number(key("attention.layer_norm_rms_epsilon")));
    write_rope();
    write_attention();
    object_.flag("tie_word_embeddings", !file_.tensors().contains("output.weight"));
    for (const auto& [ours, theirs] : {std::pair{"bos_token_id", "tokenizer.ggml.bos_token_id"},
                                       {"eos_token_id", "tokenizer.ggml.eos_token_id"}})
      if (file_.find(theirs) != nullptr) object_.integer(ours, file_.integer(theirs));
    return object_.text();
  }

 private:
  std::string key(std::string_view name) const { return prefix_ + std::string(name); }

  void refuse_unknown() const {
    for (const auto& [name, value] : file_.settings()) {
      if (!name.starts_with(prefix_)) continue;
      const std::string_view rest = std::string_view(name).substr(prefix_.size());
      require(std::ranges::find(used_settings, rest) != std::end(used_settings), "[",
              gguf_operation, "] ", file_.name(), ": the setting ", json::excerpt(name),
              " is not used by this library; settings that may change the result are refused");
    }
  }

  void write_sizes() {
    heads_ = file_.integer(key("attention.head_count"));
    const std::int64_t hidden = file_.integer(key("embedding_length"));
    require(heads_ > 0, "[", gguf_operation, "] ", file_.name(), ": ", key("attention.head_count"),
            " is ", heads_, "; a number above 0 is needed");
    head_size_ = file_.integer(key("attention.key_length"), hidden / heads_);
    const std::int64_t value = file_.integer(key("attention.value_length"), head_size_);
    require(value == head_size_, "[", gguf_operation, "] ", file_.name(), ": ",
            key("attention.value_length"), " is ", value, "; that of the keys, ", head_size_,
            ", is needed");
    positions_ = file_.integer(key("context_length"));
    object_.integer("hidden_size", hidden);
    object_.integer("num_hidden_layers", file_.integer(key("block_count")));
    object_.integer("intermediate_size", file_.integer(key("feed_forward_length")));
    object_.integer("num_attention_heads", heads_);
    object_.integer("num_key_value_heads", file_.integer(key("attention.head_count_kv"), heads_));
    object_.integer("head_dim", head_size_);
    object_.integer("max_position_embeddings", positions_);
    object_.integer("vocab_size", vocabulary());
  }

  // Tokenizers may have fewer tokens than the embedding has rows.
  std::int64_t vocabulary() const {
    auto found = file_.tensors().find("token_embd.weight");
    require(found != file_.tensors().end() && found->second.shape.rank() == 2, "[", gguf_operation,
            "] ", file_.name(), ": there is no matrix token_embd.weight, the table of the tokens");
    return found->second.shape[0];
  }

  void write_rope() {
    const std::int64_t turned = file_.integer(key("rope.dimension_count"), head_size_);
    require(turned == head_size_, "[", gguf_operation, "] ", file_.name(), ": ",
            key("rope.dimension_count"), " is ", turned, "; that of a head, ", head_size_,
            ", is needed");
    object_.number("rope_theta", file_.number(key("rope.freq_base"), 10000));
    const std::string type = file_.text(key("rope.scaling.type"), "none");
    const auto factors = file_.tensors().find("rope_freqs.weight");
    if (factors != file_.tensors().end()) return write_factors(factors->second);
    if (type == "none") return;
    require(type == "linear" || type == "yarn", "[", gguf_operation, "] ", file_.name(), ": ",
            key("rope.scaling.type"), " is \"", json::excerpt(type),
            "\"; none, linear and yarn are known");
    JsonObject scaling;
    scaling.raw("rope_type", concat('"', type, '"'));
    scaling.number("factor", file_.number(key("rope.scaling.factor")));
    if (type == "yarn")
      scaling.integer("original_max_position_embeddings",
                      file_.integer(key("rope.scaling.original_context_length"), positions_));
    object_.raw("rope_scaling", scaling.text());
  }

  // A factor for each frequency, as converters write Llama 3's scaling.
  void write_factors(const Entry& entry) {
    require(entry.type == 0 && entry.shape == Shape{head_size_ / 2}, "[", gguf_operation, "] ",
            file_.name(), ": tensor rope_freqs.weight is of the type ", entry.type, " and ",
            entry.shape, "; f32 (0) and [", head_size_ / 2, "] are needed");
    const std::vector<std::byte> bytes = file_.bytes(entry);
    std::string list;
    for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
      float factor;
      std::memcpy(&factor, bytes.data() + i * sizeof factor, sizeof factor);
      list += concat(i == 0 ? "[" : ", ", JsonObject::digits(factor));
    }
    list += "]";
    JsonObject scaling;
    scaling.raw("rope_type", "\"longrope\"");
    scaling.integer("factor", 1);
    scaling.integer("attention_factor", 1);
    scaling.integer("original_max_position_embeddings", positions_);
    scaling.raw("short_factor", list);
    scaling.raw("long_factor", list);
    object_.raw("rope_scaling", scaling.text());
  }

  void write_attention() {
    const bool has_bias = file_.tensors().contains("blk.0.attn_q.bias");
    if (architecture_.bias_is_optional) object_.flag("attention_bias", has_bias);
    const std::string window = key("attention.sliding_window");
    if (file_.find(window) != nullptr) object_.integer("sliding_window", file_.integer(window));
    if (!architecture_.is_gemma_later) return;
    for (const auto& [ours, theirs] :
         {std::pair{"attn_logit_softcapping", "attn_logit_softcapping"},
          {"final_logit_softcapping", "final_logit_softcapping"}})
      object_.number(ours, file_.number(key(theirs), 0));
    // Not in the file; as llama.cpp has it, the model of 46 layers by the width of the stream.
    const bool by_width = file_.integer(key("block_count")) == 46;
    object_.integer("query_pre_attn_scalar",
                    by_width ? file_.integer(key("embedding_length")) / heads_ : head_size_);
  }

  const GgufFile& file_;
  const Architecture& architecture_;
  std::string prefix_;
  JsonObject object_;
  std::int64_t heads_ = 0, head_size_ = 0, positions_ = 0;
};

}  // namespace

std::string config_json(const GgufFile& file) { return ConfigWriter(file).text(); }

}  // namespace tilewright::gguf
