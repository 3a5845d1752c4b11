// One text as it grows. It takes tokens one by one, chooses the next by the rules of the options,
// and knows how much of the text is certain and when it has ended. It does not see the model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/generate/generate_options.h"

namespace tilewright {

// Holds back the end of a text that may be the beginning of a stop string.
class StopStrings {
 public:
  explicit StopStrings(std::vector<std::string> strings);
  // The text that has become certain. Nothing more comes once a stop string is found.
  std::string push(std::string_view text);
  std::string finish();  // what is held back, where the text ends without a stop string
  bool has_stopped() const { return has_stopped_; }

 private:
  std::vector<std::string> strings_;
  std::string held_;
  bool has_stopped_ = false;
};

class Continuation {
 public:
  // `limit` tokens at the most, the prompt's included; `stops` end the text. `options` outlives
  // this. `stream` is the number of the random numbers' stream.
  Continuation(const Tokenizer& tokenizer, const GenerateOptions& options,
               std::vector<TokenId> prompt, std::int64_t limit, std::vector<TokenId> stops,
               std::uint64_t stream = 0);

  bool has_ended() const { return has_ended_; }
  // Chooses the next token by logits, one for each token of the tokenizer, and takes it in.
  void advance(std::span<const float> logits);
  // Takes in a token that was chosen elsewhere.
  void push(TokenId id);
  void cancel();
  // Gives what is certain of the new text since the last call.
  std::string take_text();
  // The last token's log-probability; null if none was asked for.
  const TokenLogprob* last_logprob() const;

  const std::vector<TokenId>& ids() const { return result.ids; }
  std::int64_t new_tokens() const { return std::ssize(result.ids) - prompt_size_; }
  std::int64_t limit() const { return limit_; }
  const std::vector<TokenId>& stops() const { return stops_; }

  Generation result;  // its text is whole once the text has ended

 private:
  void end(Finish finish);
  void emit(std::string_view text);
  const Tokenizer& tokenizer_;
  const GenerateOptions& options_;
  std::int64_t prompt_size_, limit_;
  std::vector<TokenId> stops_;
  Sampler sampler_;
  TextStream stream_;
  StopStrings strings_;
  AllowedTokens allowed_;
  std::string certain_;  // not yet taken
  bool has_ended_ = false;
};

}  // namespace tilewright
