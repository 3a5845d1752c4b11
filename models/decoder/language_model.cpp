#include "models/decoder/language_model.h"

#include <algorithm>

#include "models/decoder/decoder.h"
#include "runtime/base/error.h"

namespace tilewright {

LanguageModel::LanguageModel(std::string model, const ModelOptions& options, std::int64_t positions,
                             std::int64_t row_elements)
    : model_(std::move(model)),
      batch_(options.batch),
      max_positions_(options.max_positions.value_or(positions)) {
  require(batch_ > 0 && max_positions_ > 0 && max_positions_ <= positions, "[", model_,
          "] a cache for ", batch_, " sequences of ", max_positions_, " positions; the model has ",
          positions, " positions");
  std::int64_t bytes = 16;  // a key and a value of the widest element
  for (std::int64_t size : {row_elements, max_positions_, batch_})
    require(!__builtin_mul_overflow(bytes, size, &bytes), "[", model_, "] a cache for ", batch_,
            " sequences of ", max_positions_, " positions has more than 2^63 bytes");
}

Tensor LanguageModel::checked_rows(const Tensor& ids, const Tensor& position) {
  require(ids.rank() == 2 && ids.size(0) == batch_ && is_integer(ids.dtype()), "[", model_,
          "] ids are ", ids.dtype(), " ", ids.shape(), "; integers of ", batch_,
          " x rows are needed");
  require(ids.size(1) >= 1 && ids.size(1) <= max_positions_, "[", model_, "] ", ids.size(1),
          " rows at once; from 1 to ", max_positions_, " are allowed");
  require(position.shape() == Shape{1} && position.dtype() == i64, "[", model_, "] position is ",
          position.dtype(), " ", position.shape(), "; one i64 is needed");
  return hidden_rows(ids, position);
}

Tensor LanguageModel::forward(const Tensor& ids, const Tensor& position) {
  return logits(checked_rows(ids, position));
}

Tensor LanguageModel::forward_last(const Tensor& ids, const Tensor& position) {
  Tensor x = checked_rows(ids, position);
  return logits(x.select(1, x.size(1) - 1));
}

std::unique_ptr<LanguageModel> load_model(const std::filesystem::path& folder,
                                          ModelOptions options) {
  return load_decoder(folder, std::move(options));
}

std::unique_ptr<LanguageModel> random_model(std::string_view name, std::uint64_t seed,
                                            ModelOptions options) {
  auto names = decoder_config_names();
  if (std::ranges::find(names, name) == names.end()) return nullptr;
  return random_decoder(decoder_config(name), seed, std::move(options));
}

}  // namespace tilewright
