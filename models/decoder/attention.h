// Causal self-attention over a cache of keys and values that is written in place, and the layer
// with its projections: grouped heads, rotary positions, norms of queries and keys. The cache is
// not the layer's: each conversation has its own (decoding_state.h).
//
// The cache has a fixed size, so that every step of a generation is the same program. Keys are
// stored one after the other. Only keys shorter than a cache line are stored transposed, with
// consecutive positions next to each other: a vector then holds elements of many keys instead of a
// part of one.
//
// A cache may keep its rows in 8 bits, with a scale for each row of each head (RowCodes). Rows are
// quantised as they come, and a row sees its own key and value as the cache has them, so that
// results do not depend on how a text is divided into calls.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/decoder/rope.h"
#include "models/layers/layers.h"

namespace tilewright {

// The positions in the text that the rows of one call have.
struct RowPositions {
  // `first` is i64 [1], or [batch] with one for each text; the call's rows follow it. `text_rows`
  // is i64 [1] or [batch], the announced lengths of the texts (DecodingState::expect), or
  // undefined.
  RowPositions(const Tensor& first, std::int64_t rows, const Tensor& text_rows = {});
  RowPositions(const Tensor& first, std::int64_t rows, const RotaryTable& table,
               const Tensor& text_rows = {});
  RowPositions with(const RotaryTable& table) const;  // the same rows, turned by that table
  Tensor first, text_rows;
  Tensor positions;  // i64 [rows], or [batch, rows]
  // [rows, rotary size / 2], or [batch, 1, rows, ..]; undefined without a table.
  Tensor cos, sin;
  RopePairs pairs = RopePairs::halves;
};

// Turns each pair of the first elements of a head, as many as the table has, by its angle; x itself
// without a table. x [batch, heads, rows, D].
Tensor rotate(const Tensor& x, const RowPositions& row_positions);

// [batch, rows, heads * D] -> [batch, heads, rows, D]
Tensor split_heads(const Tensor& x, std::int64_t heads);

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

// The names of the layer's parts. A part with an empty name does not exist. `qkv` is one product
// instead of three.
struct AttentionNames {
  std::string_view q = "q_proj", k = "k_proj", v = "v_proj", qkv, output = "o_proj", q_norm, k_norm;
};

struct AttentionForm {
  std::int64_t hidden, heads, kv_heads, head_size;
  bool qkv_bias = false, output_bias = false;
  bool qkv_by_head = false;  // of one product: q, k and v of head 0, of head 1, ...; else all q, ..
  bool has_sinks = false;    // a parameter of the layer
  double clip = 0;           // queries, keys and values are cut off at -clip and clip; 0: not
  bool norms_of_all_heads = false;  // a row's queries are normed together, likewise its keys
  NormKind norm = NormKind::rms;    // of queries and keys
  double norm_eps = 1e-6;
  WeightOrder order = WeightOrder::out_in;
  Scores scores;
  AttentionNames names;
};

class Attention : public Module {
 public:
  explicit Attention(const AttentionForm& form, LayerOptions options = {});

  // A cache for `positions` keys and values a sequence, of the weights' type or as codes.
  KeyValueCache new_cache(std::int64_t batch, std::int64_t positions,
                          const Device& device = Device::cpu(),
                          std::optional<DType> code_dtype = {}) const;

  // x [batch, rows, hidden]. With a cache, its rows are added there and see all rows before them;
  // without one they see each other.
  Tensor forward(const Tensor& x, const RowPositions& row_positions,
                 KeyValueCache* cache = nullptr) const;

  std::optional<Linear> q_proj, k_proj, v_proj, qkv_proj;  // those that the form names
  Linear o_proj;
  std::optional<Norm> q_norm, k_norm;
  Tensor sinks;  // [heads], or undefined

 private:
  // The rows of one projection in heads, normed.
  Tensor heads_of(Tensor x, std::int64_t heads, const std::optional<Norm>& norm) const;
  AttentionForm form_;
  DType dtype_;
};

}  // namespace tilewright
