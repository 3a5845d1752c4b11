#include "models/decoder/model_weights.h"

#include "models/files/config_fields.h"
#include "models/files/model_file.h"
#include "models/formats/quantised_folder.h"
#include "models/formats/stored_parts.h"
#include "models/gguf/gguf_model.h"

namespace tilewright {

Weights model_weights(const std::filesystem::path& folder, bool links_may_leave) {
  if (gguf::is_gguf(folder)) return gguf::weights_of(gguf::GgufFile::open(folder));
  auto file = open_model_file(folder, "config.json", formats::formats_operation,
                              {.links_may_leave = links_may_leave});
  std::string text = file->text(max_config_bytes, formats::formats_operation);
  return dequantised_weights(Weights::open(folder, {.links_may_leave = links_may_leave}),
                             ConfigFields(text, formats::formats_operation, file->name()));
}

}  // namespace tilewright
