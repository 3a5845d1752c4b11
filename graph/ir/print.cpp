#include <charconv>
#include <cmath>

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

// Attributes that differ from their defaults. A constant's sizes stand in its type.
std::string text_of(const Node& node, const Strides& strides) {
  const Attributes& a = node.attributes;
  std::string text;
  auto say = [&](std::string_view name, const std::string& value) {
    text += concat(text.empty() ? " {" : ", ", name, "=", value);
  };
  bool shape_is_given = info(node.op).kind == Kind::constant || node.op == Op::input;
  if (!a.axes.empty()) say("axes", joined(a.axes, 'x'));
  if (!shape_is_given && !a.sizes.empty()) say("sizes", joined(a.sizes, 'x'));
  if (a.start != 0) say("start", std::to_string(a.start));
  if (a.end != 0) say("end", std::to_string(a.end));
  if (a.step != 1) say("step", std::to_string(a.step));
  if (a.number != 0 || std::signbit(a.number) || node.op == Op::full)
    say("number", text_of(a.number));
  if (a.flag) say("flag", "1");
  if (a.causal) say("causal", "1");
  if (a.window != 0) say("window", std::to_string(a.window));
  if (!strides.empty()) say("strides", joined(strides, 'x'));
  return text.empty() ? text : text + "}";
}

}  // namespace

std::string print(const Graph& graph) {
  std::vector<Strides> strides(graph.nodes.size());
  for (std::size_t i = 0; i < graph.input_strides.size(); ++i)
    strides[graph.inputs[i]] = graph.input_strides[i];
  std::string text = "graph {\n";
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    text += concat("  %", id, ": ", node.dtype, "[", node.shape, "] = ", info(node.op).name);
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
