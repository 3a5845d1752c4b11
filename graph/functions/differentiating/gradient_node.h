// Derivatives as nodes of a captured graph: a function as it was captured, its body, with the
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
//
// Two other nodes have a body alone. `inlined` is its body: the parts of a gradient whose
// cotangents come later, and tangents. `checkpoint` is its body, too, but a gradient around it
// computes the values of the body again instead of keeping them.
#pragma once

#include <string_view>

#include "graph/ir/custom_reference.h"
#include "graph/ops/derivatives/gradient_graph.h"

namespace tilewright::graph {

inline constexpr std::string_view gradient_name = "gradient";

// The body has no mutations; outputs with cotangents and inputs with gradients are floating.
CustomReference gradient_of(Graph body, GradientRequest request);
CustomReference inlined(Graph body);
// The part of a gradient that has its results, for which reports take it.
CustomReference inlined_forward(Graph forward, Graph body, GradientRequest request);
CustomReference checkpoint_of(Graph body);
// From the name of such a definition and the text of its settings; undefined for other names.
// Raises `Error` where it does not read.
CustomReference gradient_from_text(std::string_view name, std::string_view settings);

// The graph after the passes that a captured graph goes through before its gradients are expanded.
Graph before_gradients(const Graph& body, const dsl::Target& target);

// The identity with the derivative 0.
CustomReference stop_gradient_op();

}  // namespace tilewright::graph
