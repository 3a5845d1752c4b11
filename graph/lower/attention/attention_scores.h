// The changes to scores in the programs of an attention before they are weighed: its function of
// scores (ops/attention_operands.h), and its mask. Both read operands that have an element for each
// score, of which those that lie at one place in memory, for all rows or for all keys, are read
// once a block.
#pragma once

#include <optional>
#include <vector>

#include "graph/lower/attention/attention_shape.h"

namespace tilewright::graph {

// An operand with an element for each score, as one of the programs sees it.
struct ScoreOperand {
  Matrix elements;  // of this program's rows, a column each key
  bool rows_differ, keys_differ;

  // For the rows from `row` and the keys from `column` on; an axis along which they are the same
  // has one. `is_inside`: all these keys are there.
  dsl::Tile load(const dsl::Operand& row, const dsl::Tile& column, bool is_inside,
                 Shape block) const;
};

class AttentionScores {
 public:
  // The places of a block's rows, as i32: in the batch, among the heads of q, among the rows of q.
  // Places that vary along rows are [rows, 1], or [1, rows] where keys come first.
  struct Places {
    dsl::Operand batch, head, row;
  };
  // `operands`: those of the task from its mask on, in their order; `places` are needed where
  // there is a function; with `keys_first`, blocks of scores, and matrices of operands, are
  // [keys, rows].
  AttentionScores(const Task& task, std::vector<ScoreOperand> operands,
                  std::optional<Places> places, bool keys_first = false)
      : task_(task),
        operands_(std::move(operands)),
        places_(std::move(places)),
        keys_first_(keys_first) {}
  // Scores of the rows from `row` and the keys from `column` on, as they are to be weighed.
  dsl::Tile of(const dsl::Tile& scores, const dsl::Operand& row, const dsl::Tile& column,
               bool is_inside) const;
  // The gradient of the scores before their function, from that of the scores behind it.
  dsl::Tile gradient(const dsl::Tile& scores, const dsl::Tile& of_result, const dsl::Operand& row,
                     const dsl::Tile& column) const;

 private:
  dsl::Tile load(std::size_t operand, const dsl::Operand& row, const dsl::Tile& column,
                 bool is_inside, const Shape& block) const;
  // The value of a body, whose input behind those of the function of scores is `more`.
  dsl::Tile value(const Graph& body, const dsl::Tile& scores, const dsl::Tile& more,
                  const dsl::Operand& row, const dsl::Tile& column, bool is_inside) const;

  const Task& task_;
  std::vector<ScoreOperand> operands_;
  std::optional<Places> places_;
  bool keys_first_;
};

}  // namespace tilewright::graph
