// The families of models that a Hugging Face folder may hold, and how each one's config.json
// becomes a DecoderConfig.
//
// A family is a row of a table: its model_type and a function of a few lines that states its
// differences from Llama. Each member of the file is used, or is in a list of those that do not
// affect the result (authors, training), or is an `Error` that names it and its value; so is a
// known member with a value that is not supported.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/decoder_config.h"
#include "models/files/model_file.h"

namespace tilewright {

// Reads the text of a config.json; `what` names the file in errors, which begin with
// "[decoder_config]".
DecoderConfig parse_decoder_config(std::string_view text, std::string_view what);
// Reads config.json of the folder, and the ids that end a text of generation_config.json if there
// is one; or the settings of a GGUF file.
DecoderConfig read_decoder_config(const std::filesystem::path& folder,
                                  ModelFileOptions options = {});

// The possible values of model_type.
std::vector<std::string_view> decoder_families();

}  // namespace tilewright
