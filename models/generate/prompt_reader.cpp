#include "models/generate/prompt_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "models/files/reader.h"
#include "models/generate/step_options.h"
#include "models/generate/stopwatch.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// Greatest first.
constexpr std::array<std::size_t, 3> piece_sizes = {PromptReader::most_rows_a_call, 16, 1};

std::size_t piece_of(std::size_t rest) {
  return *std::find_if(piece_sizes.begin(), piece_sizes.end(),
                       [&](std::size_t size) { return size <= rest; });
}

// Rows of `text` in whole pieces that `held` began with, too, without the last piece of `text`.
std::size_t common_rows(std::span<const TokenId> held, std::span<const TokenId> text) {
  const auto equal = static_cast<std::size_t>(std::ranges::mismatch(held, text).in1 - held.begin());
  std::size_t rows = 0;
  while (rows < text.size()) {
    const std::size_t size = piece_of(text.size() - rows);
    const bool is_held = rows + size <= equal && piece_of(held.size() - rows) == size;
    if (!is_held || rows + size == text.size()) break;
    rows += size;
  }
  return rows;
}

}  // namespace

PromptReader::PromptReader(const LanguageModel& model, std::int64_t tokens, const Options& options,
                           std::shared_ptr<PagePool> pages)
    : model_(model),
      tokens_(tokens),
      state_(pages ? model.new_state(1, std::move(pages)) : model.new_state()),
      step_(compile(
          [&model, state = state_.get()](const Tensor& ids, const Tensor& position) {
            return model.decode_last(ids, position, *state);
          },
          of_few_sizes(options))),
      all_(compile(
          [&model, state = state_.get()](const Tensor& ids, const Tensor& position) {
            return model.decode(ids, position, *state);
          },
          options)),
      position_(Tensor::scalar<std::int64_t>(0).reshape({1})) {
  for (std::size_t size : piece_sizes)
    ids_[size] =
        Tensor::from(std::vector<std::int64_t>(size, 0), {1, static_cast<std::int64_t>(size)});
}

void PromptReader::require_adapter(const std::string& adapter) const {
  const TextAdapters* texts = std::as_const(*state_).adapters();
  require(texts != nullptr || adapter.empty(), "[generate] adapter \"", json::excerpt(adapter),
          "\" is asked for of a model without a bank of adapters; call adapters() of the model "
          "before its generator is made");
  if (texts != nullptr) texts->require_known(adapter);
}

void PromptReader::choose(const std::string& adapter) {
  require_adapter(adapter);
  TextAdapters* texts = state_->adapters();
  if (texts == nullptr) return;
  texts->choose(0, adapter);
  if (texts->contents(0) != held_contents_) forget();
}

void PromptReader::choose_of(const TextAdapters* others, std::int64_t text) {
  if (others == nullptr) return;
  state_->adapters()->copy(0, *others, text);
  if (state_->adapters()->contents(0) != held_contents_) forget();
}

void PromptReader::clear() {
  forget();
  state_->cut(0, 0);
}

std::span<const float> PromptReader::run(std::span<const TokenId> ids, std::int64_t position) {
  Tensor& input = ids_.at(ids.size());
  std::ranges::copy(ids, static_cast<std::int64_t*>(input.data()));
  *static_cast<std::int64_t*>(position_.data()) = position;
  state_->prepare(0, position, std::ssize(ids));
  const auto reading = state_->reading_adapters();
  logits_ = step_(input, position_);
  // A model may know more ids than the tokenizer has, for round sizes: those are no tokens.
  return {static_cast<const float*>(logits_.data()), static_cast<std::size_t>(tokens_)};
}

std::span<const float> PromptReader::read(std::span<const TokenId> text, bool reuses,
                                          const Cancellation& cancel) {
  // Where the length of a text decides how it is read, what is held may be of another length.
  const bool may_reuse = reuses && !model_.reread_beyond();
  std::size_t done = may_reuse ? common_rows(held_, text) : 0;
  if (!state_->holds(0, static_cast<std::int64_t>(done))) done = 0;
  reused_rows_ = static_cast<std::int64_t>(done);
  held_.clear();
  state_->cut(0, reused_rows_);
  const std::uint64_t contents = state_->adapters() ? state_->adapters()->contents(0) : 0;
  state_->expect(std::ssize(text));
  std::span<const float> logits;
  while (done < text.size()) {
    if (cancel.stop_requested()) return {};
    const std::size_t size = piece_of(text.size() - done);
    logits = run(text.subspan(done, size), static_cast<std::int64_t>(done));
    done += size;
  }
  held_.assign(text.begin(), text.end());
  held_contents_ = contents;
  state_->expect(0);  // from here on a row's position says how long the text is
  return logits;
}

std::span<const float> PromptReader::append(TokenId id, std::int64_t position) {
  return run(std::span(&id, 1), position);
}

std::vector<std::span<const float>> PromptReader::append_all(std::span<const TokenId> ids,
                                                             std::int64_t position) {
  const auto count = std::ssize(ids);
  Tensor& input =
      ids_.try_emplace(ids.size(), Tensor::from(std::vector<std::int64_t>(ids.size()), {1, count}))
          .first->second;
  std::ranges::copy(ids, static_cast<std::int64_t*>(input.data()));
  *static_cast<std::int64_t*>(position_.data()) = position;
  state_->prepare(0, position, count);
  const auto reading = state_->reading_adapters();
  logits_ = all_(input, position_);
  const auto* first = static_cast<const float*>(logits_.data());
  std::vector<std::span<const float>> rows;
  for (std::int64_t row = 0; row < count; ++row)
    rows.emplace_back(first + row * logits_.size(2), static_cast<std::size_t>(tokens_));
  return rows;
}

double PromptReader::compile_append_all(std::int64_t count) {
  if (std::exchange(appends_[static_cast<std::size_t>(count)], true)) return 0;
  held_.clear();
  Stopwatch watch;
  append_all(std::vector<TokenId>(static_cast<std::size_t>(count), 0), 0);
  return watch.seconds();
}

// Runs a size once at position 0. Its leftovers in the cache are overwritten by the prompt, or lie
// after its end and are overwritten before they are read.
double PromptReader::compile_piece(std::size_t size) {
  if (std::exchange(is_compiled_[size], true)) return 0;
  held_.clear();
  Stopwatch watch;
  run(std::vector<TokenId>(size, 0), 0);
  return watch.seconds();
}

double PromptReader::compile_for(std::int64_t text_size) {
  double seconds = 0;
  for (auto rest = static_cast<std::size_t>(text_size); rest > 0; rest -= piece_of(rest))
    seconds += compile_piece(piece_of(rest));
  return seconds;
}

double PromptReader::compile_up_to(std::int64_t text_size) {
  double seconds = 0;
  for (std::size_t size : piece_sizes)
    if (size <= static_cast<std::size_t>(text_size)) seconds += compile_piece(size);
  return seconds;
}

}  // namespace tilewright
