// A model folder small enough that a run of `generate` over it costs little more than its
// compiling: one layer of Llama with random weights, and a tokenizer of letters.
#pragma once

#include <filesystem>

namespace tilewright::drills {

// Makes the folder and its config.json, tokenizer.json and model.safetensors. Always the same
// bytes.
void write_tiny_model(const std::filesystem::path& folder);

}  // namespace tilewright::drills
