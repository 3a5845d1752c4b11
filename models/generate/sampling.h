// Choosing the next token from logits.
//
// The rules are applied in the order temperature, top-k, top-p, as Hugging Face does. With a
// temperature of 0 the choice is the greatest logit, the first of equals, and nothing is random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/layers/random.h"
#include "models/tokenizer/tokenizer.h"

namespace tilewright {

struct SamplingOptions {
  double temperature = 0;  // 0: greedy
  std::int64_t top_k = 0;  // only the k most likely tokens; 0: all
  double top_p = 1;        // only the most likely tokens that together reach this probability
  std::uint64_t seed = 0;
};

class Sampler {
 public:
  // Raises `Error` for options outside their ranges.
  explicit Sampler(const SamplingOptions& options);
  // Raises `Error` where a logit is NaN. Takes time in proportion to the vocabulary, and n log n
  // of the tokens that top-k leaves where top_p is below 1.
  TokenId choose(std::span<const float> logits);

 private:
  struct Candidate {
    float logit;
    TokenId id;
  };
  void keep_top_k();
  TokenId draw();

  SamplingOptions options_;
  RandomStream random_;
  std::vector<Candidate> candidates_;
  std::vector<double> weights_;
};

}  // namespace tilewright
