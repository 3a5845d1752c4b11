#include "models/gguf/architectures.h"

#include <algorithm>
#include <cctype>

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::gguf {
namespace {

constexpr Architecture architectures[] = {
    {.name = "llama", .model_type = "llama", .turns_rows = true, .bias_is_optional = true},
    {.name = "qwen2", .model_type = "qwen2"},
    {.name = "qwen3", .model_type = "qwen3"},
    {.name = "gemma", .model_type = "gemma", .norms_plus_one = true},
    {.name = "gemma2", .model_type = "gemma2", .norms_plus_one = true, .is_gemma_later = true},
};

struct Part {
  std::string_view stored, name;
};
constexpr Part parts_of_model[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
constexpr Part parts_of_layer[] = {{"attn_q", "self_attn.q_proj"},
                                   {"attn_k", "self_attn.k_proj"},
                                   {"attn_v", "self_attn.v_proj"},
                                   {"attn_output", "self_attn.o_proj"},
                                   {"attn_q_norm", "self_attn.q_norm"},
                                   {"attn_k_norm", "self_attn.k_norm"},
                                   {"ffn_gate", "mlp.gate_proj"},
                                   {"ffn_up", "mlp.up_proj"},
                                   {"ffn_down", "mlp.down_proj"},
                                   {"attn_norm", "input_layernorm"},
                                   {"post_attention_norm", "post_attention_layernorm"},
                                   {"post_ffw_norm", "post_feedforward_layernorm"}};

std::optional<std::string_view> find_part(std::span<const Part> parts, std::string_view stored) {
  const auto found = std::ranges::find(parts, stored, &Part::stored);
  return found == parts.end() ? std::nullopt : std::optional(found->name);
}

}  // namespace

const Architecture& architecture_of(const GgufFile& file) {
  const std::string name = file.text("general.architecture");
  std::string known;
  for (const Architecture& each : architectures)
    known += concat(known.empty() ? "" : ", ", each.name);
  const auto* found = std::ranges::find(architectures, name, &Architecture::name);
  require(found != std::end(architectures), "[", gguf_operation, "] ", file.name(),
          ": general.architecture is \"", json::excerpt(name), "\"; known are ", known);
  return *found;
}

std::optional<std::string> folder_name(const Architecture& architecture, std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return std::nullopt;
  const std::string_view stem = name.substr(0, dot), ending = name.substr(dot);
  if (auto part = find_part(parts_of_model, stem)) return concat(*part, ending);
  constexpr std::string_view block = "blk.";
  if (!stem.starts_with(block)) return std::nullopt;
  const std::size_t end = stem.find('.', block.size());
  if (end == stem.npos) return std::nullopt;
  const std::string_view number = stem.substr(block.size(), end - block.size());
  std::string_view stored = stem.substr(end + 1);
  std::optional<std::string_view> part = find_part(parts_of_layer, stored);
  if (stored == "ffn_norm")
    part = architecture.is_gemma_later ? "pre_feedforward_layernorm" : "post_attention_layernorm";
  if (!part) return std::nullopt;
  return concat("model.layers.", number, ".", *part, ending);
}

}  // namespace tilewright::gguf
