// Looks into what a captured function computes, by the interpreter, with the inputs of a call
// (Options::verify_gradients and detect_nan): the recorded graph has the user's lines, and its
// values are those that the function means, whatever became of it in a plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/target/target.h"
#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// Raises `Error` for a gradient in the graph that differs from differences of its function, in a
// direction that follows from the seed.
void require_right_gradients(const Graph& recorded, const std::vector<Tensor>& inputs,
                             const dsl::Target& target, std::uint64_t seed);
// True if there are gradients in bodies of control flow, which are not looked at.
bool has_gradients_in_bodies(const Graph& recorded);

// The first operation that makes a NaN of operands without one which reaches a result, with its
// line; "input 2" where that has one already, and empty where the interpreter makes none.
std::string first_nan(const Graph& recorded, const std::vector<Tensor>& inputs,
                      const dsl::Target& target);
bool has_nan(const Tensor& tensor);  // concrete

}  // namespace tilewright::graph
