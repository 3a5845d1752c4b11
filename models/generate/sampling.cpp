#include "models/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

std::size_t greatest(std::span<const float> logits) {
  require(!logits.empty(), "[sample] there are no logits");
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) raise_error(concat("[sample] logit ", i, " is NaN"));
    if (logits[i] > logits[best]) best = i;
  }
  return best;
}

}  // namespace

bool SamplingOptions::is_plain() const {
  return temperature == 0 && repetition_penalty == 1 && presence_penalty == 0 &&
         frequency_penalty == 0 && logit_bias.empty();
}

Sampler::Sampler(const SamplingOptions& options, std::uint64_t stream)
    : options_(options), random_(options.seed, stream) {
  require(std::isfinite(options.temperature) && options.temperature >= 0,
          "[sample] temperature is ", options.temperature, "; 0 (greedy) or more is allowed");
  require(options.top_k >= 0, "[sample] top_k is ", options.top_k, "; 0 (all) or more is allowed");
  require(options.top_p > 0 && options.top_p <= 1, "[sample] top_p is ", options.top_p,
          "; above 0 and up to 1 is allowed");
  require(options.min_p >= 0 && options.min_p <= 1, "[sample] min_p is ", options.min_p,
          "; from 0 (all tokens) to 1 is allowed");
  require(std::isfinite(options.repetition_penalty) && options.repetition_penalty > 0,
          "[sample] repetition_penalty is ", options.repetition_penalty,
          "; a number above 0 is allowed, 1 for none");
  require(std::isfinite(options.presence_penalty) && std::isfinite(options.frequency_penalty),
          "[sample] presence_penalty is ", options.presence_penalty, " and frequency_penalty ",
          options.frequency_penalty, "; finite numbers are allowed");
  for (const auto& [id, bias] : options.logit_bias)
    require(id >= 0 && !std::isnan(bias), "[sample] the bias of token ", id, " is ", bias,
            "; ids from 0 on and numbers are allowed");
}

void Sampler::see_prompt(std::span<const TokenId> ids) {
  for (TokenId id : ids) occurrences_.try_emplace(id, 0);
}
void Sampler::see(TokenId id) { ++occurrences_[id]; }

// The logits after biases, penalties and the mask.
std::span<const float> Sampler::changed(std::span<const float> logits,
                                        std::span<const std::uint8_t> allowed) {
  const SamplingOptions& o = options_;
  const bool has_penalties =
      o.repetition_penalty != 1 || o.presence_penalty != 0 || o.frequency_penalty != 0;
  if (o.logit_bias.empty() && !has_penalties && allowed.empty()) return logits;
  scores_.assign(logits.begin(), logits.end());
  auto change = [&](TokenId id, auto next) {
    const auto at = static_cast<std::size_t>(id);
    if (at < scores_.size()) scores_[at] = static_cast<float>(next(double{scores_[at]}));
  };
  for (const auto& [id, bias] : o.logit_bias)
    change(id, [&](double score) { return score + bias; });
  if (has_penalties)
    for (const auto& [id, count] : occurrences_)
      change(id, [&](double score) {
        score = score > 0 ? score / o.repetition_penalty : score * o.repetition_penalty;
        return count == 0
                   ? score
                   : score - o.presence_penalty - o.frequency_penalty * static_cast<double>(count);
      });
  if (allowed.empty()) return scores_;
  require(allowed.size() == scores_.size(), "[sample] a mask of ", allowed.size(),
          " tokens; there are ", scores_.size());
  for (std::size_t i = 0; i < scores_.size(); ++i)
    if (allowed[i] == 0) scores_[i] = -std::numeric_limits<float>::infinity();
  return scores_;
}

TokenId Sampler::choose(std::span<const float> logits, std::span<const std::uint8_t> allowed) {
  logits = changed(logits, allowed);
  std::size_t best = greatest(logits);
  require(logits[best] != -std::numeric_limits<float>::infinity() || allowed.empty(),
          "[sample] no token is allowed after those so far; a mask must leave one at least");
  if (options_.temperature == 0 || !std::isfinite(logits[best])) return static_cast<TokenId>(best);
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i)
    candidates_.push_back({logits[i], static_cast<TokenId>(i)});
  std::swap(candidates_.front(), candidates_[best]);
  keep_top_k();
  return draw();
}

// Leaves the k greatest, the greatest of all in front; of equal logits the lower ids.
void Sampler::keep_top_k() {
  auto is_before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  auto k = static_cast<std::size_t>(options_.top_k);
  if (k > 0 && k < candidates_.size()) {
    auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(k);
    std::nth_element(candidates_.begin(), end - 1, candidates_.end(), is_before);
    candidates_.erase(end, candidates_.end());
  }
  if (options_.top_p < 1 || k > 0) std::sort(candidates_.begin(), candidates_.end(), is_before);
}

TokenId Sampler::draw() {
  double total = 0, greatest = candidates_.front().logit;
  weights_.clear();
  for (const Candidate& candidate : candidates_) {
    weights_.push_back(std::exp((candidate.logit - greatest) / options_.temperature));
    total += weights_.back();
  }
  if (options_.top_p < 1) {
    double kept = 0, wanted = options_.top_p * total;
    std::size_t count = 0;
    while (count < weights_.size() && kept < wanted) kept += weights_[count++];
    weights_.resize(std::max<std::size_t>(count, 1));
    total = kept;
  }
  if (options_.min_p > 0) {
    // The greatest weight is 1. Candidates need not be sorted here.
    total = 0;
    for (double& weight : weights_) {
      if (weight < options_.min_p) weight = 0;
      total += weight;
    }
  }
  double point = random_.uniform() * total;
  std::size_t chosen = 0;
  while (chosen + 1 < weights_.size() && point >= weights_[chosen]) point -= weights_[chosen++];
  while (weights_[chosen] == 0 && chosen > 0) --chosen;  // where rounding has left a bit of `point`
  return candidates_[chosen].id;
}

}  // namespace tilewright
