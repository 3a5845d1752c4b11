// The parts of a sentence-transformers folder: which model reads the texts, how the states of
// their tokens are pooled, and what follows.
//
// modules.json names them, each with a folder of its own. Without that file the folder is a model
// alone, and the states are averaged, as sentence-transformers does then.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/encoder/pooling.h"
#include "models/files/model_file.h"
#include "models/layers/layers.h"
#include "runtime/files/file_path.h"

namespace tilewright {

inline constexpr std::string_view embedding_operation = "load_embedding_model";

// A linear layer behind the pooling, and a function of each element.
struct SentenceDense : Module {
  enum class Function : std::uint8_t { identity, tanh, relu, gelu, silu, sigmoid };
  SentenceDense(std::int64_t in, std::int64_t out, bool has_bias, Function function);
  Tensor forward(const Tensor& x) const;
  Linear linear;
  Function function;
};

struct SentenceModules {
  FilePath model;  // the folder of config.json
  std::vector<Pool> modes = {Pool::mean};
  std::int64_t pooled_width = 0;  // of a state, as the folder says; 0: it does not
  bool pools_prompt = true;       // the tokens of a prompt before the text are pooled too
  // The steps behind the pooling, in their order: a layer, or none where the vector is normalised.
  std::vector<std::unique_ptr<SentenceDense>> steps;
  bool lowers_case = false;                    // texts become lower case before they are cut
  std::optional<std::int64_t> max_tokens;      // of a text, where the folder says it
  std::map<std::string, std::string> prompts;  // by name, put before texts
  std::string default_prompt;                  // the name of one, or empty

  std::int64_t width(std::int64_t hidden) const;  // of an embedding
};

// Raises `Error` "[load_embedding_model] ..." for parts that are not known, and settings that
// would change the result and are not used.
SentenceModules read_sentence_modules(const FilePath& folder, ModelFileOptions options = {});

}  // namespace tilewright
