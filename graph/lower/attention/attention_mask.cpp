#include "graph/lower/attention/attention_mask.h"

#include <limits>

namespace tilewright::graph {

using dsl::Operand;
using dsl::Tile;

AttentionMask AttentionMask::within(const Tile& column, std::int64_t columns) const {
  AttentionMask part = *this;
  if (keys_differ_) {
    part.scores_.base = scores_.base + column * scores_.column_stride.value();
    part.scores_.columns = columns;
  }
  return part;
}

Tile AttentionMask::of(const Tile& scores, const Operand& row, const Operand& column) const {
  Matrix here = scores_;
  Shape block = scores.shape();
  if (!rows_differ_) {
    here.rows = 1;
    block[0] = 1;
  }
  if (!keys_differ_) {
    here.columns = 1;
    block[1] = 1;
  }
  Tile mask = here.load(rows_differ_ ? row : Operand(0), keys_differ_ ? column : Operand(0), block);
  if (is_boolean(mask.dtype()))
    return dsl::where(mask, scores,
                      dsl::full({1, 1}, -std::numeric_limits<double>::infinity(), scores.dtype()));
  return scores + (mask.dtype() == scores.dtype() ? mask : dsl::cast(mask, scores.dtype()));
}

}  // namespace tilewright::graph
