// The keys and values of one head, as a program of attention reads them: a block of keys at a time,
// where they lie or in panels, and decoded where they are codes (ops/attention_operands.h).
//
// The scale of a row is a factor of all its elements, so that products are of codes: scores are
// multiplied by the scales of their keys, and weights by those of their values. Only where such a
// weight might be too small for its dtype, f16, are values multiplied instead. A host multiplies
// codes by few rows in f32, to which it converts them as it reads them.
#pragma once

#include <optional>

#include "graph/lower/attention/attention_panels.h"
#include "graph/lower/attention/attention_shape.h"

namespace tilewright::graph {

// The dtype of products by programs of `rows` rows: the attention's but for codes.
DType dtype_of_products(const Task& task, std::int64_t rows, const dsl::Target& target);
// True if values are multiplied by their scales in place of their weights, for such products.
bool scales_values(const Task& task, DType products);

class KeyBlocks {
 public:
  struct Rows {
    std::optional<Matrix> elements;  // keys [depth, keys], or values [keys, depth]; or panels
    std::optional<Matrix> scales;    // [1, keys]; of values that are multiplied by them [keys, 1]
  };
  // Blocks of `columns` keys, for products in `dtype`.
  KeyBlocks(const Task& task, DType dtype, std::int64_t columns, Rows keys, Rows values)
      : task_(task),
        dtype_(dtype),
        columns_(columns),
        keys_(std::move(keys)),
        values_(std::move(values)) {}
  // Those of panels: `keys` and `values` have scales alone.
  KeyBlocks in_panels(const AttentionPanels& panels, Offset head) const {
    KeyBlocks blocks = *this;
    blocks.panels_ = &panels;
    blocks.head_ = std::move(head);
    return blocks;
  }

  DType dtype() const { return dtype_; }
  // [depth, columns] of the keys from `column` on, and [columns, depth] of the values.
  dsl::Tile keys(const dsl::Operand& column) const;
  dsl::Tile values(const dsl::Operand& column) const;
  // Products of rows and these keys, with the keys' scales.
  dsl::Tile with_scales(const dsl::Tile& products, const dsl::Operand& column) const;
  // Weights of these values, as they are multiplied with them.
  dsl::Tile weights(const dsl::Tile& weights, const dsl::Operand& column) const;
  // The block from `column` on, which lies inside whole: its first key is number 0.
  KeyBlocks from(const dsl::Tile& column) const;

 private:
  const Task& task_;
  DType dtype_;  // of products
  std::int64_t columns_;
  Rows keys_, values_;
  const AttentionPanels* panels_ = nullptr;
  Offset head_;  // of the panels
};

}  // namespace tilewright::graph
