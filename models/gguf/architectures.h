// The architectures of GGUF files that are known, as a table, and their names for the parts of a
// model.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/gguf/gguf_file.h"

namespace tilewright::gguf {

struct Architecture {
  std::string_view name;        // general.architecture
  std::string_view model_type;  // of a config.json
  bool turns_rows = false;      // rows of queries and keys lie in pairs
  bool norms_plus_one = false;  // norms are stored with the 1 that the model adds
  bool bias_is_optional = false;
  bool is_gemma_later = false;  // four norms a layer, caps
};

// Raises `Error` "[load_gguf] PATH: ..." that lists the known ones.
const Architecture& architecture_of(const GgufFile& file);

// The name in a folder of a tensor of the file; none where it is no weight of the model.
std::optional<std::string> folder_name(const Architecture& architecture, std::string_view name);

}  // namespace tilewright::gguf
