// Log-probabilities of tokens, from logits: log softmax, in double precision and in the order of
// the ids, so that equal logits give equal bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/tokenizer/tokenizer.h"

namespace tilewright {

struct TokenLogprob {
  TokenId id = 0;
  double logprob = 0;
  struct Likely {
    TokenId id;
    double logprob;
    bool operator==(const Likely&) const = default;
  };
  std::vector<Likely> top;  // the likeliest first, of equals the lower id
  bool operator==(const TokenLogprob&) const = default;
};

// log(sum(exp(logits))).
double log_sum_exp(std::span<const float> logits);
// The log-probability of token `id`, and those of the `top` likeliest ones. Raises `Error` for an
// id outside.
TokenLogprob log_probability(std::span<const float> logits, TokenId id, std::int64_t top);

}  // namespace tilewright
