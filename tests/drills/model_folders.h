// A small model's folder for the drills to damage, and what every run over one is asked.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/drills/cases.h"
#include "tests/drills/child.h"

namespace tilewright::drills {

using Json = nlohmann::json;

// The files of a folder by name. Whole, it is a Llama of two layers with random weights, and a
// tokenizer of its own; in shards, the weights are two files and an index.
using ModelFiles = std::map<std::string, std::string>;
const ModelFiles& whole_model();
const ModelFiles& model_in_shards();

// A safetensors file in its two parts.
struct WeightFile {
  std::string header, data;
  static WeightFile parse(const std::string& bytes);
  std::string bytes() const;
};

// The required outcome for a mutated folder. `refused`: the format forbids the change, and
// `generate` must end with an error; `either`: the changed folder may be valid too.
enum class Verdict { refused, either };

// Runs `tilewright generate` over the files and expects: no signal, at most 5 s, an answer or a
// sentence that says what is wrong, without a byte that drives a terminal; address space of three
// times the files and 256 MiB beyond what the whole model needs; and the verdict.
void expect_safe(const ModelFiles& files, Verdict verdict);

}  // namespace tilewright::drills
