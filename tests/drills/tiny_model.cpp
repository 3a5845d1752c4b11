#include "tests/drills/tiny_model.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/drills/cases.h"

namespace tilewright::drills {
namespace {

constexpr int heads = 2, groups = 1, positions = 64;

std::vector<std::string> tokens() {
  std::vector<std::string> all = {"<unk>", "<s>", "</s>"};
  for (char letter = 'a'; letter <= 'z'; ++letter) all.emplace_back(1, letter);
  return all;
}

nlohmann::json config(const TinySizes& sizes) {
  return {{"model_type", "llama"},
          {"hidden_size", sizes.hidden},
          {"intermediate_size", sizes.inner},
          {"num_hidden_layers", 1},
          {"num_attention_heads", heads},
          {"num_key_value_heads", groups},
          {"vocab_size", tokens().size()},
          {"max_position_embeddings", positions},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"tie_word_embeddings", false},
          {"bos_token_id", 1},
          {"eos_token_id", 2}};
}

nlohmann::json tokenizer() {
  nlohmann::json vocabulary = nlohmann::json::object();
  int id = 0;
  for (const std::string& token : tokens()) vocabulary[token] = id++;
  nlohmann::json begin = {{"SpecialToken", {{"id", "<s>"}}}}, text = {{"Sequence", {{"id", "A"}}}};
  nlohmann::json s = {{"id", 1}, {"content", "<s>"}, {"special", true}};
  nlohmann::json end = {{"id", 2}, {"content", "</s>"}, {"special", true}};
  return {{"added_tokens", nlohmann::json::array({s, end})},
          {"post_processor",
           {{"type", "TemplateProcessing"}, {"single", nlohmann::json::array({begin, text})}}},
          {"decoder", {{"type", "Fuse"}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"merges", nlohmann::json::array()},
            {"vocab", vocabulary}}}};
}

// The tensors of a safetensors file, in the order in which they are added.
class Tensors {
 public:
  void add(const std::string& name, std::vector<int> shape) {
    std::size_t count = 1;
    for (int size : shape) count *= static_cast<std::size_t>(size);
    std::size_t begin = data_.size();
    for (std::size_t i = 0; i < count; ++i) {
      // Norms are ones; others lie between -1 and 1.
      float value = shape.size() == 1 ? 1.0f : static_cast<float>(chance_.below(2001)) / 1000 - 1;
      char bytes[sizeof value];
      std::memcpy(bytes, &value, sizeof value);
      data_.append(bytes, sizeof value);
    }
    header_[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, data_.size()}}};
  }
  std::string file() const {
    std::string text = header_.dump();
    std::uint64_t size = text.size();
    std::string all(sizeof size, '\0');
    std::memcpy(all.data(), &size, sizeof size);
    return all + text + data_;
  }

 private:
  nlohmann::json header_ = nlohmann::json::object();
  std::string data_;
  Chance chance_{3};
};

std::string weights(const TinySizes& sizes) {
  Tensors tensors;
  const auto [hidden, inner] = sizes;
  int words = static_cast<int>(tokens().size()), key = hidden / heads * groups;
  const std::string layer = "model.layers.0.";
  tensors.add("model.embed_tokens.weight", {words, hidden});
  tensors.add("lm_head.weight", {words, hidden});
  tensors.add("model.norm.weight", {hidden});
  tensors.add(layer + "input_layernorm.weight", {hidden});
  tensors.add(layer + "post_attention_layernorm.weight", {hidden});
  tensors.add(layer + "self_attn.q_proj.weight", {hidden, hidden});
  tensors.add(layer + "self_attn.k_proj.weight", {key, hidden});
  tensors.add(layer + "self_attn.v_proj.weight", {key, hidden});
  tensors.add(layer + "self_attn.o_proj.weight", {hidden, hidden});
  tensors.add(layer + "mlp.gate_proj.weight", {inner, hidden});
  tensors.add(layer + "mlp.up_proj.weight", {inner, hidden});
  tensors.add(layer + "mlp.down_proj.weight", {hidden, inner});
  return tensors.file();
}

}  // namespace

void write_tiny_model(const std::filesystem::path& folder, const TinySizes& sizes) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << config(sizes).dump();
  std::ofstream(folder / "tokenizer.json") << tokenizer().dump();
  std::ofstream(folder / "model.safetensors", std::ios::binary) << weights(sizes);
}

}  // namespace tilewright::drills
