// Several decoding steps without waiting for the host in between.
//
// Everything that a greedy step reads and writes is on the model's device: the state, the input
// tokens, their position, which rows have ended, and the list of chosen tokens. The token that one
// step chooses is what the next one embeds, so a round of steps is one call of
// `CompiledFunction::repeat`, on a GPU one graph, and the host waits once a round. All steps are
// one program however many there are in a round.
//
// A row ends at a stop token or at the last position that is allowed. The remaining steps of the
// round change nothing of it: they compute its last step again, with the same token at the same
// position, and choose `nothing`.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/compile/compile.h"
#include "models/decoder/language_model.h"

namespace tilewright {

class GreedySteps {
 public:
  // The special choices of a step besides tokens.
  static constexpr std::int64_t not_a_number = -1;  // a logit is: the row ends
  static constexpr std::int64_t nothing = -2;       // the row had ended before

  // Tokens are chosen among the first `tokens` of the model's vocabulary; at most that many. A
  // round has `steps` of them. Model and state must outlive this, and stay on their device.
  GreedySteps(const LanguageModel& model, DecodingState& state, std::int64_t tokens,
              std::int64_t steps, Options options);

  // Starts from `ids`, one a row of the batch, which are at `positions` and have not gone through
  // the model yet, unlike everything before. Rows get no token at their limit or after it. `stops`
  // end a row. Where the state has pages, those of all rows up to the limits are taken.
  void start(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& positions,
             const std::vector<std::int64_t>& limits, const std::vector<std::int64_t>& stops);
  // The next round: the tokens that every step chose for every row, [steps * batch].
  std::vector<std::int64_t> run();
  // Compiles before anything is started. The row of the cache at position 0 has no meaning then,
  // and texts in pages have none left.
  void warm_up();

  std::int64_t steps() const { return steps_; }
  const Device& device() const { return device_; }
  const CompiledFunction& compiled() const { return compiled_; }  // for reports

 private:
  Tensor step();

  const LanguageModel& model_;
  DecodingState& state_;
  std::int64_t tokens_, steps_;
  Device device_;
  // All of integers, on the model's device.
  Tensor ids_;                       // i64 [batch, 1]: go in next
  Tensor position_;                  // i64 [batch]: of them
  Tensor has_ended_;                 // i64 [batch]: 1 or 0
  Tensor chosen_;                    // i64 [steps, batch]
  Tensor step_;                      // i64 [1]: of the round
  Tensor limit_;                     // i64 [batch]
  Tensor is_stop_;                   // i32 [tokens, 1]: 1 or 0
  std::vector<std::int64_t> stops_;  // that `is_stop_` has
  Compiled compiled_;
};

}  // namespace tilewright
