// Functions of the library as single nodes of a captured graph.
//
// A captured graph records what the user wrote: a call of conv2d or svd is one node, whatever
// device it will run on. The node is a composite (`custom_formula`) that carries the function's
// name and settings; `decompose` expands it, for the target that the graph is compiled for, into
// what the function's body records. So the body may choose an algorithm by the target, reports
// speak of the function, and captured graphs are equal on all devices. A function may have a rule
// for its derivative, as a function of tensors; without one it is differentiated by its body.
//
//   const NamedFunction inverse_function("inverse", [](const FunctionCall& call) -> Tensors {
//     return {call.target.is_gpu() ? by_loops(call[0]) : by_the_host(call[0])};
//   });
//   Tensor inverse(const TensorOperand& a) { return inverse_function({a.tensor}, {}, a.where)[0]; }
//
// Outside a capture a call runs at once, as one operation, compiled once for its settings and the
// types of its operands. The public function checks its arguments before it makes the call, so that
// errors name the caller's line, and has indices checked; a body may rely on both.
//
// Each has a row in functions.def, by which a graph's text finds it.
#pragma once

#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/target/target.h"
#include "graph/custom/settings.h"
#include "graph/ir/custom_reference.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The arguments of a body. Operands are symbolic tensors, undefined where the caller gave none.
struct FunctionCall {
  std::span<const Tensor> operands;
  const Settings& settings;
  const dsl::Target& target;  // that the call is expanded for
  std::source_location where;

  const Tensor& operator[](std::size_t i) const { return operands[i]; }
};

// The arguments of a rule: the call, its results, and their cotangents, undefined where none flows.
struct DerivativeCall : FunctionCall {
  std::span<const Tensor> results, cotangents;
  const std::vector<bool>& wanted;  // by operand

  bool wants(std::size_t operand) const { return wanted[operand]; }
};

class NamedFunction {
 public:
  // Gives the results. Looks at no data, writes nothing, and uses no tensor besides its operands.
  using Body = std::vector<Tensor> (*)(const FunctionCall& call);

  // Gives the cotangents of the operands, undefined where none is wanted or flows. Under the same
  // conditions; it is made of functions that have derivatives.
  using Derivative = std::vector<Tensor> (*)(const DerivativeCall& call);

  constexpr NamedFunction(std::string_view name, Body body, Derivative derivative = nullptr)
      : name_(name), body_(body), derivative_(derivative) {}
  std::string_view name() const { return name_; }
  Body body() const { return body_; }
  Derivative derivative() const { return derivative_; }

  // Applies it: a node of the active capture, or at once. Operands may be undefined, but not all.
  std::vector<Tensor> operator()(std::span<const Tensor> operands, Settings settings,
                                 std::source_location where) const;
  std::vector<Tensor> operator()(std::initializer_list<Tensor> operands, Settings settings,
                                 std::source_location where) const {
    return (*this)(std::span(operands.begin(), operands.size()), std::move(settings), where);
  }

 private:
  std::string_view name_;
  Body body_;
  Derivative derivative_;
};

// All of functions.def.
std::span<const NamedFunction* const> named_functions();

}  // namespace tilewright::graph
