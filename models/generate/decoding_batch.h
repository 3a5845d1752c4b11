// Texts that are decoded together, each at a position of its own: one step of all is one call of
// one program. A text is read elsewhere, with a state for one, and placed here with its keys and
// values, so that it begins with the same numbers whatever goes on beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/compile/compile.h"
#include "models/decoder/language_model.h"
#include "models/tokenizer/tokenizer.h"
#include "runtime/owned.h"

namespace tilewright {

class DecodingBatch {
 public:
  // Places for `size` texts. The model must outlive this, and stay on its device.
  // In `pages`, unless they are null.
  DecodingBatch(const LanguageModel& model, std::int64_t size, const Options& options,
                std::shared_ptr<PagePool> pages = nullptr);

  std::int64_t size() const { return state_->batch(); }
  const Device& device() const { return device_; }
  const CompiledFunction& compiled() const { return step_; }  // for reports

  // The text at `place` is from now on text 0 of `read`, of which `rows` have gone through the
  // model.
  void put(std::int64_t place, const DecodingState& read, std::int64_t rows);
  // Makes the text at `to` a copy of that at `from`, of `rows` rows.
  void fork(std::int64_t to, std::int64_t from, std::int64_t rows);
  // Nothing more is wanted of the text at `place`: gives its pages back.
  void clear(std::int64_t place);
  void clear();  // of all
  // Pages that the text at `place` has, and that any may come to have with so many rows, read by a
  // PromptReader and taken over; 0 where there are none.
  std::int64_t pages_of(std::int64_t place) const;
  std::int64_t most_pages(std::int64_t rows) const;
  // The next token of the text at `place`, and its position.
  void set(std::int64_t place, TokenId id, std::int64_t position);
  // Compiles before anything is placed, if that was not done; returns the seconds that it took.
  double warm_up();
  // One step of all texts. A text whose token was not set since the last step computes that again.
  // Raises `Error` where too few pages are free.
  void run();
  // The first `tokens` logits that the last step gave the text at `place`.
  std::span<const float> logits(std::int64_t place, std::int64_t tokens) const;

 private:
  const LanguageModel& model_;
  Device device_;
  Owned<DecodingState> state_;
  Tensor ids_, positions_;  // i64 [size, 1] and [size]; where they lie is part of recorded launches
  Compiled step_;
  Tensor logits_;  // of the last step; undefined before the first
};

}  // namespace tilewright
