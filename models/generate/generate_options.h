// Options and results of a generation, in the words of transformers and of servers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/generate/cancellation.h"
#include "models/generate/drafts.h"
#include "models/generate/log_probabilities.h"
#include "models/generate/sampling.h"
#include "models/tokenizer/tokenizer.h"

namespace tilewright {

// A token as it is chosen.
struct NewToken {
  std::size_t text = 0;  // index of its text among the results
  TokenId id = 0;
  const TokenLogprob* logprob = nullptr;  // if asked for
};

struct GenerateOptions {
  // New tokens at the most. The text also ends where the model has no further position.
  std::int64_t max_new_tokens = 256;
  std::int64_t min_new_tokens = 0;  // no stop token is chosen before so many
  SamplingOptions sampling = {};
  // Texts for each prompt: samples that differ in their random numbers, or the best beams. More
  // than 1 is for `generate_all`.
  std::int64_t n = 1;
  // Above 1: beam search, which keeps so many texts of the greatest total log-probability. It needs
  // a temperature of 0.
  std::int64_t num_beams = 1;
  // A finished beam counts as its total log-probability over its new tokens to this power.
  double length_penalty = 1;
  // Texts that go through the model together, at the most: 16 where the generator's options are
  // batch invariant. Each has a cache.
  std::int64_t max_batch = 8;
  // How many steps the device makes without the host, choosing tokens itself. More than 1 only for
  // the greatest of the model's logits, since all other rules are on the host. 0: 8 on a GPU if
  // that is possible, else 1. Always 1 if the model has to read the text again on the way
  // (LanguageModel::reread_beyond), and where texts are decoded together.
  std::int64_t steps_a_round = 0;
  // The adapter of the texts, a name of the model's bank (LanguageModel::adapters); empty: none. It
  // must be there when a text begins; a text whose adapter is removed later goes on without.
  std::string adapter = {};
  // Likewise for each prompt of `generate_all`, in place of `adapter`; as many as there are
  // prompts, or none.
  std::vector<std::string> adapters = {};
  std::vector<TokenId> stop_tokens = {};  // besides the model's own
  // The text ends before the first of these strings. The tokens that spell it stay among the ids.
  std::vector<std::string> stop = {};
  // Log-probabilities of the chosen tokens, and of so many of the likeliest at each place. They are
  // those of the model, before any rule of `sampling`.
  std::optional<std::int64_t> logprobs = {};
  bool first_logits = false;  // keep the model's logits behind the prompt
  // Do not read pieces again with which the last prompt of this generator began, too. The model
  // must not have changed since. The results are the same. A generator in pages keeps those of a
  // prompt only if this was asked for then, too.
  bool reuse_prefix = false;
  // Guesses that the model checks several at a time, by `generate` alone. The text is the same but
  // for choices that rounding decides: more than four rows round quantised weights to 16 bits,
  // unless the generator's options are batch invariant. A model that has to read texts again
  // (LanguageModel::reread_beyond) checks none.
  DraftOptions drafts = {};
  // Says which tokens may come next: gets the new tokens of one text so far and a vector of 1, one
  // for each token of the tokenizer, and sets those to 0 that may not. The place for a grammar.
  std::function<void(std::span<const TokenId> new_ids, AllowedTokens& allowed)> mask = {};
  // Called with each piece of the continuation's text as it becomes certain, on this thread; by
  // `generate` alone.
  std::function<void(std::string_view text)> on_text = {};
  std::function<void(const NewToken& token)> on_token = {};  // likewise, with each new token
  // Asked before every step; a stop ends all texts with what they have.
  Cancellation cancel = {};

  // True if tokens are chosen by the model's logits alone, and nothing else is asked about them.
  bool is_plain_greedy() const;
};

enum class Finish : std::uint8_t { length, stop, cancelled };
std::string_view name_of(Finish finish);

struct Generation {
  std::vector<TokenId> prompt_ids;
  std::vector<TokenId> ids;            // at every position, the prompt's included; no stop token
  std::string text;                    // of all of them, up to a stop string
  std::string new_text;                // of the new ones
  std::vector<TokenLogprob> logprobs;  // of the new ones, if asked for
  std::vector<float> first_logits;     // if asked for: of the tokenizer's tokens
  double score = 0;                    // of a beam, as num_beams and length_penalty say
  Finish finish = Finish::length;
  double compile_s = 0;  // the first run of each size that was not compiled before
  double prefill_s = 0;  // the prompt, up to its last logits
  double decode_s = 0;   // the steps after the first generated token
  std::int64_t decode_steps = 0;
  std::int64_t drafted_tokens = 0, accepted_tokens = 0;  // guesses, and those that were right
  std::int64_t reused_rows = 0;        // of the prompt, that the state held from the text before
  std::int64_t peak_memory_bytes = 0;  // of the process
  double decode_tokens_per_s() const;
  std::span<const TokenId> new_ids() const;
};

}  // namespace tilewright
