// Generation: a prompt in, a model's continuation out, token by token.
//
// The prompt goes through the model in pieces of a few fixed sizes (prompt_reader.h), and then
// every token is one step of size 1, so that a model of any prompt length compiles at most as many
// programs as there are sizes. Programs are compiled before the clock of prefill and decode starts,
// or all of them in advance by `warm_up`, so that a conversation does not wait for the compiler
// when it gets longer.
//
// Several texts are decoded together (decoding_batch.h), whatever the lengths of their prompts:
// each prompt is read alone, and takes the place of a text that has ended.
//
// A GPU would wait for the host at every token that the host chooses. Greedy decoding therefore
// takes several steps a round there; each step chooses on the device (greedy_steps.h). The ids are
// the same; text arrives a round at a time.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/compile/compile.h"
#include "models/decoder/language_model.h"
#include "models/generate/continuation.h"
#include "models/generate/decoding_batch.h"
#include "models/generate/draft_model.h"
#include "models/generate/generate_options.h"
#include "models/generate/greedy_steps.h"
#include "models/generate/prompt_reader.h"
#include "models/tokenizer/tokenizer.h"
#include "runtime/owned.h"

namespace tilewright {

// A model made ready to generate, with the state of one text, and of as many as are decoded
// together. One generation at a time: another one meanwhile, on another thread or from a callback,
// is an Error. Any number of generators share a model, which must outlive them, each on a thread of
// its own: one more takes the memory of its cache and finds the kernels compiled.
class TextGenerator {
 public:
  // Raises `Error` unless model and tokenizer fit, and for bad options. With `pages`
  // (LanguageModel::new_pages) texts take memory as they grow, and copies of a prompt share its
  // pages; a text that has too few raises `Error`, but where texts are decoded together, it waits
  // for others to end.
  TextGenerator(const LanguageModel& model, Tokenizer tokenizer, Options options = {},
                std::shared_ptr<PagePool> pages = nullptr);
  Generation generate(std::string_view prompt, const GenerateOptions& options = {});
  // `n` continuations of each prompt, in their order; a prompt's are the same as alone.
  std::vector<Generation> generate_all(const std::vector<std::string>& prompts,
                                       const GenerateOptions& options = {});
  // Compiles everything that texts of up to so many tokens need with these options, prompts of any
  // length included; not what decodes texts together. Returns the seconds that it took: 0 if
  // everything was compiled before.
  double warm_up(std::int64_t tokens, const GenerateOptions& options = {});
  // From now on this smaller model of the same tokens guesses the `drafts.tokens` next ones,
  // instead of a look-up in the text; null: none. It must outlive this. An Error if it lacks
  // tokens.
  void set_draft_model(const LanguageModel* model);
  const CompiledFunction& compiled() const { return reader_.compiled(); }  // for reports

 private:
  // The generator for the length of a call, with its state where the model is.
  class Turn {
   public:
    // Pages of what was read are kept where the next call may reuse it.
    explicit Turn(TextGenerator& generator, bool keeps_prefix = false);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    void give_pages_back();
    TextGenerator& generator_;
    bool keeps_prefix_;
  };
  class Together;
  void require_options(const GenerateOptions& options) const;
  Continuation text_of(std::string_view prompt, const GenerateOptions& options,
                       std::uint64_t stream = 0) const;
  // The tokens that a text has at the most, its prompt included.
  std::int64_t last_token(const GenerateOptions& options, std::int64_t prompt_size) const;
  std::int64_t steps_a_round(const GenerateOptions& options) const;
  bool checks_drafts(const GenerateOptions& options) const;
  bool is_read_again(const Continuation& text) const;
  double compile_rounds(std::int64_t steps);
  double compile_drafts(std::int64_t text_size, const GenerateOptions& options);
  DecodingBatch& batch_of(std::int64_t size);
  // The next logits of a text, the only one.
  std::span<const float> following(const Continuation& text);
  void decode(Continuation& text, std::span<const float> logits, std::int64_t steps,
              const GenerateOptions& options);
  void decode_rounds(Continuation& text, std::int64_t steps, const GenerateOptions& options);
  std::vector<TokenId> guesses(const Continuation& text, const GenerateOptions& options);
  // Checks guesses, as options.drafts say.
  void decode_drafts(Continuation& text, const GenerateOptions& options);
  void advance(Continuation& text, std::span<const float> logits, const GenerateOptions& options);
  std::vector<Generation> search(std::string_view prompt, const GenerateOptions& options);

  const LanguageModel& model_;
  Tokenizer tokenizer_;
  Options options_;
  std::shared_ptr<PagePool> pages_;  // null: each text has memory for all positions
  PromptReader reader_;
  std::atomic<bool> is_generating_ = false;
  Owned<GreedySteps> greedy_;   // of the latest number of steps a round
  Owned<DecodingBatch> batch_;  // of the latest size
  Owned<DraftModel> draft_;     // if there is one
};

}  // namespace tilewright
