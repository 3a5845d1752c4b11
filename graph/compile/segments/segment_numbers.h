// The numbers in a segment's graph: constants of its plan, or inputs behind the others where they
// vary from run to run.
#pragma once

#include <vector>

#include "graph/ir/ir.h"
#include "graph/tensor/recording/recorded_graph.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

std::vector<RecordedNumber> numbers_of(const Graph& graph);  // of its `full` nodes
// The graph with the numbers that vary as inputs behind the others, of one element each.
Graph with_inputs(Graph graph, const std::vector<bool>& varies);
// Memory for the numbers that vary, each a tensor that has one element in many places.
std::vector<Tensor> tensors_of_numbers(const Graph& graph, const std::vector<bool>& varies);
void write_number(const Tensor& to, const RecordedNumber& number);

}  // namespace tilewright::graph
