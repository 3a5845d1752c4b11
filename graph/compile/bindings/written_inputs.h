// The inputs that a plan writes in place.
//
// Its kernels read all other inputs as if they were elsewhere in memory, and no copy of frozen
// memory would follow a write. Both are looked at before each call.
#pragma once

#include <cstddef>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "graph/compile/bindings/plan_inputs.h"
#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

class WrittenInputs {
 public:
  // The inputs that a graph mutates. Messages call the arguments by these names.
  WrittenInputs(const Graph& graph, std::vector<std::string> names);

  const std::vector<std::size_t>& numbers() const { return numbers_; }
  // Raises `Error` where one of them is frozen.
  void require_not_frozen(const PlanInputs& inputs, const std::vector<Tensor>& arguments) const;
  // One of them that shares elements with another input.
  struct Shared {
    std::size_t written;  // of `numbers`
    std::size_t other;    // input
  };
  std::optional<Shared> shared(const PlanInputs& inputs,
                               const std::vector<Tensor>& arguments) const;
  [[noreturn]] void raise_shared(Shared shared, const PlanInputs& inputs,
                                 const std::vector<Tensor>& arguments) const;

 private:
  std::string text_of(std::size_t input, const Tensor& tensor) const;

  std::vector<std::size_t> numbers_;         // of inputs
  std::vector<std::source_location> where_;  // of what is written to each
  std::vector<std::string> names_;
};

}  // namespace tilewright::graph
