// Which results of a compiled function are tensors of their own.
//
// A graph knows values and not memory: where a function returns `x.clone()` or `x * 1`, or two sums
// that are equal, the passes leave one node, and its results would be one piece of memory. Whoever
// writes to one of them would change the other, or the argument. What the function returned when it
// was captured says which results may be one: handles and views of one tensor, as in eager mode.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/tensor/tensor.h"
#include "runtime/plan/executable.h"

namespace tilewright::graph {

struct ResultOrigin {
  std::size_t first;                 // of the results that are handles or views of the same tensor
  bool is_input;                     // or of an argument, or of a tensor from outside the function
  std::optional<std::size_t> input;  // of the graph, where it is a handle of one
};
// What a function returned, while it is captured.
class Returned {
 public:
  Returned(std::span<const Tensor> results, std::span<const Tensor> arguments);
  // Once the capture has ended, and the tensors that it found are known.
  std::vector<ResultOrigin> origins(std::span<const Tensor> captured) const;

 private:
  struct Result {
    std::shared_ptr<const TensorBody> body, root;  // the tensor, and what it is a view of
    std::optional<std::size_t> argument;           // that the root is
  };
  std::vector<Result> results_;
  std::size_t arguments_;
};

// What is done about a result after a run.
struct ResultChange {
  enum class Kind : std::uint8_t {
    copied,  // since another result, or an input, is the same memory
    joined,  // with the memory of the result `other`, which was copied
    input    // the input `other` is returned
  };
  std::size_t result;
  Kind kind;
  std::size_t other = 0;
};
// In the order in which it is done.
std::vector<ResultChange> changes_of_results(std::span<const ResultOrigin> origins,
                                             const Executable& executable);

}  // namespace tilewright::graph
