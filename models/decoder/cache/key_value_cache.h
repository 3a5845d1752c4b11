// Keys and values that are written in place, and attention over them.
//
// A cache has a fixed size, so that every step of a generation is the same program. Keys are stored
// one after the other. Only keys shorter than a cache line are stored transposed, with consecutive
// positions next to each other: a vector then holds elements of many keys instead of a part of one.
//
// A cache may keep its rows in 8 bits, with a scale for each row of each head (RowCodes). Rows are
// quantised as they come, and a row sees its own key and value as the cache has them, so that
// results do not depend on how a text is divided into calls.
//
// The rows of a text lie one after the other, or in pages of a memory that many texts share
// (page_pool.h).
#pragma once

#include <optional>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/decoder/rope/row_positions.h"

namespace tilewright {

// How queries and keys become weights of the values.
struct Scores {
  std::optional<double> scale;  // of products of a query and a key; 1 / sqrt(D) if absent
  double cap = 0;               // scaled, a product s becomes cap * tanh(s / cap); 0: s
  std::int64_t window = 0;      // keys that a row sees, its own among them; 0: all before it
  // A score of each head for no key at all, [heads], which takes its part of the weights (gpt-oss);
  // undefined: none.
  Tensor sinks = {};
};

// Pages of nobody, in every memory of pages: one for rows that a text does not have, which spoils
// what sees it; one for texts of which nothing is wanted; one that takes rows without a page.
struct CommonPages {
  static constexpr std::int64_t missing = 0, resting = 1, discarded = 2, count = 3;
};

struct CacheForm {
  std::int64_t groups, head_size, positions;
  DType dtype;                           // of keys and values
  std::optional<DType> code_dtype = {};  // is_row_code: they are kept in 8 bits
};

// Keys and values of all rows so far, and attention over them.
class KeyValueCache {
 public:
  // Zeroed memory for keys and values of `batch` sequences.
  void allocate(std::int64_t batch, const CacheForm& form, const Device& device);
  // Memory for pages of form.positions rows, without contents.
  void allocate_pages(std::int64_t pages, const CacheForm& form, const Device& device);
  // The same pages as the texts of a table have them, i64 [batch, pages of a text] of numbers of
  // pages. Rows are written to the pages of the table `writable`.
  KeyValueCache with_table(const Tensor& page_table, const Tensor& writable) const;
  bool is_allocated() const { return keys.defined(); }
  bool has_codes() const { return key_scales.defined(); }
  bool has_pages() const { return page_rows_ != 0; }
  std::int64_t batch() const { return has_pages() ? page_table_.size(0) : values.size(0); }
  std::int64_t positions() const {
    return has_pages() ? page_table_.size(1) * page_rows_ : values.size(2);
  }
  // True if rows of the other cache, of the same kind, fit into this one.
  bool is_like(const KeyValueCache& other) const;
  // Text `to` of this batch begins as text `from` of the other cache: its first `rows` rows.
  void copy_text(std::int64_t to, const KeyValueCache& other, std::int64_t from, std::int64_t rows);
  // For pages: all becomes zeros; the values become NaN; all rows are copied.
  void clear_page(std::int64_t page);
  void spoil_page(std::int64_t page);
  void copy_page(std::int64_t to, std::int64_t from);

  // q [batch, heads, rows, D], k and v [batch, groups, rows, D]; returns the attended values of the
  // rows, [batch, rows, heads * D]. An allocated cache takes the rows in, and they see all rows
  // before them; otherwise they see each other.
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v,
                const RowPositions& row_positions, const Scores& scores = {});

  // The tensors below that there are.
  std::vector<Tensor*> tensors();
  std::vector<const Tensor*> tensors() const;

  // [batch, groups, positions, D]; keys [.., D, positions] if they are turned. In pages: [pages *
  // groups * rows of a page, D].
  Tensor keys, values;
  // Scales of codes, [batch, groups, positions] or [pages * groups * rows of a page]; or undefined.
  Tensor key_scales, value_scales;

 private:
  // The rows so far, with those that are new: keys and values [batch, groups, positions, D], or
  // [pages, groups, rows of a page, D] with a table.
  struct Rows {
    Tensor keys, values, key_scales, value_scales, page_table;
    void expand(std::int64_t batch);
    Rows in_order() const;  // without a table
    Tensor attended(const Tensor& q, const AttentionOptions& options) const;
  };
  Rows with_rows(const Tensor& k, const Tensor& v, const Tensor& positions);
  Rows with_rows_in_pages(const Tensor& k, const Tensor& v, const Tensor& positions);
  void fill_page(std::int64_t page, const std::vector<Tensor*>& parts, double value);
  bool turns_keys_ = false;
  std::int64_t groups_ = 0, page_rows_ = 0;  // of pages
  Tensor page_table_, writable_pages_;
};

}  // namespace tilewright
