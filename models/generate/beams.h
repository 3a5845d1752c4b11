// Beam search: the texts of the greatest total log-probability that a search with a few texts at a
// time finds. Its rules are those of transformers (early_stopping=False): each step looks at twice
// as many candidates as there are beams, those that end become hypotheses with their score over
// their length to the power of the penalty, and the search ends once no running beam can beat the
// worst of as many hypotheses as there are beams.
#pragma once

#include <span>
#include <vector>

#include "models/generate/decoding_batch.h"
#include "models/generate/generate_options.h"

namespace tilewright {

struct Hypothesis {
  std::vector<TokenId> new_ids;  // without the token that ended it
  double score = 0;
  bool has_stopped = false;  // at a stop token; else at the limit
};

class BeamSearch {
 public:
  // Searches with `beams` texts in the batch's first places, behind a prompt of `rows` tokens, up
  // to `limit` tokens in all; `tokens` are those of the tokenizer.
  BeamSearch(DecodingBatch& batch, std::int64_t beams, double length_penalty, std::int64_t tokens,
             std::int64_t rows, std::int64_t limit, std::span<const TokenId> stops);

  // `logits` are those behind the prompt, whose rows stand in place 0. Returns as many hypotheses
  // as there are beams, the best first. `cancel` is asked before each step.
  std::vector<Hypothesis> run(std::span<const float> logits, const Cancellation& cancel);
  std::int64_t steps() const { return steps_; }

 private:
  struct Beam {
    std::vector<TokenId> new_ids;
    double total = 0;  // log-probability
    std::int64_t place = 0;
  };
  struct Candidate {
    std::size_t beam;
    TokenId id;
    double total;
  };
  std::vector<Candidate> best_candidates(std::span<const std::span<const float>> logits) const;
  void take(const std::vector<Candidate>& candidates);
  void place_beams(std::vector<Beam>& next, const std::vector<std::size_t>& parents);
  void add(Hypothesis hypothesis);
  bool may_improve() const;
  double score_of(double total, std::size_t new_tokens) const;

  DecodingBatch& batch_;
  std::size_t count_;
  double length_penalty_;
  std::int64_t tokens_, rows_, limit_, steps_ = 0;
  std::span<const TokenId> stops_;
  std::vector<Beam> running_;
  std::vector<Hypothesis> finished_;  // the best first
};

}  // namespace tilewright
