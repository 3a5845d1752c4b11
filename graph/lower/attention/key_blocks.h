// The keys and values of one head, as a program of attention reads them: a block of keys at a time,
// where they lie or in panels, and decoded where they are codes (ops/attention_operands.h).
//
// The scale of a row is a factor of all its elements, so that products are of codes: scores are
// multiplied by the scales of their keys, and weights by those of their values. Only where such a
// weight might be too small for its dtype, f16, are values multiplied instead. A host multiplies
// codes by few rows in f32, to which it converts them as it reads them.
//
// Where keys and values lie in pages, a block of keys is a part of one page.
#pragma once

#include <optional>

#include "graph/lower/attention/attention_panels.h"
#include "graph/lower/attention/attention_shape.h"
#include "graph/lower/attention/page_table.h"

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
    // From page to page, where there are pages: of elements, and of scales.
    Stride page_of_elements = 0, page_of_scales = 0;
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
  // Those of pages: `keys` and `values` are of page 0, and are read by way of `from` alone.
  KeyBlocks in_pages(PageTable pages) const {
    KeyBlocks blocks = *this;
    blocks.pages_ = std::move(pages);
    return blocks;
  }
  bool are_in_pages() const { return pages_.has_value(); }

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
  dsl::Tile column_of_panels(const dsl::Operand& column) const;

  const Task& task_;
  DType dtype_;  // of products
  std::int64_t columns_;
  Rows keys_, values_;
  const AttentionPanels* panels_ = nullptr;
  Offset head_;                // of the panels
  dsl::Tile first_of_panels_;  // of a block that `from` gives
  std::optional<PageTable> pages_;
};

}  // namespace tilewright::graph
