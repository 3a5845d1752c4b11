#include "graph/compile/reports/derivative_report.h"

#include <algorithm>

#include "dsl/launch/device.h"
#include "graph/custom/definition.h"
#include "graph/functions/differentiating/gradient_node.h"
#include "graph/passes/passes.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

std::string rule_of(const Node& node) {
  const CustomReference& custom = node.attributes.custom;
  if (!custom.is_defined()) return "of the op";
  if (!custom->derivative) return "of its formula";
  return function_named(custom->name, custom->settings).is_defined() ? "of the function"
                                                                     : "the program's own";
}

// Nodes that a wanted input reaches.
std::vector<DerivativeRule> rules_in(const Graph& body, const std::vector<std::size_t>& inputs) {
  std::vector<bool> is_active(body.nodes.size());
  for (std::size_t i : inputs) is_active[body.inputs[i]] = true;
  std::vector<DerivativeRule> rules;
  for (NodeId id = 0; id < body.nodes.size(); ++id) {
    const Node& node = body.node(id);
    const bool is_reached =
        std::ranges::any_of(node.operands, [&](NodeId operand) { return is_active[operand]; });
    const CustomReference& custom = node.attributes.custom;
    const bool stops = custom.is_defined() && custom->stops_gradient;
    if (!is_reached || stops || !is_floating(node.dtype)) continue;
    is_active[id] = true;
    if (node.op == Op::result) continue;
    const DerivativeRule rule{std::string(word_of(node.origin)), rule_of(node)};
    const auto known = std::ranges::find_if(rules, [&](const DerivativeRule& other) {
      return other.op == rule.op && other.rule == rule.rule;
    });
    if (known == rules.end())
      rules.push_back(rule);
    else
      ++known->count;
  }
  return rules;
}

SavedValue saved_value(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return {std::string(word_of(node.origin)), describe(node.where), node.dtype, node.shape,
          element_count(node.shape) * size_bytes(node.dtype)};
}

}  // namespace

DerivativeReport derivative_report(const CustomReference& gradient, std::source_location where) {
  const CustomDefinition::Gradient& of = *gradient->gradient;
  const dsl::Target target = default_device().target();
  const Graph body = before_gradients(of.body, target);
  const SplitGradient split = split_gradient(body, {of.inputs, of.outputs}, target);
  DerivativeReport report{.where = describe(where),
                          .inputs = std::ssize(split.inputs),
                          .computed_again = std::ssize(split.backward.marks),
                          .rules = rules_in(differentiate(body, target), of.inputs)};
  for (std::size_t i = body.outputs.size(); i < split.forward.outputs.size(); ++i) {
    report.saved.push_back(saved_value(split.forward, split.forward.outputs[i]));
    report.saved_bytes += report.saved.back().bytes;
  }
  std::ranges::stable_sort(report.saved, std::ranges::greater(), &SavedValue::bytes);
  return report;
}

std::string text_of(const DerivativeReport& report) {
  std::string text =
      concat("  derivative at ", report.where, ": keeps ", report.saved.size(),
             report.saved.size() == 1 ? " value of the function, " : " values of the function, ",
             report.saved_bytes, " B, and reads ", report.inputs, " of its inputs\n");
  if (report.computed_again > 0)
    text += concat("    calls of checkpointed functions that are computed again: ",
                   report.computed_again, "\n");
  for (const SavedValue& value : report.saved)
    text += concat("    ", value.bytes, " B  ", value.dtype, " ", value.shape, "  ", value.op,
                   " at ", value.where, "\n");
  for (const DerivativeRule& rule : report.rules)
    text += concat("    by the rule ", rule.rule, ": ", rule.op,
                   rule.count == 1 ? "" : concat(", ", rule.count, " times"), "\n");
  return text;
}

}  // namespace tilewright::graph
