// Choosing the next token from logits.
//
// The rules are applied in this order: biases, the penalties of repetition, presence and frequency,
// the mask of allowed tokens, temperature, top-k, top-p, min-p. Hugging Face's order is the same.
// With a temperature of 0 the choice is the greatest of the logits that the rules have left, the
// first of equals, and nothing is random.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "models/layers/random.h"
#include "models/tokenizer/tokenizer.h"

namespace tilewright {

struct SamplingOptions {
  double temperature = 0;  // 0: greedy
  std::int64_t top_k = 0;  // only the k most likely tokens; 0: all
  double top_p = 1;        // only the most likely tokens that together reach this probability
  double min_p = 0;        // only tokens with this share of the likeliest one's probability
  // Positive logits of tokens in the prompt or behind it are divided by this, negative ones are
  // multiplied by it; 1: none.
  double repetition_penalty = 1;
  // Subtracted from the logits of tokens behind the prompt: once, and once for each occurrence.
  double presence_penalty = 0, frequency_penalty = 0;
  std::map<TokenId, double> logit_bias = {};  // added to logits
  std::uint64_t seed = 0;

  // True if only the greatest of the model's own logits is asked for.
  bool is_plain() const;
};

// Which tokens may come next: 1 or 0 for each token of the tokenizer.
using AllowedTokens = std::vector<std::uint8_t>;

class Sampler {
 public:
  // Samplers of one seed draw independently if their streams differ. Raises `Error` for options
  // outside their ranges.
  explicit Sampler(const SamplingOptions& options, std::uint64_t stream = 0);
  // Tokens of the text so far, for the penalties.
  void see_prompt(std::span<const TokenId> ids);
  void see(TokenId id);  // behind the prompt
  // `allowed` is of the logits' size, or empty: all tokens. Raises `Error` where a logit is NaN,
  // and where no token is allowed. Takes time in proportion to the vocabulary, and n log n of the
  // tokens that top-k leaves where top_p is below 1.
  TokenId choose(std::span<const float> logits, std::span<const std::uint8_t> allowed = {});

 private:
  struct Candidate {
    float logit;
    TokenId id;
  };
  std::span<const float> changed(std::span<const float> logits,
                                 std::span<const std::uint8_t> allowed);
  void keep_top_k();
  TokenId draw();

  SamplingOptions options_;
  RandomStream random_;
  std::map<TokenId, std::int64_t> occurrences_;  // of tokens seen; those of the prompt alone: 0
  std::vector<float> scores_;                    // logits that the rules have changed
  std::vector<Candidate> candidates_;
  std::vector<double> weights_;
};

}  // namespace tilewright
