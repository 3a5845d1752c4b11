#include <algorithm>
#include <charconv>
#include <range/v3/view/zip.hpp>

#include "graph/ir/text.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// The shortest text that reads back as the same number.
std::string text_of(double number) {
  char digits[64];
  auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  return {digits, end};
}

template <typename List>
std::string joined(const List& list, char separator) {
  std::string text;
  for (const auto& item : list) {
    if (!text.empty()) text += separator;
    text += std::to_string(item);
  }
  return text.empty() ? "scalar" : text;
}

std::string text_of(std::int64_t number) { return std::to_string(number); }
std::string text_of(bool flag) { return flag ? "1" : "0"; }
std::string text_of(const std::vector<int>& list) { return joined(list, 'x'); }
std::string text_of(const Shape& sizes) { return joined(sizes, 'x'); }
std::string text_of(ir::ReduceKind kind) { return std::string(ir::name_of(kind)); }
std::string text_of(const CustomReference& custom) { return custom.text(); }

// Each between < and >, its lines ended by ';'.
std::string text_of(const Bodies& bodies) {
  std::string text;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    std::string body = print(bodies[i]);
    std::ranges::replace(body, '\n', ';');
    text += "<" + body + ">";
  }
  return text;
}

// True if the node's line says it elsewhere: a constant's sizes stand in its type.
bool is_in_type(const Node& node, AttributeField field) {
  return field == AttributeField::sizes && chooses_dtype(node.op);
}
// The number of a constant is its value, and is shown even if it is the default.
bool is_value(const Node& node, AttributeField field) {
  return field == AttributeField::number && node.op == Op::full;
}

// Attributes that differ from their defaults.
std::string text_of(const Node& node, const Strides& strides) {
  std::string text;
  auto say = [&](std::string_view name, const std::string& value) {
    text += concat(text.empty() ? " {" : ", ", name, "=", value);
  };
  for_each_attribute(node.attributes,
                     [&](AttributeField field, std::string_view name, const auto& value) {
                       bool is_shown = !is_default(field, node.attributes) || is_value(node, field);
                       if (is_shown && !is_in_type(node, field)) say(name, text_of(value));
                     });
  if (!strides.empty()) say("strides", joined(strides, 'x'));
  return text.empty() ? text : text + "}";
}

}  // namespace

std::string attribute_text(const Attributes& attributes) {
  std::string text;
  for_each_attribute(attributes,
                     [&](AttributeField field, std::string_view name, const auto& value) {
                       if (!is_default(field, attributes))
                         text += concat(text.empty() ? "" : ", ", name, "=", text_of(value));
                     });
  return text;
}

std::string print(const Graph& graph) {
  std::vector<Strides> strides(graph.nodes.size());
  for (auto&& [id, own] : ranges::views::zip(graph.inputs, graph.input_strides)) strides[id] = own;
  std::string text = "graph {\n";
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    text += concat("  %", id, ": ", node.dtype, "[", node.shape, "]");
    for (const ValueType& other : node.others)
      text += concat(", ", other.dtype, "[", other.shape, "]");
    text += concat(" = ", info(node.op).name);
    const char* separator = " ";
    for (NodeId operand : node.operands) {
      text += concat(separator, "%", operand);
      separator = ", ";
    }
    text += text_of(node, strides[id]) + "\n";
  }
  text += "  inputs";
  for (NodeId id : graph.inputs) text += concat(" %", id);
  text += "\n  return";
  for (NodeId id : graph.outputs) text += concat(" %", id);
  text += "\n";
  for (const Mutation& m : graph.mutations)
    text += concat("  write %", m.input, " = %", m.value, "\n");
  return text + "}\n";
}

}  // namespace tilewright::graph
