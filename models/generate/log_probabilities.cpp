#include "models/generate/log_probabilities.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/error.h"

namespace tilewright {

double log_sum_exp(std::span<const float> logits) {
  require(!logits.empty(), "[log_sum_exp] there are no logits; one at least is needed");
  const double greatest = *std::ranges::max_element(logits);
  if (!std::isfinite(greatest)) return greatest;
  double total = 0;
  for (float logit : logits) total += std::exp(logit - greatest);
  return greatest + std::log(total);
}

TokenLogprob log_probability(std::span<const float> logits, TokenId id, std::int64_t top) {
  require(id >= 0 && id < std::ssize(logits), "[log_probability] token ", id, " of ", logits.size(),
          "; ids are from 0 to below that");
  const double total = log_sum_exp(logits);
  auto of = [&](TokenId token) { return logits[static_cast<std::size_t>(token)] - total; };
  TokenLogprob result{id, of(id), {}};
  if (top == 0) return result;
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto count = std::min<std::ptrdiff_t>(top, std::ssize(ids));
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](TokenId a, TokenId b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  for (std::ptrdiff_t i = 0; i < count; ++i)
    result.top.push_back({ids[static_cast<std::size_t>(i)], of(ids[static_cast<std::size_t>(i)])});
  return result;
}

}  // namespace tilewright
