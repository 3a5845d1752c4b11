// A gradient as a node of a captured graph: a function as it was captured, its body, with the
// gradients of some of its inputs.
//
//     %3: f32[], f32[8] = custom_formula %0, %1, %2
//         {custom=gradient(inputs=0, outputs=0, body=<graph {...}>)}
//
// Operands are the body's inputs, then a cotangent for each output that has one; results are the
// body's outputs, then the gradients of the inputs of these numbers. A body is a graph of its own,
// as those of control flow: passes that form attention and place masks run over it before the pass
// `differentiate` expands it, so that an attention that was written out is one with its derivative.
// The node is a composite of one definition (graph/custom/definition.h) for each body.
#pragma once

#include <string_view>

#include "graph/ir/custom_reference.h"
#include "graph/ops/derivatives/gradient_graph.h"

namespace tilewright::graph {

inline constexpr std::string_view gradient_name = "gradient";

// The body has no mutations; outputs with cotangents and inputs with gradients are floating.
CustomReference gradient_of(Graph body, GradientRequest request);
// From the text of such a definition's settings. Raises `Error` where it does not read.
CustomReference gradient_from_text(std::string_view text);

// The identity with the derivative 0.
CustomReference stop_gradient_op();

}  // namespace tilewright::graph
