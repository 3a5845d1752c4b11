// A GGUF file as the folder that it was converted from: the text of a config.json, the text of a
// tokenizer.json, and weights under the names that such a folder has.
//
// So everything that reads folders reads these files too, with the same checks. Conversion is
// undone here: the rows of llama's queries and keys are put back in order, and norms of Gemma lose
// the 1 that was added to them.
#pragma once

#include <memory>
#include <string>

#include "models/gguf/gguf_file.h"
#include "models/weights/weights.h"

namespace tilewright::gguf {

// Raises `Error` "[load_gguf] PATH: ..." for an architecture that is not known, and for a setting
// of it that is not used.
std::string config_json(const GgufFile& file);
// Raises `Error` likewise for a kind of tokenizer that is not known.
std::string tokenizer_json(const GgufFile& file);
// A tensor as it is stored, with blocks decoded.
Tensor stored_tensor(const GgufFile& file, std::string_view name);
Weights weights_of(std::shared_ptr<const GgufFile> file);

}  // namespace tilewright::gguf
