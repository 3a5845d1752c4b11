// Generation: a prompt in, a model's continuation out, token by token.
//
// The prompt goes through the model in pieces of a few fixed sizes, and then every token is one
// step of size 1, so that a model of any prompt length compiles at most as many programs as there
// are sizes. Programs are compiled before the clock of prefill and decode starts, or all of them in
// advance by `warm_up`, so that a conversation does not wait for the compiler when it gets longer.
//
// A GPU would wait for the host at every token that the host chooses. Greedy decoding therefore
// takes several steps a round there; each step chooses on the device (greedy_steps.h). The ids are
// the same; text arrives a round at a time.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/compile/compile.h"
#include "models/decoder/language_model.h"
#include "models/generate/greedy_steps.h"
#include "models/generate/sampling.h"
#include "models/tokenizer/tokenizer.h"

namespace tilewright {

struct GenerateOptions {
  // New tokens at the most, as transformers' max_new_tokens. The text also ends where the model has
  // no further position.
  std::int64_t max_tokens = 256;
  SamplingOptions sampling;
  // How many steps the device makes without the host, choosing tokens itself. More than 1 only for
  // a temperature of 0, since the random numbers are on the host. 0: 8 on a GPU if that is
  // possible, else 1. Always 1 if the model has to read the text again on the way
  // (LanguageModel::reread_beyond).
  std::int64_t steps_a_round = 0;
  std::vector<TokenId> stop_tokens;  // besides the model's own
  // Called with each piece of the continuation's text as it becomes certain, on this thread.
  std::function<void(std::string_view text)> on_text;
};

enum class Finish : std::uint8_t { length, stop };

struct Generation {
  std::vector<TokenId> prompt_ids;
  std::vector<TokenId> ids;  // at every position, the prompt's included; no stop token
  std::string text;          // of all of them
  Finish finish = Finish::length;
  double compile_s = 0;  // the first run of each size that was not compiled before
  double prefill_s = 0;  // the prompt, up to its last logits
  double decode_s = 0;   // the steps after the first generated token
  std::int64_t decode_steps = 0;
  std::int64_t peak_memory_bytes = 0;  // of the process
  double decode_tokens_per_s() const {
    return decode_s > 0 ? static_cast<double>(decode_steps) / decode_s : 0;
  }
};

// A model made ready to generate, with the state of one text. One generation at a time: another one
// meanwhile, on another thread or from `on_text`, is an Error. Any number of generators share a
// model, which must outlive them, each on a thread of its own: one more takes the memory of its
// cache and finds the kernels compiled.
class TextGenerator {
 public:
  // Raises `Error` unless model and tokenizer fit, for a batch above 1, and for bad options.
  TextGenerator(const LanguageModel& model, Tokenizer tokenizer, Options options = {});
  Generation generate(std::string_view prompt, const GenerateOptions& options = {});
  // Compiles everything that texts of up to so many tokens need with these options, prompts of any
  // length included. Returns the seconds that it took: 0 if everything was compiled before.
  double warm_up(std::int64_t tokens, const GenerateOptions& options = {});
  const CompiledFunction& compiled() const { return step_; }  // for reports

 private:
  class Turn;
  std::vector<TokenId> encode(std::string_view prompt, const GenerateOptions& options) const;
  std::vector<TokenId> stops(const GenerateOptions& options) const;
  // The tokens that a text has at the most, its prompt included.
  std::int64_t last_token(const GenerateOptions& options, std::int64_t prompt_size) const;
  std::int64_t steps_a_round(const GenerateOptions& options) const;
  bool is_read_again(const GenerateOptions& options, std::int64_t prompt_size) const;
  double compile_piece(std::size_t size);
  double compile_rounds(std::int64_t steps);
  void compile_for(std::size_t prompt_size, std::int64_t steps, Generation& result);
  // Runs ids[begin, begin + size) and returns the logits of the last of them.
  std::span<const float> run(std::span<const TokenId> ids, std::size_t begin, std::size_t size);
  std::span<const float> prefill(std::span<const TokenId> prompt);
  void decode(std::span<const float> logits, const GenerateOptions& options, std::int64_t steps,
              Generation& result);

  const LanguageModel& model_;
  Tokenizer tokenizer_;
  std::unique_ptr<DecodingState> state_;
  std::atomic<bool> is_generating_ = false;
  Compiled step_;
  Tensor position_;                          // i64 [1]; where it lies is part of recorded launches
  std::map<std::size_t, Tensor> ids_;        // by piece size, i64 [1, size]
  std::map<std::size_t, bool> is_compiled_;  // by piece size
  Tensor logits_;                            // of the last run
  std::unique_ptr<GreedySteps> greedy_;      // of the latest number of steps a round
};

}  // namespace tilewright
