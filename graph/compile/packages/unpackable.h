// The errors for what no package holds, with the line that asks for it and a way out.
//
// Apart from package_maker.h, which lays out what a package does hold.
#pragma once

#include <cstddef>
#include <string>

#include "graph/ir/ir.h"
#include "graph/run/plan.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// Raise `Error` "[save_package] ...". `graph` is that of the plan, which may be a body's.

// For a program that is no code.
[[noreturn]] void raise_call(const Graph& graph, const Plan& plan, std::size_t program);
// For an input that is written, and is no argument.
[[noreturn]] void raise_written(const Graph& graph, std::size_t input, const Tensor& tensor);

}  // namespace tilewright::graph
