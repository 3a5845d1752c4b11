// Shared by the programs of an attention: which rows a program has, and, where several share the
// keys of one, the partial results that they leave to each other in scratch memory.
//
// One program has a block of rows of one key head: rows of one query head, or, where every head has
// one row (decoding), one row of each query head that shares the key head. Rows are numbered
// through all batches and heads, in that order.
//
// Programs that share keys leave for each row and program the highest score, the total of the
// weights relative to it, and the values mixed by these weights (Dao, Haziza, Massa and Sizov,
// "Flash-Decoding for long-context inference", 2023).
#pragma once

#include <optional>

#include "graph/lower/frame.h"
#include "graph/ops/attention_operands.h"

namespace tilewright::graph {

// The operands of an attention, or of the one that the task is the gradient of.
inline AttentionOperands operands_of_attention(const Task& task) {
  const std::size_t count =
      task.operands.size() - (task.op == Op::attention ? 0 : GradientOperands::count);
  return {task.attributes, count,
          [&](std::size_t i) { return task.operands[i].view.shape.size(); }};
}

struct AttentionShape {
  explicit AttentionShape(const Task& task)
      : q(task.operands[0].view),
        k(task.operands[1].view),
        v(task.operands[2].view),
        result(task.place),
        group(q.shape[1] / k.shape[1]),
        packs_heads(q.shape[2] == 1),
        heads(packs_heads ? k.shape[1] : q.shape[1]),
        rows(packs_heads ? group : q.shape[2]) {
    const AttentionOperands given = operands_of_attention(task);
    if (given.are_pages()) pages = task.operands[given.page_table].view.shape[1];
  }
  std::int64_t batch() const { return q.shape[0]; }
  std::int64_t depth() const { return q.shape[3]; }
  std::int64_t keys() const { return k.shape[2] * pages.value_or(1); }
  // Keys that lie one after the other: all of them, or those of a page.
  std::int64_t run_of_keys() const { return k.shape[2]; }
  std::int64_t all_rows() const { return batch() * heads * rows; }

  StridedView q, k, v, result;
  std::int64_t group;  // query heads that share a key head
  bool packs_heads;
  std::int64_t heads, rows;           // of programs: heads, and rows of each
  std::optional<std::int64_t> pages;  // of a text, where its keys lie in pages
};

// True if a number in memory says which column row 0 is at; otherwise an attribute does.
inline bool has_position(const Task& task) { return operands_of_attention(task).position != 0; }
inline bool has_mask(const Task& task) { return operands_of_attention(task).mask != 0; }
// True if keys and values are codes with scales.
inline bool has_codes(const Task& task) { return operands_of_attention(task).are_codes(); }
// True if keys and values lie in pages.
inline bool has_pages(const Task& task) { return operands_of_attention(task).are_pages(); }
// True if a function changes scores.
inline bool has_function(const Task& task) { return !task.attributes.bodies.empty(); }
// The column that row 0 of this element of the batch is at, in a program that traces; `batch` is
// undefined where there is one.
dsl::Tile position_of(const Task& task, const Parameters& parameters, const dsl::Tile& batch);

// The place of the logarithms of the sums of rows, with an axis of 1 behind rows.
inline StridedView place_of_sums(const TaskResult& sums) {
  return row_major({sums.shape[0], sums.shape[1], sums.shape[2], 1});
}
// log(sum of exp(score)) from the highest score and the sum relative to it; infinity where nothing
// was summed up, so that the weight exp(score - logarithm) is 0.
dsl::Tile logarithm_of(const dsl::Tile& highest, const dsl::Tile& total);

// The scratch memory of programs that share keys, as one of them sees it.
struct AttentionPartials {
  AttentionPartials(const AttentionShape& shape, std::int64_t splits, DType dtype)
      : shape(shape), splits(splits), dtype(dtype) {}
  std::vector<Scratch> scratch() const;
  void add_to(Parameters& parameters);
  // The partial result of program `split` for the rows from `row` on of the head that begins at
  // `first`.
  void store(const Offset& first, const dsl::Operand& row, const dsl::Tile& split,
             const dsl::Tile& highest, const dsl::Tile& total, const dsl::Tile& mixed) const;

  const AttentionShape& shape;
  std::int64_t splits;
  DType dtype;                             // that sums are carried in
  dsl::Tile highest, total, mixed_values;  // [all rows, splits], and [all rows, splits, depth]
};

// The program that combines the partial results of the others.
LoweredProgram combine_attention(const TaskList& list, const Region& region,
                                 const dsl::Target& target, AttentionPartials partials);

}  // namespace tilewright::graph
