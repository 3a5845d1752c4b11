// Reading a text up to its last logits, in pieces of a few fixed sizes. Each size is a program, so
// that texts of any length need at most as many as there are sizes; and a text is always cut in the
// same way, so that its numbers are the same whenever it is read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "models/decoder/language_model.h"
#include "models/generate/cancellation.h"
#include "models/tokenizer/tokenizer.h"
#include "runtime/owned.h"

namespace tilewright {

class PromptReader {
 public:
  // `tokens`: logits are of the first so many of the model's vocabulary. The text lies in `pages`,
  // unless they are null. The model must outlive this.
  PromptReader(const LanguageModel& model, std::int64_t tokens, const Options& options,
               std::shared_ptr<PagePool> pages = nullptr);

  DecodingState& state() { return *state_; }  // of one text
  void forget() { held_.clear(); }            // others have written to the state
  // Gives up what was read, and its pages.
  void clear();
  static constexpr std::int64_t most_rows_a_call = 128;
  // The text that is read next has this adapter of the model's bank, none by an empty name. Both
  // raise `Error` for a name that is not there, or where the model had no bank when this was made.
  void choose(const std::string& adapter);
  // The adapter of a text of `others`, which may be null: none.
  void choose_of(const TextAdapters* others, std::int64_t text);
  void require_adapter(const std::string& adapter) const;
  const CompiledFunction& compiled() const { return step_; }

  // Reads the text from its beginning and returns the logits behind it, which stay until the next
  // call. Where `reuses`, pieces with which the text before began, too, are not read again: the
  // model must not have changed since. An empty result: `cancel` was asked for between two pieces.
  std::span<const float> read(std::span<const TokenId> text, bool reuses,
                              const Cancellation& cancel = {});
  // Rows of the last text that were not read again.
  std::int64_t reused_rows() const { return reused_rows_; }
  // Reads token `id` at `position`, behind what was read, and returns the logits behind it.
  std::span<const float> append(TokenId id, std::int64_t position);

  // Likewise for several tokens in one call: the logits behind each. So many at a time are a
  // program.
  std::vector<std::span<const float>> append_all(std::span<const TokenId> ids,
                                                 std::int64_t position);

  // Compile what is not compiled yet; return the seconds that it took.
  double compile_for(std::int64_t text_size);
  double compile_up_to(std::int64_t text_size);  // and for all shorter texts
  double compile_step() { return compile_piece(1); }
  double compile_append_all(std::int64_t count);

 private:
  double compile_piece(std::size_t size);
  std::span<const float> run(std::span<const TokenId> ids, std::int64_t position);

  const LanguageModel& model_;
  std::int64_t tokens_;
  Owned<DecodingState> state_;
  Compiled step_, all_;                      // logits of the last row, and of all
  Tensor position_;                          // i64 [1]; where it lies is part of recorded launches
  std::map<std::size_t, Tensor> ids_;        // by piece size, i64 [1, size]
  std::map<std::size_t, bool> is_compiled_;  // by piece size
  std::map<std::size_t, bool> appends_;      // compiled, by the number of tokens
  Tensor logits_;                            // of the last run
  std::vector<TokenId> held_;                // the text whose pieces the state holds
  std::uint64_t held_contents_ = 0;          // of the adapter that it was read with
  std::int64_t reused_rows_ = 0;
};

}  // namespace tilewright
