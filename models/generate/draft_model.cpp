#include "models/generate/draft_model.h"

#include <algorithm>

namespace tilewright {
namespace {

constexpr std::int64_t few_tokens = 16;  // that are read one by one rather than all from the start

}  // namespace

DraftModel::DraftModel(const LanguageModel& model, std::int64_t tokens, const Options& options)
    : model_(model), reader_(model, tokens, options) {}

double DraftModel::compile_for(std::int64_t text_size) {
  held_.clear();
  const std::int64_t size = std::min(text_size, model_.max_positions());
  return reader_.compile_for(size) + reader_.compile_step();
}

std::span<const float> DraftModel::read(std::span<const TokenId> text) {
  const auto size = std::ssize(text);
  auto known = std::ranges::mismatch(held_, text).in1 - held_.begin();
  known = std::min(known, size - 1);
  held_.assign(text.begin(), text.end());
  if (size - known > few_tokens) return reader_.read(text, false);
  std::span<const float> logits;
  for (std::int64_t at = known; at < size; ++at)
    logits = reader_.append(text[static_cast<std::size_t>(at)], at);
  return logits;
}

std::vector<TokenId> DraftModel::guess(std::span<const TokenId> text, std::int64_t count) {
  if (std::ssize(text) + count > model_.max_positions()) return {};
  std::vector<TokenId> guesses;
  std::span<const float> logits = read(text);
  for (;;) {
    guesses.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
    if (std::ssize(guesses) == count) return guesses;
    logits = reader_.append(guesses.back(), std::ssize(held_));
    held_.push_back(guesses.back());
  }
}

}  // namespace tilewright
