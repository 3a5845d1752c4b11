// The operands of an attention that are its position, its mask, and the inputs of its function of
// scores: each may be absent.
//
// The function of scores (`bodies[0]` of the attributes) says what becomes of a score after its
// factor and cap, before masks: a graph of pointwise ops on values without axes. Its inputs are the
// score, in the dtype that scores are carried in; where it stands, as i32: in the batch, among the
// heads of q, among the rows of q, among the keys; and an element of each operand that it reads, of
// which there is one for each score.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

struct HostTensor;

// The inputs of a function of scores.
struct ScoreInputs {
  static constexpr std::size_t score = 0, batch = 1, head = 2, row = 3, key = 4, operands = 5;
};

// Places among the operands; 0 for an absent position or mask. A position has one axis and a mask
// four; the operands of the function of scores are the last ones.
struct AttentionOperands {
  std::size_t position = 0, mask = 0, of_scores = 0;

  AttentionOperands(const Attributes& attributes, std::size_t count, std::size_t axes_of_fourth)
      : of_scores(count - read_by_scores(attributes)) {
    if (of_scores == 5 || (of_scores == 4 && axes_of_fourth == 1)) position = 3;
    if (of_scores == 5)
      mask = 4;
    else if (of_scores == 4 && axes_of_fourth != 1)
      mask = 3;
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
