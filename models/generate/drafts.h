// Tokens that may come next, guessed without the model, which reads several of them in one call and
// keeps those that it would have chosen itself. The text is the same, and written in fewer calls
// where guesses are right (look-up in the prompt, a form of speculative decoding).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/tokenizer/tokenizer.h"

namespace tilewright {

struct DraftOptions {
  // One call reads the guesses and the token before them; more rows are pieces of a prompt.
  static constexpr std::int64_t most_tokens = 14;
  std::int64_t tokens = 0;  // guessed at a time, at the most; 0: none
  // A guess is what followed the last occurrence of the text's last tokens: as many of them as
  // possible, up to `longest` and at least `shortest`.
  std::int64_t longest = 3, shortest = 1;
};

// The continuation of the last place in the text where its last tokens stand, too; empty if there
// is none. Time in proportion to the text.
std::vector<TokenId> looked_up(std::span<const TokenId> text, const DraftOptions& options);

}  // namespace tilewright
