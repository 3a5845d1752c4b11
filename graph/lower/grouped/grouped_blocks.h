// The blocks of a product of groups of rows (Op::grouped_matmul), of which there are two forms.
//
//   by rows   Each row is multiplied by its group's matrix. A block has rows of one group, from the
//             group's first row on, so that the last block of each group is filled in part. How
//             many blocks there are is known when the program runs; their most is known before.
//   by sums   Each group's rows are an inner axis: all groups have results of one size, and a block
//             goes through the rows of its group.
//
// A block of rows has about as many as a group does on average: a larger one multiplies rows that
// are not there, and a smaller one reads the group's matrix again.
#pragma once

#include <cstdint>

#include "dsl/target/target.h"
#include "graph/lower/lower.h"

namespace tilewright::graph {

struct GroupedShape {
  explicit GroupedShape(const Task& task)
      : a(task.operands[0].view),
        b(task.operands[1].view),
        ends(task.operands[2].view),
        result(task.place) {}
  bool is_by_rows() const { return b.shape.rank() == 3; }
  std::int64_t groups() const { return ends.shape[0]; }
  std::int64_t grouped_rows() const { return is_by_rows() ? a.shape[0] : a.shape[1]; }
  // A result has these rows and columns; the inner axis is of all groups where it is their rows.
  std::int64_t rows() const { return a.shape[0]; }
  std::int64_t columns() const { return b.shape[-1]; }
  std::int64_t depth() const { return a.shape[1]; }
  // The most blocks of so many rows that there can be. Rows of no group are a group of their own.
  std::int64_t most_row_blocks(std::int64_t block_rows) const;

  StridedView a, b, ends, result;
};

// Rows, columns, and how much of the inner axis a program has at a time; 0: all of it.
BlockSizes grouped_blocks(const GroupedShape& shape, DType dtype, const dsl::Target& target,
                          bool on_tensor_cores, const BlockSizes& asked);

}  // namespace tilewright::graph
