#include "models/generate/continuation.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"

namespace tilewright {

bool GenerateOptions::is_plain_greedy() const {
  return sampling.is_plain() && min_new_tokens == 0 && !logprobs && !mask;
}

double Generation::decode_tokens_per_s() const {
  return decode_s > 0 ? static_cast<double>(decode_steps) / decode_s : 0;
}

std::span<const TokenId> Generation::new_ids() const {
  return std::span(ids).subspan(prompt_ids.size());
}

std::string_view name_of(Finish finish) {
  switch (finish) {
    case Finish::length: return "length";
    case Finish::stop: return "stop";
    case Finish::cancelled: return "cancelled";
  }
  __builtin_unreachable();
}

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  for (const std::string& string : strings_)
    require(!string.empty(), "[generate] a stop string is empty; it must have a character");
}

std::string StopStrings::push(std::string_view text) {
  if (has_stopped_) return {};
  held_ += text;
  std::size_t first = held_.npos;
  for (const std::string& string : strings_) first = std::min(first, held_.find(string));
  if (first != held_.npos) {
    has_stopped_ = true;
    return std::exchange(held_, {}).substr(0, first);
  }
  // The longest end that begins a stop string.
  std::size_t kept = 0;
  for (const std::string& string : strings_)
    for (std::size_t size = std::min(string.size() - 1, held_.size()); size > kept; --size)
      if (std::string_view(held_).ends_with(std::string_view(string).substr(0, size))) kept = size;
  std::string certain = held_.substr(0, held_.size() - kept);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

Continuation::Continuation(const Tokenizer& tokenizer, const GenerateOptions& options,
                           std::vector<TokenId> prompt, std::int64_t limit,
                           std::vector<TokenId> stops, std::uint64_t stream)
    : tokenizer_(tokenizer),
      options_(options),
      prompt_size_(std::ssize(prompt)),
      limit_(limit),
      stops_(std::move(stops)),
      sampler_(options.sampling, stream),
      stream_(tokenizer),
      strings_(options.stop) {
  result.prompt_ids = result.ids = std::move(prompt);
  sampler_.see_prompt(result.ids);
  for (TokenId id : result.ids) result.text += stream_.push(id);
}

void Continuation::emit(std::string_view text) {
  const std::string certain = strings_.push(text);
  result.text += certain;
  result.new_text += certain;
  certain_ += certain;
}

void Continuation::end(Finish finish) {
  has_ended_ = true;
  emit(stream_.finish());
  if (strings_.has_stopped()) finish = Finish::stop;
  const std::string rest = strings_.finish();
  result.text += rest;
  result.new_text += rest;
  certain_ += rest;
  result.finish = finish;
}

void Continuation::advance(std::span<const float> logits) {
  check(!has_ended_, "a text that has ended goes on");
  if (options_.first_logits && new_tokens() == 0)
    result.first_logits.assign(logits.begin(), logits.end());
  const bool may_stop = new_tokens() >= options_.min_new_tokens;
  allowed_.clear();
  if (options_.mask || !may_stop) allowed_.assign(logits.size(), 1);
  if (options_.mask) options_.mask(result.new_ids(), allowed_);
  if (!may_stop)
    for (TokenId stop : stops_)
      if (stop >= 0 && stop < std::ssize(allowed_)) allowed_[static_cast<std::size_t>(stop)] = 0;
  const TokenId id = sampler_.choose(logits, allowed_);
  const bool is_stop = std::ranges::find(stops_, id) != stops_.end();
  if (options_.logprobs && !is_stop)
    result.logprobs.push_back(log_probability(logits, id, *options_.logprobs));
  push(id);
}

void Continuation::push(TokenId id) {
  if (std::ranges::find(stops_, id) != stops_.end()) return end(Finish::stop);
  result.ids.push_back(id);
  sampler_.see(id);
  emit(stream_.push(id));
  if (strings_.has_stopped()) return end(Finish::stop);
  if (std::ssize(result.ids) >= limit_) end(Finish::length);
}

void Continuation::cancel() {
  if (!has_ended_) end(Finish::cancelled);
}

std::string Continuation::take_text() { return std::exchange(certain_, {}); }

const TokenLogprob* Continuation::last_logprob() const {
  return result.logprobs.empty() ? nullptr : &result.logprobs.back();
}

}  // namespace tilewright
