// Sums over the turns of a loop that are formed after it.
//
// The gradient of a tensor that every turn of a loop reads is a sum over the turns. Where each term
// is linear in products and sums of a turn's values, as that of a weight is (x^T g in each turn),
// the sum is one product of all turns' values:
//
//   sum over t of x_t^T g_t  =  [x_0; x_1; ..]^T [g_0; g_1; ..]
//
// Such values are stacked by the loop, unless they are among its slices or results already, and no
// turn reads and writes a sum of the tensor's size. Views, joining, sums and differences around the
// products are carried out once, on the result.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "graph/ops/family.h"

namespace tilewright::graph {

class SumsOverTurns {
 public:
  // `turn` outlives this. `stacked`: values of a turn of which there is a stack anyway;
  // `invariant`: inputs that are the same in each turn.
  SumsOverTurns(const Graph& turn, std::int64_t turns, std::set<NodeId> stacked,
                std::set<NodeId> invariant)
      : turn_(turn),
        turns_(turns),
        stacked_(std::move(stacked)),
        invariant_(std::move(invariant)) {}

  // True if the sum of this value over the turns is to be formed after the loop: if the values that
  // must be stacked for it have fewer elements than it. They join `added()`.
  bool take(NodeId value);
  // Values of a turn that are stacked for the sums alone.
  const std::vector<NodeId>& added() const { return added_; }

  // The sum of a value that was taken, in this dtype. `stack_of` gives the values of all turns
  // along a first axis, for inputs of the turn, results and values of `added()`.
  using StackOf = std::function<Term(NodeId value)>;
  Term sum_of(NodeId value, DType dtype, GraphBuilder& builder, const StackOf& stack_of) const;

 private:
  struct Needs {
    std::set<NodeId> seen, stacks;
  };
  bool is_linear(NodeId value, Needs& needs) const;
  bool may_be_stacked(NodeId value, Needs& needs) const;

  const Graph& turn_;
  const std::int64_t turns_;
  std::set<NodeId> stacked_;
  const std::set<NodeId> invariant_;
  std::vector<NodeId> added_;
};

}  // namespace tilewright::graph
