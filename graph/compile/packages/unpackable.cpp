#include "graph/compile/packages/unpackable.h"

#include <algorithm>
#include <source_location>
#include <vector>

#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

std::string at_line(std::source_location where) {
  return where.line() > 0 ? concat(" at ", describe(where)) : std::string();
}

// The first node that the user wrote as `word`; null: there is none. Bodies of control flow too.
const Node* node_written_as(const Graph& graph, std::string_view word) {
  for (const Node& node : graph.nodes) {
    if (word_of(node.origin) == word) return &node;
    for (std::size_t i = 0; i < node.attributes.bodies.size(); ++i)
      if (const Node* inside = node_written_as(node.attributes.bodies[i], word)) return inside;
  }
  return nullptr;
}

}  // namespace

void raise_call(const Graph& graph, const Plan& plan, std::size_t program) {
  const std::vector<std::string>& ops = plan.programs()[program].user_ops;
  std::string names = ops.empty() ? plan.programs()[program].name : std::string();
  for (const std::string& op : ops) {
    const Node* node = node_written_as(graph, op);
    names += concat(names.empty() ? "" : ", ", op, node ? at_line(node->where) : std::string());
  }
  raise_error(concat(
      "[save_package] ", names,
      " runs as a call inside this process, which no package can hold: factorizations of matrices, "
      "custom ops that are C++, and interpreted or checked kernels are such calls; compute it "
      "before the call and pass the result as an argument, or write the op as a TileKernel or as a "
      "function of tensors"));
}

void raise_written(const Graph& graph, std::size_t input, const Tensor& tensor) {
  const auto write = std::ranges::find(graph.mutations, graph.inputs[input], &Mutation::input);
  raise_error(concat("[save_package] the function writes", at_line(graph.node(write->value).where),
                     " to a tensor that is no argument, ", tensor.dtype(), " ", tensor.shape(),
                     "; pass it as an argument, so that each caller of the package has its own"));
}

}  // namespace tilewright::graph
