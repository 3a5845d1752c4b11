// A smaller model of the same tokens that guesses what another one will write (Leviathan, Kalman
// and Matias, "Fast inference from transformers via speculative decoding", 2023). Its guesses are
// its likeliest tokens; the other model checks them as it checks those of drafts.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/decoder/language_model.h"
#include "models/generate/prompt_reader.h"
#include "models/tokenizer/tokenizer.h"

namespace tilewright {

class DraftModel {
 public:
  // `tokens`: as many of the model's vocabulary are tokens. The model must outlive this.
  DraftModel(const LanguageModel& model, std::int64_t tokens, const Options& options);

  // Compiles what texts of that size need; returns the seconds that it took.
  double compile_for(std::int64_t text_size);
  // The next `count` tokens; none where the model has no positions for them. It reads what has
  // changed since the last call.
  std::vector<TokenId> guess(std::span<const TokenId> text, std::int64_t count);

 private:
  std::span<const float> read(std::span<const TokenId> text);
  const LanguageModel& model_;
  PromptReader reader_;
  std::vector<TokenId> held_;  // the tokens that its state has rows of
};

}  // namespace tilewright
