#include "models/generate/decoding_batch.h"

#include <utility>

#include "models/generate/prompt_reader.h"
#include "models/generate/step_options.h"
#include "models/generate/stopwatch.h"

namespace tilewright {
namespace {

Tensor zeros_of(const Shape& shape) {
  return Tensor::from(std::vector<std::int64_t>(static_cast<std::size_t>(element_count(shape)), 0),
                      shape);
}
std::int64_t& element(Tensor& tensor, std::int64_t i) {
  return static_cast<std::int64_t*>(tensor.data())[i];
}

}  // namespace

DecodingBatch::DecodingBatch(const LanguageModel& model, std::int64_t size, const Options& options,
                             std::shared_ptr<PagePool> pages)
    : model_(model),
      device_(model.device()),
      state_(pages ? model.new_state(size, std::move(pages)) : model.new_state(size)),
      ids_(zeros_of({size, 1})),
      positions_(zeros_of({size})),
      step_(compile(
          [this](const Tensor& ids, const Tensor& positions) {
            return model_.decode_last(ids, positions, *state_);
          },
          of_few_sizes(options))) {
  clear();
}

void DecodingBatch::put(std::int64_t place, const DecodingState& read, std::int64_t rows) {
  state_->copy_text(place, read, 0, rows);
}

void DecodingBatch::fork(std::int64_t to, std::int64_t from, std::int64_t rows) {
  state_->copy_text(to, *state_, from, rows);
}

void DecodingBatch::clear(std::int64_t place) { state_->rest(place); }

void DecodingBatch::clear() {
  for (std::int64_t place = 0; place < size(); ++place) clear(place);
}

std::int64_t DecodingBatch::pages_of(std::int64_t place) const {
  const TextPages* pages = state_->pages();
  return pages ? pages->pages_of(place) : 0;
}

// It shares what was read, and copies a page of each group of layers to go on.
std::int64_t DecodingBatch::most_pages(std::int64_t rows) const {
  const TextPages* pages = state_->pages();
  if (pages == nullptr) return 0;
  return pages->most_pages(rows, PromptReader::most_rows_a_call) +
         std::ssize(pages->pool()->groups().windows);
}

void DecodingBatch::set(std::int64_t place, TokenId id, std::int64_t position) {
  element(ids_, place) = id;
  element(positions_, place) = position;
}

double DecodingBatch::warm_up() {
  if (logits_.defined()) return 0;
  Stopwatch watch;
  run();
  return watch.seconds();
}

void DecodingBatch::run() {
  for (std::int64_t place = 0; place < size(); ++place)
    if (pages_of(place) > 0) state_->prepare(place, element(positions_, place), 1);
  const auto reading = state_->reading_adapters();
  logits_ = step_(ids_, positions_);
}

std::span<const float> DecodingBatch::logits(std::int64_t place, std::int64_t tokens) const {
  return {static_cast<const float*>(logits_.data()) + place * logits_.size(1),
          static_cast<std::size_t>(tokens)};
}

}  // namespace tilewright
