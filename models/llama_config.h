// The sizes of a Llama model, and how they are read from Hugging Face's config.json.
//
// The file is foreign: every number has a limit, and the numbers must fit each other, before
// anything is allocated from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright {

struct LlamaConfig {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;        // width of the residual stream
  std::int64_t intermediate = 0;  // width inside the MLP
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // key and value heads; `heads` is a multiple
  std::int64_t head_size = 0;
  std::int64_t vocabulary = 0;
  std::int64_t max_positions = 0;
  double norm_eps = 1e-5;
  double rope_theta = 10000;
  bool tied_embeddings = false;  // the output matrix is the embedding's
  bool attention_bias = false;
  bool mlp_bias = false;
  std::int64_t bos = -1;          // begin-of-sequence id, -1: none
  std::vector<std::int64_t> eos;  // end-of-sequence ids
  std::int64_t parameter_count() const;
};

// Raises `Error` beginning with "[llama_config] what:" unless the numbers are in their limits and
// fit each other.
void check_config(const LlamaConfig& config, std::string_view what);

// Reads the text of a config.json; what this library's Llama does not do is an `Error` that names
// it. `read_llama_config` takes the path of the file.
LlamaConfig parse_llama_config(std::string_view text, std::string_view what);
LlamaConfig read_llama_config(const std::filesystem::path& path);

// A configuration of configs.def by its name ("tiny"); raises `Error` that lists the names.
LlamaConfig llama_config(std::string_view name);
std::span<const std::string_view> llama_config_names();

}  // namespace tilewright
