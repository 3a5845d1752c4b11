#include "models/generate/sampling.h"

#include <algorithm>
#include <cmath>

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

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_(options.seed) {
  require(std::isfinite(options.temperature) && options.temperature >= 0,
          "[sample] temperature is ", options.temperature, "; 0 (greedy) or more is allowed");
  require(options.top_k >= 0, "[sample] top_k is ", options.top_k, "; 0 (all) or more is allowed");
  require(options.top_p > 0 && options.top_p <= 1, "[sample] top_p is ", options.top_p,
          "; above 0 and up to 1 is allowed");
}

TokenId Sampler::choose(std::span<const float> logits) {
  std::size_t best = greatest(logits);
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
  double point = random_.uniform() * total;
  std::size_t chosen = 0;
  while (chosen + 1 < weights_.size() && point >= weights_[chosen]) point -= weights_[chosen++];
  return candidates_[chosen].id;
}

}  // namespace tilewright
