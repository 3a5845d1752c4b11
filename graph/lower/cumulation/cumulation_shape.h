// The geometry of a cumulation, as its programs see it: an axis along which elements join, and
// others that lie beside it in memory.
#pragma once

#include <vector>

#include "graph/lower/frame.h"

namespace tilewright::graph {

struct CumulationShape {
  // An axis, or several that lie like one, and how far neighbours lie apart.
  struct Mode {
    std::int64_t size = 1, operand = 0, result = 0;
    bool joins(const Mode& inner) const {
      return operand == inner.operand * inner.size && result == inner.result * inner.size;
    }
  };
  Mode along;
  Mode columns;  // the innermost one of the result; of one element where that is `along`
  std::vector<Mode> others;  // outermost first
  std::int64_t rows = 1;     // elements of `others`
  std::int64_t from = 0;     // the first element in the operand's memory

  explicit CumulationShape(const Task& task);
  // Adds the place of one of `rows` in each, but for `from`.
  void move_to_row(const dsl::Tile& row, Offset& operand, Offset& result) const;
  std::int64_t elements() const { return along.size * columns.size * rows; }
};

}  // namespace tilewright::graph
