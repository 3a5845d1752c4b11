// A model folder small enough that a run of `generate` over it costs little more than its
// compiling: one layer of Llama with random weights, and a tokenizer of letters.
#pragma once

#include <filesystem>

namespace tilewright::drills {

// Features of a token, between layers and within the feed-forward part.
struct TinySizes {
  int hidden = 16;
  int inner = 32;
};

// Makes the folder and its config.json, tokenizer.json and model.safetensors. Always the same
// bytes for the same sizes.
void write_tiny_model(const std::filesystem::path& folder, const TinySizes& sizes = {});

}  // namespace tilewright::drills
