// An ONNX model as data: inputs, the nodes in their order, outputs.
//
// Right in itself once it is read: every value that a node reads was given before, and once. Names
// of files have become numbers. Bodies of branches and loops are graphs of their own, whose values
// are numbered with those of the graph around: they read these by their numbers. Unknown operators
// are another question (operators/table.h).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "models/onnx/program/declared.h"
#include "models/onnx/program/value.h"
#include "models/programs/signature.h"

namespace tilewright::onnx {

using ValueId = std::int32_t;
constexpr ValueId no_value = -1;  // of an operand that was left out

struct Graph;
using Subgraph = std::shared_ptr<const Graph>;  // the body of a branch or loop
using AttributeValue =
    std::variant<std::monostate, double, std::int64_t, std::string, Value, std::vector<double>,
                 std::vector<std::int64_t>, std::vector<std::string>, Subgraph>;
struct Attribute {
  std::string name;
  AttributeValue value;
};

struct Node {
  std::string name;  // of the file, or of its first result
  std::string op;    // "Gemm"; of another domain than ai.onnx "com.microsoft.Gelu"
  std::vector<ValueId> inputs, outputs;
  std::vector<Attribute> attributes;
  std::int64_t opset = 0;  // that its operator is of: a function of the model's may have its own
};

struct Output {
  std::string name;
  ValueId value;
};
struct Initializer {
  std::string name;
  ValueId value;
  Tensor tensor;
  bool is_held = false;  // an input that the application holds constant
};

// An input that may be left out, for there is an initializer of its name.
struct DefaultInput {
  programs::SignatureInput input;
  ValueId value;
};

struct Graph {
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<Node> nodes;
  std::vector<Output> outputs;
};

struct Program {
  std::string file;      // for messages
  std::string producer;  // "pytorch 2.9.0"
  std::int64_t opset = 0;
  programs::Signature signature;          // of the inputs of `graph`
  std::vector<Initializer> initializers;  // of all graphs
  std::vector<DefaultInput> defaults;
  Graph graph;
  std::size_t values = 0;                          // ids are below
  std::unordered_map<ValueId, Declared> declared;  // but for the inputs of `graph`

  const Declared* declared_of(ValueId id) const {
    auto found = declared.find(id);
    return found == declared.end() ? nullptr : &found->second;
  }
  // Raises `Error` where the value contradicts its declaration.
  void require_as_declared(ValueId id, const Value& value) const {
    if (const Declared* said = declared_of(id)) require_declared(*said, value);
  }
};

// Calls `visit` for each node of the graph, each followed by those of its bodies.
template <typename Visit>
void for_each_node(const Graph& graph, const Visit& visit) {
  for (const Node& node : graph.nodes) {
    visit(node);
    for (const Attribute& attribute : node.attributes)
      if (auto* body = std::get_if<Subgraph>(&attribute.value)) for_each_node(**body, visit);
  }
}

}  // namespace tilewright::onnx
