// The reverse sweep: a graph is copied, and the rules of its nodes (graph/ops/derivatives) are
// applied from the last to the first, for those nodes that a wanted input reaches and that reach an
// output with a cotangent.
#include <algorithm>
#include <map>

#include "graph/custom/definition.h"
#include "graph/ops/derivatives/differential.h"
#include "graph/passes/passes.h"
#include "graph/passes/splice.h"

namespace tilewright::graph {

namespace {

Cotangents rule_of(Op op, const Differential& d) {
  switch (op) {
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  case Op::name:                                                                     \
    return derivative(The<Op::name>{}, d);
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
  }
  __builtin_unreachable();
}

class ReverseSweep {
 public:
  ReverseSweep(const Graph& body, const dsl::Target& target)
      : body_(body), target_(target), builder_(to_), active_(body.nodes.size()) {}

  Graph run(const GradientRequest& request) {
    for (std::size_t i : request.inputs) active_[body_.inputs[i]] = true;
    for (NodeId id = 0; id < body_.nodes.size(); ++id) copy(id);
    for (std::size_t i : request.outputs) {
      const NodeId output = body_.outputs[i];
      const Node& node = body_.node(output);
      const NodeId cotangent = builder_.input(node.dtype, node.shape);
      if (active_[output]) add(output, 0, {&builder_, cotangent});
    }
    for (auto id = static_cast<NodeId>(body_.nodes.size()); id-- > 0;)
      if (active_[id] && body_.node(id).op != Op::input) go_back(id);
    for (NodeId id : body_.outputs) to_.outputs.push_back(ids_[id]);
    for (std::size_t i : request.inputs) to_.outputs.push_back(gradient_of(body_.inputs[i]).id);
    return std::move(to_);
  }

 private:
  bool is_floating_node(const Node& node) const {
    return is_floating(node.dtype) || std::ranges::any_of(node.others, [](const ValueType& t) {
             return is_floating(t.dtype);
           });
  }

  void copy(NodeId id) {
    const Node& node = body_.node(id);
    builder_.set_location(node.where);
    builder_.set_origin(node.origin);
    if (node.op == Op::input) {
      ids_.push_back(builder_.input(node.dtype, node.shape));
      return;
    }
    std::vector<NodeId> operands;
    for (NodeId operand : node.operands) operands.push_back(ids_[operand]);
    const CustomReference& custom = node.attributes.custom;
    const bool stops = custom.is_defined() && custom->stops_gradient;
    active_[id] = !stops && is_floating_node(node) && std::ranges::any_of(node.operands, [&](NodeId operand) {
                    return active_[operand];
                  });
    if (node.op == Op::result) active_[id] = active_[id] && is_floating(node.dtype);
    Attributes attributes =
        active_[id] && node.op == Op::scan ? with_saved_states(node.attributes) : node.attributes;
    ids_.push_back(chooses_dtype(node.op)
                       ? builder_.append(node.op, std::move(operands), attributes, node.dtype)
                       : builder_.append(node.op, std::move(operands), attributes));
  }

  void add(NodeId id, std::size_t result, const Term& cotangent) {
    cotangents_[{id, result}].push_back(cotangent);
  }

  // The sum of a value's cotangents in the dtype that sums are made in, rounded once to its own.
  std::optional<Term> sum_of(NodeId id, std::size_t result, DType dtype) {
    auto found = cotangents_.find({id, result});
    if (found == cotangents_.end()) return std::nullopt;
    std::vector<Term>& parts = found->second;
    if (parts.size() == 1) return parts[0].to(dtype);
    const DType wide = accumulator(dtype);
    Term sum = parts[0].to(wide);
    for (std::size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i].to(wide);
    return sum.to(dtype);
  }

  Term gradient_of(NodeId input) {
    const Node& node = body_.node(input);
    builder_.set_location(node.where);
    builder_.set_origin(node.origin);
    if (auto sum = sum_of(input, 0, node.dtype)) return *sum;
    return {&builder_, builder_.full(node.dtype, node.shape, 0)};
  }

  // Every result of the copy, with its type.
  std::vector<Term> results_of(NodeId copied) {
    std::vector<Term> results;
    for (NodeId id : builder_.results_of(copied)) results.push_back({&builder_, id});
    return results;
  }

  void go_back(NodeId id) {
    const Node& node = body_.node(id);
    builder_.set_location(node.where);
    builder_.set_origin(node.origin);
    if (node.op == Op::result) {
      if (auto sum = sum_of(id, 0, node.dtype))
        add(node.operands[0], static_cast<std::size_t>(node.attributes.index), *sum);
      return;
    }
    const std::size_t own_results = 1 + node.others.size();
    std::vector<std::optional<Term>> given;
    for (std::size_t i = 0; i < own_results; ++i)
      given.push_back(sum_of(id, i, i == 0 ? node.dtype : node.others[i - 1].dtype));
    if (std::ranges::none_of(given, [](const auto& each) { return each.has_value(); })) return;
    const Node copied = to_.node(ids_[id]);
    Differential d{copied, target_, {}, results_of(ids_[id]), std::move(given), {}};
    d.cotangents.resize(d.results.size());
    for (NodeId operand : node.operands) {
      d.operands.push_back({&builder_, ids_[operand]});
      d.wanted.push_back(active_[operand] && is_floating(body_.node(operand).dtype));
    }
    spread(node, d, rule_of(node.op, d));
  }

  void spread(const Node& node, const Differential& d, const Cotangents& found) {
    check(found.size() == node.operands.size(), "a rule gives too few cotangents");
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!d.wanted[i] || !found[i]) continue;
      const Shape& wanted = body_.node(node.operands[i]).shape;
      if (found[i]->shape() != wanted)
        raise_internal_error(concat("the derivative of ", info(node.op).name, " gives operand ", i,
                                    " a cotangent ", found[i]->shape(), " for ", wanted),
                             std::source_location::current());
      add(node.operands[i], 0, *found[i]);
    }
  }

  const Graph& body_;
  const dsl::Target& target_;
  Graph to_;
  GraphBuilder builder_;
  std::vector<NodeId> ids_;   // of the copies
  std::vector<bool> active_;  // a wanted input reaches the node
  std::map<std::pair<NodeId, std::size_t>, std::vector<Term>> cotangents_;  // of (node, result)
};

}  // namespace

// Gradients within the body are expanded first: composites in them have rules.
Graph gradient_graph(const Graph& body, const GradientRequest& request, const dsl::Target& target) {
  const Graph expanded = differentiate(body, target);
  return ReverseSweep(expanded, target).run(request);
}

std::vector<Term> spliced(const Graph& graph, GraphBuilder& builder,
                          const std::vector<Term>& inputs) {
  std::vector<NodeId> given;
  for (const Term& input : inputs) given.push_back(input.id);
  const std::vector<NodeId> ids = splice(graph, builder, given);
  std::vector<Term> outputs;
  for (NodeId id : graph.outputs) outputs.push_back({&builder, ids[id]});
  return outputs;
}

Cotangents by_formula(const Graph& formula, const Differential& d) {
  GradientRequest request;
  std::vector<Term> inputs = d.operands;
  for (std::size_t i = 0; i < d.operands.size(); ++i)
    if (d.wants(i)) request.inputs.push_back(i);
  for (std::size_t i = 0; i < d.cotangents.size(); ++i) {
    if (!d.cotangents[i]) continue;
    request.outputs.push_back(i);
    const Node& output = formula.node(formula.outputs[i]);
    inputs.push_back(d.cotangents[i]->to(output.dtype));
  }
  const std::vector<Term> outputs =
      spliced(gradient_graph(formula, request, d.target), d.builder(), inputs);
  Cotangents all(d.operands.size());
  for (std::size_t i = 0; i < request.inputs.size(); ++i)
    all[request.inputs[i]] = outputs[formula.outputs.size() + i];
  return all;
}

}  // namespace tilewright::graph
