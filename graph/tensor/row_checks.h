// Whether the row numbers that a compiled function uses lie inside its tables (Options::
// index_checks): its programs do not say so, they read zeros from a row outside and write to none.
//
// Row numbers that are an input of the graph, or a view of one, and lie in the host's memory are
// looked at before a call, which costs a comparison each. Others are known when the call is over:
// the graph gets two more outputs for each list of them, its least and its greatest element. With
// `repeat` the last time is checked.
#pragma once

#include <functional>
#include <source_location>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/ir/strided_view.h"
#include "graph/tensor/index_checks.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// Raises `Error` unless 0 <= row < rows; `op` takes rows of a table or writes to them.
void require_row(Op op, std::int64_t row, std::int64_t rows, std::source_location where);

// The same for all elements of a concrete tensor of integers.
void require_rows(Op op, const Tensor& numbers, std::int64_t rows, std::source_location where);

class RowChecks {
 public:
  RowChecks() = default;
  // Checks for a graph after the passes; adds the outputs that `wanted` asks for to it.
  // `lies_on_host[i]` says whether Graph::inputs[i] does.
  RowChecks(Graph& graph, IndexChecks wanted, const std::vector<bool>& lies_on_host);

  // Raise `Error` that names the operation and its line.
  void before(const std::function<const Tensor&(std::size_t)>& input) const;
  void after(std::vector<Tensor>& outputs) const;  // takes those that were added away
  bool adds_outputs() const { return added_ > 0; }

 private:
  // What is done by row numbers.
  struct Use {
    Op op;
    std::int64_t rows;
    std::source_location where;
  };
  struct InInput {
    Use use;
    std::size_t input;
    std::vector<std::int64_t> offsets;  // from its first element; empty: `count` from there on
    std::int64_t count;
  };
  struct Computed {
    Use use;
    std::size_t least;  // which output of the graph; the greatest is the next one
  };
  std::vector<InInput> in_inputs_;
  std::vector<Computed> computed_;
  std::size_t added_ = 0;  // outputs
};

}  // namespace tilewright::graph
