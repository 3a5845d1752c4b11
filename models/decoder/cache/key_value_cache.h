// Keys and values that are written in place, and attention over them.
//
// A cache has a fixed size, so that every step of a generation is the same program. Keys are stored
// one after the other. Only keys shorter than a cache line are stored transposed, with consecutive
// positions next to each other: a vector then holds elements of many keys instead of a part of one.
//
// A cache may keep its rows in 8 bits, with a scale for each row of each head (RowCodes). Rows are
// quantised as they come, and a row sees its own key and value as the cache has them, so that
// results do not depend on how a text is divided into calls.
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
  bool is_allocated() const { return keys.defined(); }
  bool has_codes() const { return key_scales.defined(); }
  std::int64_t positions() const { return values.size(2); }
  // Text `to` of this batch begins as text `from` of the other cache: its first `rows` rows.
  void copy_text(std::int64_t to, const KeyValueCache& other, std::int64_t from, std::int64_t rows);

  // q [batch, heads, rows, D], k and v [batch, groups, rows, D]; returns the attended values of the
  // rows, [batch, rows, heads * D]. An allocated cache takes the rows in, and they see all rows
  // before them; otherwise they see each other.
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v,
                const RowPositions& row_positions, const Scores& scores = {});

  // The tensors below that there are.
  std::vector<Tensor*> tensors();
  std::vector<const Tensor*> tensors() const;

  Tensor keys, values;  // [batch, groups, positions, D]; keys [.., D, positions] if they are turned
  Tensor key_scales, value_scales;  // of codes, [batch, groups, positions]; or undefined

 private:
  // The rows so far, with those that are new: keys and values [batch, groups, positions, D].
  struct Rows {
    Tensor keys, values, key_scales, value_scales;
    void expand(std::int64_t batch);
  };
  Rows with_rows(const Tensor& k, const Tensor& v, const Tensor& positions);
  bool turns_keys_ = false;
};

}  // namespace tilewright
