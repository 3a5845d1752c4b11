// Control flow that is a part of a graph, under the names of PyTorch's higher-order operators.
//
//   auto [last, all] = scan(
//       [&](const Tensors& state, const Tensors& x) -> Turn {
//         Tensor h = tanh(matmul(x[0], w) + matmul(state[0], u));
//         return {{h}, {h}};
//       },
//       {h0}, {xs});
//
// Outside of captured functions these run as they read: the functions are called, turn by turn.
// Inside, each is captured once and becomes a graph of its own (graph/ir/bodies.h), which is
// planned once and run as often as it must: a loop of 512 turns is one node, and compiles as fast
// as one of two. The results are the same. Tensors that a function uses besides its arguments, and
// values of the function around, are read in every iteration as they are before the first.
//
// Inside a captured function these must hold, or an `Error` says so: no function prints or reads
// values of tensors, nor, but for branches and a scan that says so (ScanOptions::writes), writes in
// place or draws random numbers; carried values keep dtype and shape; there is at least one result,
// and each tensor has elements. Conditions are bool, of one element.
#pragma once

#include <cstdint>
#include <functional>
#include <source_location>
#include <utility>
#include <vector>

#include "graph/tensor/tensor.h"
#include "runtime/plan/loop_stop.h"

namespace tilewright {

using Tensors = std::vector<Tensor>;

// The carried values, and the further results of an iteration.
struct Turn {
  Tensors carried, given;
};

// The first function of the operands where the condition is true, else the second one, which may
// write in place and draw random numbers. Both give results of the same types.
Tensors cond(const Tensor& condition, const std::function<Tensors(const Tensors&)>& if_true,
             const std::function<Tensors(const Tensors&)>& if_false, const Tensors& operands = {},
             std::source_location w = std::source_location::current());

// While the condition of the carried values is true, the body computes new ones. If that may be for
// ever, let it carry the number of turns, and the condition compare it; or stop it from outside
// (StoppableLoops).
Tensors while_loop(const std::function<Tensor(const Tensors&)>& condition,
                   const std::function<Tensors(const Tensors&)>& body, const Tensors& carried,
                   std::source_location w = std::source_location::current());

struct WhileOptions {
  // The loop ends after so many turns, also where the condition is still true. Only such a loop has
  // a gradient, which is that of a scan of so many turns: when a function with it is
  // differentiated, all of them run, and those after the loop's end change nothing. At least 1.
  std::int64_t max_turns = 0;
};
Tensors while_loop(const std::function<Tensor(const Tensors&)>& condition,
                   const std::function<Tensors(const Tensors&)>& body, const Tensors& carried,
                   const WhileOptions& options,
                   std::source_location w = std::source_location::current());

struct ScanOptions {
  bool reverse = false;    // the last elements come first
  std::int64_t turns = 0;  // where nothing is sliced
  // Loops of this many iterations or fewer are not loops of the graph but recorded one by one, so
  // that kernels reach over their borders.
  std::int64_t few_turns = 0;
  // The function may write in place and draw random numbers: what one turn writes the next one
  // reads, as in a loop of C++. In a captured function written tensors are carried, and updated in
  // place if the function reads them nowhere else: a loop that is stopped leaves what its turns
  // have written. Otherwise they are written once, after the last turn.
  bool writes = false;
};
// An iteration for each element along the first axis of all `sliced` tensors; it takes the carried
// values and these elements. Returns the last carried values, and the other results of the
// iterations, stacked along a first axis in the order of the elements.
std::pair<Tensors, Tensors> scan(const std::function<Turn(const Tensors&, const Tensors&)>& turn,
                                 const Tensors& carried, const Tensors& sliced,
                                 const ScanOptions& options = {},
                                 std::source_location w = std::source_location::current());

}  // namespace tilewright
