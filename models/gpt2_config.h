// The sizes of a GPT-2 model, and how they are read from Hugging Face's config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright {

struct Gpt2Config {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;        // width of the residual stream
  std::int64_t intermediate = 0;  // width inside the MLP
  std::int64_t heads = 0;
  std::int64_t vocabulary = 0;
  std::int64_t max_positions = 0;
  double norm_eps = 1e-5;
  std::int64_t bos = -1;          // begin-of-text id, -1: none
  std::vector<std::int64_t> eos;  // end-of-text ids
  std::int64_t parameter_count() const;
};

// Raises `Error` beginning with "[gpt2_config] what:" unless the numbers are in their limits and
// fit each other.
void check_config(const Gpt2Config& config, std::string_view what);

// Reads the text of a config.json; what this library's GPT-2 does not do is an `Error` that names
// it. `read_gpt2_config` takes the path of the file.
Gpt2Config parse_gpt2_config(std::string_view text, std::string_view what);
Gpt2Config read_gpt2_config(const std::filesystem::path& path);

// A configuration of configs.def by its name ("gpt2"); raises `Error` that lists the names.
Gpt2Config gpt2_config(std::string_view name);
std::span<const std::string_view> gpt2_config_names();

}  // namespace tilewright
