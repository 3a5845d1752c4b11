// A program that torch.export has written, as data: inputs, the nodes in their order, outputs, and
// constraints on sizes.
//
// Read from foreign JSON, and right in itself once it is read: every name that is used was defined
// before, once; every member has the type that PyTorch's schema (torch/_export/serde/schema.py)
// gives it. Unknown operators are another question (aten/operators.h), and exported_module.h
// computes it.
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/tensor/user/number.h"
#include "models/files/reader.h"
#include "models/programs/signature.h"
#include "runtime/base/dtype.h"

namespace tilewright::exported {

using ValueId = int;  // of a tensor or a number that the program names

// An argument of a node. Lists of tensors may have gaps.
struct TensorName {
  ValueId id;
};
struct TensorNames {
  std::vector<std::optional<ValueId>> ids;
};
struct NumberName {  // an integer, float or flag that another node computes
  ValueId id;
};
using Integer = std::variant<std::int64_t, NumberName>;
enum class MemoryFormat : std::uint8_t { contiguous, channels_last, preserve };
// complex64 or complex128, by the type of the parts.
struct ComplexType {
  DType parts;
};
struct DeviceName {
  std::string text;
};
struct Layout {
  std::int64_t number;
};
// A graph that a higher-order operator runs; its names are its own.
struct Subgraph;
struct GraphArgument {
  std::shared_ptr<const Subgraph> graph;
};
using ArgumentValue =
    std::variant<std::monostate, TensorName, TensorNames, NumberName, bool, std::int64_t, double,
                 std::complex<double>, std::string, std::vector<Integer>, std::vector<double>,
                 std::vector<bool>, DType, ComplexType, MemoryFormat, DeviceName, Layout,
                 GraphArgument>;
struct Argument {
  std::string name;
  ArgumentValue value;
};

struct Node {
  std::string name;
  std::string target;  // "aten.add.Tensor", "_operator.mul"
  std::vector<Argument> arguments;
  std::vector<ValueId> results;  // lists of tensors one by one
  std::string source;            // "modeling_bert.py:82", of the innermost line; may be empty
  bool takes_complex = false;    // among its arguments, as far as the program says so
};

struct Subgraph {
  std::string name;
  std::vector<ValueId> inputs, outputs;  // tensors; inputs may be numbers as well
  std::vector<Node> nodes;
  std::vector<std::string> value_names;  // by ValueId, from 0 on in each graph
};

using programs::SizeExpression;
using programs::SymbolRange;
using programs::TensorFacts;

struct Input {
  // `held`: the user's, which the application holds constant.
  enum class Kind : std::uint8_t { user, parameter, buffer, constant, held };
  Kind kind;
  ValueId value;
  std::string name;  // of a parameter, buffer or constant PyTorch's; of the user's, as in forward()
  TensorFacts facts;  // of complex numbers those of their pairs, a last axis of 2
  bool is_complex = false;
  std::optional<SizeExpression> integer = {};  // of the user's that is one: what sizes call it
  bool is_persistent = true;                   // false: a buffer that PyTorch's state_dict lacks
};
// Where the elements of a tensor lie in PyTorch's memory, in elements.
struct StorageLayout {
  DType dtype;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset;
};
struct Output {
  enum class Kind : std::uint8_t { user, buffer_change, input_change };
  Kind kind;
  ValueId value;     // a tensor, or of the user's a number; none (-1) where that is always the same
  std::string name;  // of the buffer or the user's input that it is written to; else the value's
  std::optional<Number> number = {};  // that is always the same
};

struct Program {
  std::string file;  // for messages
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<Output> outputs;
  std::map<std::string, SymbolRange, std::less<>> symbols;
  std::map<std::string, SymbolRange, std::less<>> functions;  // sizes that are functions, by text
  programs::SizeConditions conditions;       // of the user's inputs, numbered by themselves
  std::vector<std::string> value_names;      // by ValueId
  std::map<ValueId, StorageLayout> layouts;  // where the program has as_strided; of known sizes
  std::string torch_version;
};

// A complex number, or a type of them.
inline bool is_complex_argument(const ArgumentValue& value) {
  return std::holds_alternative<std::complex<double>>(value) ||
         std::holds_alternative<ComplexType>(value);
}

// Calls `visit` with every value that the node's arguments name.
template <typename Visit>
void for_each_used(const Node& node, const Visit& visit) {
  for (const Argument& argument : node.arguments) {
    if (auto* tensor = std::get_if<TensorName>(&argument.value)) visit(tensor->id);
    if (auto* number = std::get_if<NumberName>(&argument.value)) visit(number->id);
    if (auto* tensors = std::get_if<TensorNames>(&argument.value))
      for (auto id : tensors->ids)
        if (id) visit(*id);
    if (auto* integers = std::get_if<std::vector<Integer>>(&argument.value))
      for (const Integer& integer : *integers)
        if (auto* number = std::get_if<NumberName>(&integer)) visit(number->id);
  }
}

// Calls `visit` with each of the nodes, and with those of the graphs that they run.
template <typename Visit>
void for_each_node(const std::vector<Node>& nodes, const Visit& visit) {
  for (const Node& node : nodes) {
    visit(node);
    for (const Argument& argument : node.arguments)
      if (auto* body = std::get_if<GraphArgument>(&argument.value))
        for_each_node(body->graph->nodes, visit);
  }
}

// Raises `Error` "[load_exported] FILE: node "add_1": ..." for faults of the text, which is
// model.json of the archive.
Program read_program(std::string_view text, const std::string& file);

// Limits of model.json and of the descriptions of weights, which suit graphs of 100,000 nodes.
json::Limits program_limits();

}  // namespace tilewright::exported
