// The graph passes, each in the file of its name. Every one keeps the graph's inputs and the order
// of outputs and mutations, and the values of both (canonicalise: up to the sign of zero, and the
// order of a sum of all elements).
#pragma once

#include "dsl/target/target.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

// Integers and conditions that follow from where they stand alone (affine_form.h) are written as
// constants and ranges, and choices that they decide go.
Graph decide_by_places(const Graph& graph);
// Products around a softmax that was written out become attention: up to rounding, as the order of
// sums is another one and scores are kept in f32.
Graph form_attention(const Graph& graph);
// Masks of attention that say by places what a row sees become causal rows and windows of it.
Graph place_masks(const Graph& graph);
// Gradients of functions become the functions and what their derivatives are made of.
Graph differentiate(const Graph& graph, const dsl::Target& target);
// The same, but calls of checkpointed functions stay.
Graph expand_gradients(const Graph& graph, const dsl::Target& target);
// Losses that are computed with their gradients, each logit once
// (functions/linear_cross_entropy.h).
Graph join_losses(const Graph& graph);
// Composites become the ops of their decompositions for the target, each result what computes it.
// After it no composite is left.
Graph decompose(const Graph& graph, const dsl::Target& target = dsl::host_target());
// What stands between views that move channels to the end and back works on them there.
Graph keep_channels_last(const Graph& graph);
// Comparisons and choices of integers whose outcome follows from the ranges that their operands can
// have (known_range.h), as most of what is made of an index, are that outcome.
Graph decide_by_ranges(const Graph& graph);
// Views of views become one, views and casts that do nothing go, arithmetic on constants is done,
// neutral elements go. Products that are only read transposed, and reductions of all elements, take
// the order in which elements lie.
Graph canonicalise(const Graph& graph);
// Nodes that compute the same value become one.
Graph common_subexpressions(const Graph& graph);
// Numbers that follow from places alone are computed by each gather of single elements by them.
Graph repeat_numbers(const Graph& graph);
// Nodes that no output and no mutation needs go; inputs stay, and what one of several results
// needs. A scan stacks no result that nothing reads.
Graph dead_code(const Graph& graph);

}  // namespace tilewright::graph
