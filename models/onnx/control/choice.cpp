#include "models/onnx/control/choice.h"

#include <optional>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/custom/refused_op.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/tensor/guarded.h"
#include "graph/tensor/recording/graph_break.h"
#include "models/onnx/control/running.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright::onnx {
namespace {

// A branch as a function for cond(), which keeps the types of its results, or its error.
class Branch {
 public:
  Branch(const Graph& graph, Execution& execution) : graph_(graph), execution_(execution) {}

  Tensors operator()() {
    Tensors results;
    try {
      for (const Value& value : run(graph_, {}, execution_)) results.push_back(value.tensor());
    } catch (const graph::GraphBreak&) {
      throw;
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& error) {
      error_ = error.what();
      throw;
    }
    types_.clear();
    for (const Tensor& each : results) types_.push_back({each.dtype(), each.shape()});
    return results;
  }
  const std::vector<TensorType>& types() const { return types_; }
  // The error that every run with these sizes raises. Loops raise others inside compile().
  const std::optional<std::string>& error() const { return error_; }
  bool has_loops() const {
    bool found = false;
    for_each_node(graph_,
                  [&](const Node& node) { found |= node.op == "Loop" || node.op == "Scan"; });
    return found;
  }

 private:
  const Graph& graph_;
  Execution& execution_;
  std::vector<TensorType> types_;
  std::optional<std::string> error_;
};

// Results of these types, whose computation raises the error: those that have elements.
Tensors refused(const std::string& error, const std::vector<TensorType>& types) {
  std::vector<TensorType> computed;
  for (const TensorType& type : types)
    if (element_count(type.shape) > 0) computed.push_back(type);
  Tensors values;
  if (!computed.empty()) values = refused_op("refused_branch", computed, error).all({});
  Tensors results;
  auto next = values.begin();
  for (const TensorType& type : types)
    results.push_back(element_count(type.shape) > 0 ? *next++ : zeros(type.shape, type.dtype));
  return results;
}

// Both branches as parts of the graph, or nothing where they cannot be.
std::optional<Tensors> as_node(const Tensor& condition, Branch& if_true, Branch& if_false) {
  try {
    return cond(
        condition, [&](const Tensors&) { return if_true(); },
        [&](const Tensors&) { return if_false(); });
  } catch (const Error&) {  // one of them cannot be in a graph, or is wrong
  }
  Branch& wrong = if_true.error() ? if_true : if_false;
  Branch& right = if_true.error() ? if_false : if_true;
  if (!wrong.error() || wrong.has_loops()) return std::nullopt;
  try {
    return cond(
        if_true.error() ? bitwise_not(condition) : condition,
        [&](const Tensors&) { return right(); },
        [&](const Tensors&) { return refused(*wrong.error(), right.types()); });
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Results chosen(const Call& call) {
  const Graph &then_branch = call.graph("then_branch"), &else_branch = call.graph("else_branch");
  require(is_boolean(call.dtype(0)) && element_count(call.shape(0)) == 1,
          "[onnx] the condition is ", call.dtype(0), " [", call.shape(0),
          "]; bool of one element is wanted");
  require(then_branch.outputs.size() == else_branch.outputs.size(), "[onnx] one branch gives ",
          then_branch.outputs.size(), " values, the other ", else_branch.outputs.size(),
          "; both must give as many");
  if (call.known(0) == nullptr && graph::is_capturing()) {
    Branch if_true(then_branch, call.execution()), if_false(else_branch, call.execution());
    if (auto results = as_node(call.tensor(0).reshape({}), if_true, if_false))
      return {results->begin(), results->end()};
  }
  const Graph& branch = call.scalar(0).as_integer() != 0 ? then_branch : else_branch;
  return run(branch, {}, call.execution());
}

}  // namespace tilewright::onnx
