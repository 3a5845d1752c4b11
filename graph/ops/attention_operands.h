// The operands of an attention behind q, k and v: its position, its page table, the scales of keys
// and values that are codes, its mask, and the inputs of its function of scores. Each may be
// absent.
//
// With a page table, integers [B, P], keys and values are pages [N, G, R, D] of R rows, a power of
// two of at least 16, and so are their scales, [N, G, R]. The keys of text b are the rows of the
// pages that its line names, in that order: P * R of them. A number outside 0 to N - 1 names the
// nearest page.
//
// Codes are integers or floats of 8 bits. The number that a code stands for is its value times the
// scale of its row, of which there is one for each key of each head: [B, G, S], in the dtype that
// scores are carried in.
//
// The function of scores (`bodies[0]` of the attributes) says what becomes of a score after its
// factor and cap, before masks: a graph of pointwise ops on values without axes. Its inputs are the
// score, in the dtype that scores are carried in; where it stands, as i32: in the batch, among the
// heads of q, among the rows of q, among the keys; and an element of each operand that it reads, of
// which there is one for each score.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

struct HostTensor;

// The inputs of a function of scores.
struct ScoreInputs {
  static constexpr std::size_t score = 0, batch = 1, head = 2, row = 3, key = 4, operands = 5;
};

// True for the dtypes of codes.
inline bool is_code(DType dtype) { return dtype == DType::i8 || is_float8(dtype); }

// Places among the operands, 0 for those that are absent. A position has one axis, a page table
// two, scales three and a mask four; the operands of the function of scores are the last ones.
struct AttentionOperands {
  std::size_t position = 0, page_table = 0, key_scales = 0, value_scales = 0, mask = 0,
              of_scores = 0;
  std::size_t known = 3;  // operands with a place, those of the function of scores apart

  // `axes_of` gives the number of axes of an operand.
  AttentionOperands(const Attributes& attributes, std::size_t count, const auto& axes_of)
      : of_scores(count - std::min(count, read_by_scores(attributes))) {
    auto is_next = [&](std::size_t axes, std::size_t places) {
      return known + places <= of_scores && axes_of(known) == axes;
    };
    if (is_next(1, 1)) position = known++;
    if (is_next(2, 1)) page_table = known++;
    if (is_next(3, 2)) {
      key_scales = known++;
      value_scales = known++;
    }
    if (is_next(4, 1)) mask = known++;
  }
  bool are_codes() const { return key_scales != 0; }
  bool are_pages() const { return page_table != 0; }
  // Keys, values and their scales: the operands that lie in pages where there is a table.
  std::vector<std::size_t> keys_and_values() const {
    if (!are_codes()) return {1, 2};
    return {1, 2, key_scales, value_scales};
  }

  // True where scores may be as large as a program likes: a function makes them, or a mask of
  // numbers is added. `dtype_of` gives the dtype of an operand.
  bool may_have_large_scores(const Attributes& attributes, const auto& dtype_of) const {
    return !attributes.bodies.empty() || (mask != 0 && !is_boolean(dtype_of(mask)));
  }

  // How many operands the function of scores reads.
  static std::size_t read_by_scores(const Attributes& attributes) {
    return attributes.bodies.empty() ? 0
                                     : attributes.bodies[0].inputs.size() - ScoreInputs::operands;
  }
};

// Pages have at least so many rows, a power of two.
constexpr std::int64_t least_page_rows = 16;

// How many keys a text has: the rows of all pages that its line names, or those of operand 1.
inline std::int64_t keys_of_text(const Shape& keys, const Shape* page_table) {
  return page_table ? (*page_table)[1] * keys[2] : keys[2];
}

// The rows [B, G, P * R, ..] of pages [N, G, R, ..] in the order of a page table.
HostTensor in_order_of_table(const HostTensor& pages, const HostTensor& page_table);

// The places of the operands of an attention's gradient, behind those of the attention.
struct GradientOperands {
  static constexpr std::size_t count = 3;
  std::size_t gradient, sums, products;

  explicit GradientOperands(std::size_t all)
      : gradient(all - count), sums(all - 2), products(all - 1) {}
};

// The formula that an `attention_gradient` of operands of these types stands for: scores are in
// memory.
Graph formula_of_gradient(const Node& node, const std::vector<ValueType>& operands);

// A function of scores on `count` of them together: each of its values has an element per score.
Graph for_each_score(Graph function, std::int64_t count);
// Where the scores of `sizes` stand along one of its axes, which has that many elements.
HostTensor places_of_scores(const Shape& sizes, int axis);

}  // namespace tilewright::graph
