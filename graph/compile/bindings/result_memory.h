// Which results of a compiled function are tensors of their own.
//
// A graph knows values and not memory: where a function returns `x.clone()` or `x * 1`, or two sums
// that are equal, the passes leave one node, and its results would be one piece of memory. Whoever
// writes to one of them would change the other, or the argument. What the function returned when it
// was captured says which results may be one: handles and views of one tensor, as in eager mode.
//
// A view of an argument, or of a tensor from outside the function, is one of that tensor's memory:
// the views that the function took are taken again at each call, since the argument may lie
// elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor.h"
#include "runtime/plan/executable.h"

namespace tilewright::graph {

struct ViewTaken {
  Op op;
  Attributes attributes;
};
struct ResultOrigin {
  std::size_t first;                  // of the results that are handles or views of the same tensor
  bool is_input;                      // or of an argument, or of a tensor from outside the function
  std::optional<std::size_t> input;   // of the graph, where it is a handle or a view of one
  std::vector<ViewTaken> views = {};  // of that, in order; none: it is a handle
};
// The results of a function while it is captured.
class Returned {
 public:
  Returned(std::span<const Tensor> results, std::span<const Tensor> arguments);
  // Once the capture has ended, and the tensors that it found are known.
  std::vector<ResultOrigin> origins(const Captured& captured) const;

 private:
  struct Result {
    std::shared_ptr<const TensorBody> body, root;  // the tensor, and what it is a view of
    std::optional<std::size_t> argument;           // that the root is
  };
  std::vector<Result> results_;
  std::size_t arguments_;
};

// A change to a result after a run.
struct ResultChange {
  enum class Kind : std::uint8_t {
    copied,  // since another result, or an input, is the same memory
    joined,  // with the memory of the result `other`, which was copied
    input,   // the input `other` is returned
    view     // the view of the input `other` that its origin says
  };
  std::size_t result;
  Kind kind;
  std::size_t other = 0;
};
// Results of the graph that are views of inputs become these inputs, unless it writes them.
void leave_views_out(Graph& graph, std::span<const ResultOrigin> origins);
// Where the elements of such views lie, of what lies there; none: one of them has to copy.
std::optional<StridedView> place_of(const std::vector<ViewTaken>& views, StridedView place);
// The view of an input that a result is.
Tensor view_of_input(const Tensor& input, const std::vector<ViewTaken>& views);
// In the order in which it is done.
std::vector<ResultChange> changes_of_results(std::span<const ResultOrigin> origins,
                                             const Executable& executable);

}  // namespace tilewright::graph
