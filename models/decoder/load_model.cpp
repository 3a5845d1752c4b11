#include "models/decoder/load_model.h"

#include <algorithm>

#include "models/decoder/decoder.h"
#include "models/gguf/gguf_model.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright {

std::unique_ptr<LanguageModel> load_model(const FilePath& folder, ModelOptions options) {
  return while_doing({"load_model", "loading weights of", folder.string()},
                     [&] { return load_decoder(folder, std::move(options)); });
}

Tokenizer load_tokenizer(const FilePath& folder, TokenizerOptions options) {
  if (!gguf::is_gguf(folder)) return Tokenizer::open(folder / "tokenizer.json", options);
  auto file = gguf::GgufFile::open(folder);
  return Tokenizer::parse(gguf::tokenizer_json(*file), file->name());
}

std::unique_ptr<LanguageModel> random_model(std::string_view name, std::uint64_t seed,
                                            ModelOptions options) {
  auto names = decoder_config_names();
  if (std::ranges::find(names, name) == names.end()) return nullptr;
  return random_decoder(decoder_config(name), seed, std::move(options));
}

}  // namespace tilewright
