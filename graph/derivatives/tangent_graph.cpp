// The forward sweep: a graph is copied, and each node that a tangent reaches gives those of its
// results. An op has one rule, that of its cotangents, which is linear in these; the rule's own
// derivative is that of the op forwards. Control flow carries its tangents along, so that a loop of
// unknown length has a derivative too.
#include <algorithm>
#include <optional>
#include <utility>

#include "graph/custom/definition.h"
#include "graph/ops/derivatives/differential.h"
#include "graph/passes/passes.h"
#include "graph/passes/splice.h"

namespace tilewright::graph {
namespace {

std::vector<std::size_t> floating_outputs(const Graph& graph) {
  std::vector<std::size_t> floating;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    if (is_floating(graph.node(graph.outputs[i]).dtype)) floating.push_back(i);
  return floating;
}

class ForwardSweep {
 public:
  ForwardSweep(const Graph& body, const dsl::Target& target)
      : body_(body), target_(target), builder_(to_), values_(body.nodes.size()) {}

  Graph run(const GradientRequest& request) {
    for (NodeId id : body_.inputs) {
      const Node& node = body_.node(id);
      builder_.set_location(node.where);
      values_[id].push_back({{&builder_, builder_.input(node.dtype, node.shape)}, {}});
    }
    for (std::size_t i : request.inputs) {
      const Node& node = body_.node(body_.inputs[i]);
      values_[body_.inputs[i]][0].tangent = Term{&builder_, builder_.input(node.dtype, node.shape)};
    }
    for (NodeId id = 0; id < body_.nodes.size(); ++id)
      if (body_.node(id).op != Op::input) go_on(id);
    for (NodeId id : body_.outputs) to_.outputs.push_back(value(id).value.id);
    for (std::size_t i : request.outputs)
      to_.outputs.push_back(tangent_of(value(body_.outputs[i])).id);
    return std::move(to_);
  }

 private:
  struct Value {
    Term value;
    std::optional<Term> tangent;  // absent: 0
  };
  using Values = std::vector<Value>;

  const Value& value(NodeId id) const { return values_[id][0]; }
  Term tangent_of(const Value& x) const { return x.tangent ? *x.tangent : x.value.number(0); }

  void go_on(NodeId id) {
    const Node& node = body_.node(id);
    builder_.set_location(node.where);
    builder_.set_origin(node.origin);
    if (node.op == Op::result) {
      values_[id] = {values_[node.operands[0]][static_cast<std::size_t>(node.attributes.index)]};
      return;
    }
    Values operands;
    for (NodeId operand : node.operands) operands.push_back(value(operand));
    values_[id] = results_of(node, operands);
  }

  Values results_of(const Node& node, const Values& operands) {
    const CustomReference& custom = node.attributes.custom;
    const bool is_constant =
        std::ranges::none_of(operands, [](const Value& x) { return x.tangent.has_value(); });
    if (is_constant || (custom.is_defined() && custom->stops_gradient))
      return without_tangents(append_like(builder_, node, ids_of(operands)));
    if (node.op == Op::cond) return cond(node, operands);
    if (node.op == Op::scan) return loop(node, operands, 0);
    if (node.op == Op::while_loop) return loop(node, operands, 1);
    if (custom.is_defined() && custom->composites && !custom->derivative)
      return by_composites(node, operands);
    return by_rule(node, operands);
  }

  static std::vector<NodeId> ids_of(const Values& values) {
    std::vector<NodeId> ids;
    for (const Value& each : values) ids.push_back(each.value.id);
    return ids;
  }
  Values without_tangents(NodeId node) {
    Values results;
    for (NodeId id : builder_.results_of(node)) results.push_back({{&builder_, id}, {}});
    return results;
  }
  static std::vector<std::size_t> with_tangents(const Values& operands) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].tangent) numbers.push_back(i);
    return numbers;
  }

  // Terms of a graph's outputs as values: `count` results, then tangents of the floating ones.
  static Values paired(const std::vector<Term>& outputs, std::size_t count) {
    Values results;
    std::size_t next = count;
    for (std::size_t i = 0; i < count; ++i) {
      results.push_back({outputs[i], {}});
      if (is_floating(outputs[i].dtype())) results.back().tangent = outputs[next++];
    }
    return results;
  }

  // Inputs of a graph of the node alone, which has its line.
  static std::vector<NodeId> inputs_like(GraphBuilder& builder, const Node& node,
                                         const Values& operands) {
    builder.set_location(node.where);
    builder.set_origin(node.origin);
    std::vector<NodeId> inputs;
    for (const Value& x : operands)
      inputs.push_back(builder.input(x.value.dtype(), x.value.shape()));
    return inputs;
  }
  static std::vector<Term> values_of(const Values& operands) {
    std::vector<Term> values;
    for (const Value& x : operands) values.push_back(x.value);
    return values;
  }

  Values by_composites(const Node& node, const Values& operands) {
    Graph formula;
    GraphBuilder builder(formula);
    const std::vector<NodeId> inputs = inputs_like(builder, node, operands);
    std::vector<Term> given = values_of(operands);
    formula.outputs = node.attributes.custom->composites(builder, inputs, target_);
    const GradientRequest request{with_tangents(operands), floating_outputs(formula)};
    for (std::size_t i : request.inputs) given.push_back(*operands[i].tangent);
    return paired(spliced(tangent_graph(formula, request, target_), builder_, given),
                  formula.outputs.size());
  }

  // The graph of the node and its pullback, differentiated by the cotangents, in which it is
  // linear. These are 1, not 0, which hides a slope that is infinite.
  Values by_rule(const Node& node, const Values& operands) {
    Graph single;
    GraphBuilder builder(single);
    const std::vector<NodeId> inputs = inputs_like(builder, node, operands);
    std::vector<Term> given = values_of(operands);
    single.outputs = builder.results_of(append_like(builder, node, inputs));
    const GradientRequest back{with_tangents(operands), floating_outputs(single)};
    if (back.outputs.empty())
      return without_tangents(append_like(builder_, node, ids_of(operands)));
    Graph pullback = gradient_graph(single, back, target_);
    GradientRequest forth;
    for (std::size_t i = 0; i < back.outputs.size(); ++i) {
      forth.inputs.push_back(inputs.size() + i);
      const Node& cotangent = pullback.node(pullback.inputs[inputs.size() + i]);
      given.push_back({&builder_, builder_.full(cotangent.dtype, cotangent.shape, 1)});
    }
    for (std::size_t i = 0; i < back.inputs.size(); ++i) {
      forth.outputs.push_back(single.outputs.size() + i);
      given.push_back(*operands[back.inputs[i]].tangent);
    }
    std::vector<Term> outputs = spliced(gradient_graph(pullback, forth, target_), builder_, given);
    const auto gradients = outputs.begin() + static_cast<std::ptrdiff_t>(single.outputs.size());
    outputs.erase(gradients, gradients + static_cast<std::ptrdiff_t>(back.inputs.size()));
    return paired(outputs, single.outputs.size());
  }

  Values cond(const Node& node, const Values& operands) {
    const Bodies& bodies = node.attributes.bodies;
    GradientRequest request{{}, floating_outputs(bodies[0])};
    std::vector<NodeId> given = ids_of(operands);
    for (std::size_t i : with_tangents(operands)) {
      request.inputs.push_back(i - 1);  // the condition is no input of the bodies
      given.push_back(operands[i].tangent->id);
    }
    Attributes attributes;
    attributes.bodies = Bodies(
        {tangent_graph(bodies[0], request, target_), tangent_graph(bodies[1], request, target_)});
    std::vector<Term> results;
    for (NodeId id : builder_.results_of(builder_.append(Op::cond, given, attributes)))
      results.push_back({&builder_, id});
    return paired(results, bodies[0].outputs.size());
  }

  // The operands of a loop by kinds: carried, sliced, others; then those whose tangents follow.
  struct Kinds {
    std::vector<std::vector<std::size_t>> plain, moved;
  };
  Kinds kinds_of(const Node& node, const Values& operands) const {
    const auto carried = static_cast<std::size_t>(node.attributes.carried);
    const auto sliced = carried + static_cast<std::size_t>(node.attributes.sliced);
    Kinds kinds{std::vector<std::vector<std::size_t>>(3), std::vector<std::vector<std::size_t>>(3)};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::size_t kind = i < carried ? 0 : i < sliced ? 1 : 2;
      kinds.plain[kind].push_back(i);
      const bool is_carried = kind == 0 && is_floating(operands[i].value.dtype());
      if (is_carried || operands[i].tangent) kinds.moved[kind].push_back(i);
    }
    return kinds;
  }

  // `at` is the number of the body that computes the carried values; one before it is a condition.
  Values loop(const Node& node, const Values& operands, std::size_t at) {
    const Kinds kinds = kinds_of(node, operands);
    const Graph& body = node.attributes.bodies[at];
    GradientRequest request{{}, floating_outputs(body)};
    for (const auto& moved : kinds.moved)
      request.inputs.insert(request.inputs.end(), moved.begin(), moved.end());
    Attributes attributes = node.attributes;
    attributes.carried += std::ssize(kinds.moved[0]);
    attributes.sliced += std::ssize(kinds.moved[1]);
    std::vector<Graph> bodies;
    if (at > 0) bodies.push_back(with_places_for(node.attributes.bodies[0], kinds));
    bodies.push_back(turn_of(body, request, kinds));
    attributes.bodies = Bodies(std::move(bodies));
    std::vector<NodeId> given;
    for (std::size_t kind = 0; kind < 3; ++kind) {
      for (std::size_t i : kinds.plain[kind]) given.push_back(operands[i].value.id);
      for (std::size_t i : kinds.moved[kind]) given.push_back(tangent_of(operands[i]).id);
    }
    return of_loop(body, builder_.results_of(builder_.append(node.op, given, attributes)),
                   static_cast<std::size_t>(node.attributes.carried));
  }

  // The inputs of a condition, with unused ones for the tangents.
  static Graph with_places_for(Graph condition, const Kinds& kinds) {
    GraphBuilder builder(condition);
    const std::vector<NodeId> own = condition.inputs;
    std::vector<NodeId> inputs;
    for (std::size_t kind = 0; kind < 3; ++kind) {
      for (std::size_t i : kinds.plain[kind]) inputs.push_back(own[i]);
      for (std::size_t i : kinds.moved[kind]) {
        const Node like = condition.node(own[i]);
        inputs.push_back(builder.input(like.dtype, like.shape));
      }
    }
    condition.inputs = std::move(inputs);
    condition.input_strides.assign(condition.inputs.size(), {});
    return condition;
  }

  Graph turn_of(const Graph& body, const GradientRequest& request, const Kinds& kinds) const {
    Graph turn = tangent_graph(body, request, target_);
    const std::vector<NodeId> inputs = std::exchange(turn.inputs, {});
    std::size_t next = body.inputs.size();
    for (std::size_t kind = 0; kind < 3; ++kind) {
      for (std::size_t i : kinds.plain[kind]) turn.inputs.push_back(inputs[i]);
      for (std::size_t k = 0; k < kinds.moved[kind].size(); ++k)
        turn.inputs.push_back(inputs[next++]);
    }
    turn.input_strides.assign(turn.inputs.size(), {});
    const std::vector<NodeId> outputs = std::exchange(turn.outputs, {});
    const std::size_t carried = kinds.plain[0].size(), moved = kinds.moved[0].size();
    const auto begin = outputs.begin();
    const auto tangents = begin + static_cast<std::ptrdiff_t>(body.outputs.size());
    auto add = [&](auto from, auto to) { turn.outputs.insert(turn.outputs.end(), from, to); };
    add(begin, begin + static_cast<std::ptrdiff_t>(carried));
    add(tangents, tangents + static_cast<std::ptrdiff_t>(moved));
    add(begin + static_cast<std::ptrdiff_t>(carried), tangents);
    add(tangents + static_cast<std::ptrdiff_t>(moved), outputs.end());
    return turn;
  }

  // Results of a loop: carried ones, their tangents, further ones, their tangents.
  Values of_loop(const Graph& body, const std::vector<NodeId>& ids, std::size_t carried) {
    Values results;
    std::size_t moved = 0;
    for (std::size_t i = 0; i < carried; ++i)
      moved += is_floating(body.node(body.outputs[i]).dtype) ? 1 : 0;
    const std::size_t given = body.outputs.size() - carried;
    std::size_t next = carried, next_given = carried + moved + given;
    for (std::size_t i = 0; i < body.outputs.size(); ++i) {
      const bool is_carried = i < carried;
      results.push_back({{&builder_, ids[is_carried ? i : i + moved]}, {}});
      if (is_floating(results.back().value.dtype()))
        results.back().tangent = Term{&builder_, ids[is_carried ? next++ : next_given++]};
    }
    return results;
  }

  const Graph& body_;
  const dsl::Target& target_;
  Graph to_;
  GraphBuilder builder_;
  std::vector<Values> values_;  // of nodes, a value for each result
};

}  // namespace

Graph tangent_graph(const Graph& body, const GradientRequest& request, const dsl::Target& target) {
  const CapturesForDerivatives captures;
  const Graph expanded = differentiate(body, target);
  return ForwardSweep(expanded, target).run(request);
}

}  // namespace tilewright::graph
