// The pages that the keys and values of a text lie in, as a program of attention looks them up.
#pragma once

#include <cstdint>
#include <utility>

#include "graph/lower/attention/attention_shape.h"

namespace tilewright::graph {

// The pages of one text. Keys are counted through all of them.
class PageTable {
 public:
  // The numbers of the text's pages lie `step` apart from `line` on; `count` pages of `page_rows`
  // keys are in memory, and a number outside stands for the nearest.
  PageTable(dsl::Tile line, const Stride& step, std::int64_t count, std::int64_t page_rows)
      : line_(std::move(line)), step_(step), count_(count), page_rows_(page_rows) {}

  // The number of the page that key `column` lies in, and the key's number there.
  dsl::Tile page_of(const dsl::Tile& column) const {
    const dsl::Tile number =
        dsl::cast(dsl::load(line_ + column / page_rows_ * step_.value()), DType::i64);
    return dsl::minimum(dsl::maximum(number, 0), count_ - 1);
  }
  dsl::Tile row_of(const dsl::Tile& column) const { return column % page_rows_; }

 private:
  dsl::Tile line_;
  Stride step_;
  std::int64_t count_, page_rows_;
};

// That of this element of the batch, undefined where there is one. The task has a page table.
inline PageTable page_table_of(const Task& task, const Parameters& parameters,
                               const dsl::Tile& batch) {
  const TaskOperand& table = task.operands[operands_of_attention(task).page_table];
  const Shape& pages = task.operands[1].view.shape;
  Offset line(table.view.offset);
  if (batch.defined()) line.add(batch, table.view.strides[0]);
  return {parameters.pointer(table.storage) + line, table.view.strides[1], pages[0], pages[2]};
}

}  // namespace tilewright::graph
