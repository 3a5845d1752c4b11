// How far a correct computation of a graph may be from the exact one, by running error analysis.
//
// Beside the value in double, every element carries a bound on the absolute error that arithmetic
// in the nodes' dtypes can have made by then, in any order of summation, with or without fused
// multiply-add, and with or without rounding to 16 bits in between:
//   one operation     |f(x + e) - f(x)| (at both ends: the functions are monotone) + u |y|, and 2
//                     ulp for transcendental ones; + half the least subnormal
//   a sum of n        sum of e + gamma_n(u_acc) sum |x|, gamma_n(u) = n u / (1 - n u)
//   a product, k long the same of |a| e_b + |b| e_a + e_a e_b and |a| |b|
//   composites        by their decompositions
// u is 2^-24, 2^-11, 2^-8 for f32, f16, bf16; sums of them are taken with u_acc = 2^-24. Where an
// error could change a decision (a comparison, a rounding to integer, an argmax) the bound is
// infinite: random graphs avoid such nodes (Choices::avoided). Derivatives make such decisions
// themselves, so their bounds follow both sides (Choices::bounded).
#pragma once

#include <vector>

#include "graph/ir/evaluate.h"

namespace tilewright::graph {

struct BoundedTensor {
  HostTensor value;                        // in double
  std::vector<double> error;               // a bound for each element
  std::vector<BoundedTensor> others = {};  // of results 1, 2, ..., which `value` has too
};

// The bound of a choice whose condition may go either way: infinite, or one that both sides keep.
// In the second case an operand that alone decides a condition or an extremum does so, and
// infinities are followed.
enum class Choices : std::uint8_t { avoided, bounded };

// The value and bound of one node from those of its operands.
BoundedTensor bound_node(const Graph& graph, NodeId id,
                         const std::vector<const BoundedTensor*>& operands,
                         Choices choices = Choices::avoided);
// The same of control flow, by its bodies (control_bound.cpp): infinite where errors could change a
// condition.
BoundedTensor bound_control(const Node& node, const std::vector<const BoundedTensor*>& operands,
                            Choices choices);
// The bounds of every node; inputs are exact.
std::vector<BoundedTensor> bound_nodes(const Graph& graph, std::span<const HostTensor> inputs,
                                       Choices choices = Choices::avoided);

std::vector<BoundedTensor> bound_nodes(const Graph& graph, std::vector<BoundedTensor> inputs,
                                       Choices choices = Choices::avoided);

struct BoundedEvaluation {
  std::vector<BoundedTensor> outputs;
  std::vector<BoundedTensor> mutated;
};
BoundedEvaluation bounded_evaluate(const Graph& graph, std::span<const HostTensor> inputs);

// "" where every element of `actual` is within its bound, else what is wrong with the worst one.
// `worst_ratio`, if given, is raised to the largest error / bound.
std::string violation(const BoundedTensor& expected, const HostTensor& actual,
                      double* worst_ratio = nullptr);

}  // namespace tilewright::graph
