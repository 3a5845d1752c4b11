// The question which values of a function are kept for its gradients, as numbers: how many bytes
// each value takes, and how much work it is to compute it again from others.
//
// A graph with gradients has nodes of the function and nodes of the derivative (Purpose in ir.h),
// which read values of the function. Such a value is either kept until then, or computed again from
// values that are. Inputs of the graph and constants are there anyway. Views are no work and no
// memory: their operands are kept or computed again. So are the other results of an attention,
// whose bytes count as its own.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

struct SavingCandidate {
  NodeId node = 0;
  std::vector<std::uint32_t> operands;  // candidates, all before this one; others are there
  std::int64_t bytes = 0;               // that keeping it takes
  std::int64_t cost = 0;                // of computing it again, in operations on single elements
  bool may_be_saved = true, may_be_again = true;
  bool is_needed = false;  // the derivative reads it
};

// In the order of the graph: the values that the derivative reads, and those from which they may be
// computed again.
using SavingProblem = std::vector<SavingCandidate>;
SavingProblem saving_problem(const Graph& graph);

// True for operations that may be carried out a second time with the same result. Others are loops
// and custom ops, whose kernels and C++ are the program's, with their results.
bool may_be_again(const Graph& graph, const Node& node);

}  // namespace tilewright::graph
