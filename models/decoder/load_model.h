// A model by the folder or the name that it has: of whichever family that is.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "models/decoder/language_model.h"
#include "models/tokenizer/tokenizer.h"
#include "runtime/files/file_path.h"

namespace tilewright {

// The model of a Hugging Face folder, of the family (decoder_families.h) that the model_type of its
// config.json names. Raises `Error` for whatever is wrong with its files, and for each member of
// config.json that is not used.
std::unique_ptr<LanguageModel> load_model(const FilePath& folder, ModelOptions options = {});
// Likewise of a GGUF file, whose name ends in .gguf.
//
// The tokenizer of such a folder, its tokenizer.json, or of such a file.
Tokenizer load_tokenizer(const FilePath& folder, TokenizerOptions options = {});
// A model of configs.def with weights drawn from a seed; none for another name.
std::unique_ptr<LanguageModel> random_model(std::string_view name, std::uint64_t seed,
                                            ModelOptions options = {});

}  // namespace tilewright
