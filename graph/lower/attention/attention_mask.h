// The mask of an attention, as one of its programs sees it: an element for each score, of which
// those that lie at one place in memory, for all rows or for all keys, are read once a block.
#pragma once

#include "graph/lower/attention/attention_shape.h"

namespace tilewright::graph {

class AttentionMask {
 public:
  // `scores`: the elements of this program's rows, a column each key. A stride of 0 is known to be.
  explicit AttentionMask(Matrix scores, bool rows_differ, bool keys_differ)
      : scores_(std::move(scores)), rows_differ_(rows_differ), keys_differ_(keys_differ) {}
  // Those of `columns` keys from `column` on, which are all there.
  AttentionMask within(const dsl::Tile& column, std::int64_t columns) const;
  // Scores of the rows from `row` and the keys from `column` on, with what the mask makes of them:
  // minus infinity where it says that a key is not seen, a sum where it is of floats.
  dsl::Tile of(const dsl::Tile& scores, const dsl::Operand& row, const dsl::Operand& column) const;

 private:
  Matrix scores_;
  bool rows_differ_, keys_differ_;
};

}  // namespace tilewright::graph
