// A function of a list of tensors that was captured to be differentiated. Its results and the
// gradients of some of its inputs are computed as one node (gradient_node.h), or as one for the
// results and one for the gradients.
//
// The function is run once, over symbolic tensors, wherever it is: within a capture as a body of
// it, else by itself. Values of tensors that it reads are computed from those of its inputs; a
// capture around it breaks for that, and the function is run again. Tensors that it writes in place
// (running statistics, the state of a generator) are written when the gradients are computed, once
// a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string_view>
#include <vector>

#include "dsl/target/target.h"
#include "graph/ir/custom_reference.h"
#include "graph/tensor/tensor.h"

namespace tilewright {
struct TensorType;  // graph/custom/custom_call.h
}

namespace tilewright::graph {

struct Graph;       // graph/ir/ir.h
struct IndexRange;  // graph/ir/ir.h

class DifferentiatedFunction {
 public:
  using Tensors = std::vector<Tensor>;
  using Function = std::function<Tensors(const Tensors&)>;

  // `name` is the user's word for it in messages, a literal. It may be differentiated by its inputs
  // and by these tensors that it refers to. Raises `Error` for undefined inputs, and for what a
  // function that is differentiated may not do.
  DifferentiatedFunction(std::string_view name, const Function& function, Tensors inputs,
                         std::source_location where, const Tensors& references = {});
  ~DifferentiatedFunction();
  // The numbers of the references among the inputs, which follow the arguments.
  const std::vector<std::size_t>& references() const { return references_; }

  std::size_t count() const { return results_; }  // of its results
  TensorType result(std::size_t i) const;

  struct Gradients {
    Tensors results, gradients;  // of the function; of the wanted inputs, in their order
  };
  // By a cotangent for each result, undefined where none flows. Raises `Error` where one has
  // another type than the result, and for inputs and results that are not floating.
  Gradients gradients(const std::vector<std::size_t>& wanted, const Tensors& cotangents) const;

  // The results now, and the gradients of the wanted inputs later, from cotangents as above of all
  // floating results. Writes of the function happen now. The pullback keeps the values that
  // it reads; tensors that the function reads and does not write are not copied outside of a
  // capture.
  struct Split {
    Tensors results;
    Function pullback;
  };
  Split split(const std::vector<std::size_t>& wanted) const;

  // The derivatives of all results, which are floating, in the direction of a tangent for each
  // argument, as `gradients` of the result.
  Gradients directional(const Tensors& tangents) const;

  // Compares gradients with differences of the function in as many random directions, those of the
  // seed and of the numbers after it. Raises `Error` where they differ by more than the tolerance,
  // relative to their sizes. Nothing is written.
  void check(int directions, std::uint64_t seed, double tolerance) const;

  // The results, whose gradients around it compute the function again.
  Tensors checkpointed() const;

 private:
  void require_floating(const std::vector<std::size_t>& wanted) const;
  void require_cotangent(std::size_t result, const Tensor& cotangent) const;
  // The results of the function, and those that a node with the body's outputs has behind them.
  // Writes of the function happen.
  Gradients apply_node(CustomReference custom, const Tensors& operands) const;
  Tensors values_of(const std::vector<std::size_t>& inputs) const;
  dsl::Target target() const;
  void take_writes();
  void take_index_checks();

  std::string_view name_;
  std::source_location where_;
  std::shared_ptr<Graph> body_;  // that copies share
  std::size_t arguments_;  // of the inputs, the first
  std::size_t results_ = 0;
  std::vector<std::size_t> references_;
  Tensors inputs_;
  Tensors written_;                 // by the outputs behind the results
  std::vector<IndexRange> ranges_;  // of the outputs behind these
};

}  // namespace tilewright::graph
