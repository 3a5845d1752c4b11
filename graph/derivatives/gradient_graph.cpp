// The reverse sweep: a graph is copied, and the rules of its nodes (graph/ops/derivatives) are
// applied from the last to the first, for those nodes that a wanted input reaches and that reach an
// output with a cotangent. A call of a checkpointed function is a segment of the graph, which is
// copied once more when the sweep comes to it: rules see the values of that copy. So the sweep
// makes the same sums in the same order with and without checkpoints.
#include <algorithm>
#include <map>

#include "graph/custom/definition.h"
#include "graph/derivatives/bounded_loops.h"
#include "graph/derivatives/checkpoints.h"
#include "graph/derivatives/joined_slices.h"
#include "graph/derivatives/recorded_loops.h"
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
  ReverseSweep(const CheckpointedGraph& body, const dsl::Target& target)
      : body_(body.graph),
        segments_(body.segments),
        target_(target),
        builder_(to_),
        active_(body_.nodes.size()),
        segment_of_(body_.nodes.size()),
        marks_(segments_.size()) {
    to_.marks = body_.marks;
    for (std::size_t i = 0; i < segments_.size(); ++i)
      for (NodeId id = segments_[i].begin; id < segments_[i].end; ++id) segment_of_[id] = i + 1;
  }

  Graph run(const GradientRequest& request) {
    for (std::size_t i : request.inputs) active_[body_.inputs[i]] = true;
    for (NodeId id = 0; id < body_.nodes.size(); ++id) copy(id);
    // A loop's inputs need not be in the order of their nodes.
    std::ranges::transform(body_.inputs, to_.inputs.begin(), [&](NodeId id) { return ids_[id]; });
    for (std::size_t i : request.outputs) {
      const NodeId output = body_.outputs[i];
      const Node& node = body_.node(output);
      const NodeId cotangent = builder_.input(node.dtype, node.shape);
      if (active_[output]) add(output, 0, {&builder_, cotangent});
    }
    for (NodeId id : body_.outputs) to_.outputs.push_back(ids_[id]);
    for (auto id = static_cast<NodeId>(body_.nodes.size()); id-- > 0;)
      if (active_[id] && body_.node(id).op != Op::input) go_back(id);
    for (std::size_t i : request.inputs) to_.outputs.push_back(gradient_of(body_.inputs[i]).id);
    return std::move(to_);
  }

 private:
  bool is_floating_node(const Node& node) const {
    return is_floating(node.dtype) || std::ranges::any_of(node.others, [](const ValueType& t) {
             return is_floating(t.dtype);
           });
  }
  bool is_active_node(const Node& node) const {
    if (node.attributes.custom.is_defined() && node.attributes.custom->stops_gradient) return false;
    if (node.op == Op::result && !is_floating(node.dtype)) return false;
    return is_floating_node(node) &&
           std::ranges::any_of(node.operands, [&](NodeId operand) { return active_[operand]; });
  }

  void set_origin(const Node& node, MarkId mark, Purpose purpose) {
    Origin origin = node.origin;
    if (mark != 0) origin.mark = mark;
    if (purpose != Purpose::function) origin.purpose = purpose;
    builder_.set_location(node.where);
    builder_.set_origin(origin);
  }

  void copy(NodeId id) {
    const Node& node = body_.node(id);
    set_origin(node, 0, Purpose::function);
    if (node.op == Op::input) {
      ids_.push_back(builder_.input(node.dtype, node.shape));
      return;
    }
    active_[id] = is_active_node(node);
    ids_.push_back(append(id, active_[id] && segment_of_[id] == 0));
  }

  // `is_gone_back`: loops and attention keep what their rules read.
  NodeId append(NodeId id, bool is_gone_back) {
    const Node& node = body_.node(id);
    std::vector<NodeId> operands;
    for (NodeId operand : node.operands) operands.push_back(ids_[operand]);
    if (is_gone_back && node.op == Op::scan)
      return builder_.append(Op::scan, std::move(operands), with_saved_values(node.attributes));
    if (is_gone_back && node.op == Op::while_loop)
      if (auto scan = as_scan(body_, node))
        return builder_.append(Op::scan, std::move(operands), with_saved_values(*scan));
    if (is_gone_back && info(node.op).reads.has(AttributeField::gives_sums)) {
      Attributes attributes = node.attributes;
      attributes.gives_sums = true;
      return builder_.append(node.op, std::move(operands), std::move(attributes));
    }
    return append_like(builder_, node, std::move(operands));
  }

  // Computes the values of a segment again, of those that the segment around it has then. Their
  // mark is that of the derivative, and keeps them apart from the values that they are equal to.
  MarkId enter(std::size_t segment) {
    if (segment == 0) return 0;
    MarkId& mark = marks_[segment - 1];
    if (mark != 0) return mark;
    const auto [begin, end] = segments_[segment - 1];
    std::size_t around = segment - 1;
    while (around > 0 && segments_[around - 1].end < end) --around;
    enter(around);
    to_.marks.emplace_back("checkpoint");
    mark = static_cast<MarkId>(to_.marks.size());
    for (NodeId id = begin; id < end; ++id) {
      set_origin(body_.node(id), mark, Purpose::again);
      ids_[id] = append(id, active_[id] && segment_of_[id] == segment);
    }
    return mark;
  }

  void add(NodeId id, std::size_t result, const Term& cotangent) {
    cotangents_[{id, result}].push_back(cotangent);
  }

  // The sum of a value's cotangents in the dtype that sums are made in, rounded once to its own.
  std::optional<Term> sum_of(NodeId id, std::size_t result, DType dtype) {
    auto found = cotangents_.find({id, result});
    if (found == cotangents_.end()) return std::nullopt;
    const std::vector<Term> parts = joined_slices(found->second);
    if (parts.size() == 1) return parts[0].to(dtype);
    const DType wide = accumulator(dtype);
    Term sum = parts[0].to(wide);
    for (std::size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i].to(wide);
    return sum.to(dtype);
  }

  Term gradient_of(NodeId input) {
    const Node& node = body_.node(input);
    set_origin(node, 0, Purpose::derivative);
    if (auto sum = sum_of(input, 0, node.dtype)) return *sum;
    return {&builder_, builder_.full(node.dtype, node.shape, 0)};
  }

  // Every result of the copy, with its type.
  std::vector<Term> results_of(NodeId copied) {
    std::vector<Term> results;
    for (NodeId id : builder_.results_of(copied)) results.push_back({&builder_, id});
    return results;
  }

  bool has_cotangent(NodeId id) const {
    const auto first = cotangents_.lower_bound({id, 0});
    return first != cotangents_.end() && first->first.first == id;
  }

  void go_back(NodeId id) {
    if (!has_cotangent(id)) return;
    const Node& node = body_.node(id);
    set_origin(node, enter(segment_of_[id]), Purpose::derivative);
    if (node.op == Op::result) {
      if (auto sum = sum_of(id, 0, node.dtype))
        add(node.operands[0], static_cast<std::size_t>(node.attributes.index), *sum);
      return;
    }
    const std::size_t own_results = 1 + node.others.size();
    std::vector<std::optional<Term>> given;
    for (std::size_t i = 0; i < own_results; ++i)
      given.push_back(sum_of(id, i, i == 0 ? node.dtype : node.others[i - 1].dtype));
    const Node copied = to_.node(ids_[id]);
    Differential d{copied, target_, {}, results_of(ids_[id]), std::move(given), {}};
    d.cotangents.resize(d.results.size());
    for (NodeId operand : node.operands) {
      d.operands.push_back({&builder_, ids_[operand]});
      d.wanted.push_back(active_[operand] && is_floating(body_.node(operand).dtype));
    }
    spread(node, d, rule_of(copied.op, d));
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
  const std::vector<Segment>& segments_;
  const dsl::Target& target_;
  Graph to_;
  GraphBuilder builder_;
  std::vector<NodeId> ids_;              // of the copies, the latest of each
  std::vector<bool> active_;             // a wanted input reaches the node
  std::vector<std::size_t> segment_of_;  // the innermost of each node, from 1; 0: none
  std::vector<MarkId> marks_;            // of segments that were computed again; 0: not yet
  std::map<std::pair<NodeId, std::size_t>, std::vector<Term>> cotangents_;  // of (node, result)
};

}  // namespace

// Gradients within the body are expanded first: composites in them have rules.
Graph gradient_graph(const Graph& body, const GradientRequest& request, const dsl::Target& target) {
  const CapturesForDerivatives captures;
  const CheckpointedGraph expanded =
      with_checkpoints(with_recorded_loops(expand_gradients(body, target), target), target);
  return ReverseSweep(expanded, target).run(request);
}

std::vector<Term> spliced(const Graph& graph, GraphBuilder& builder,
                          const std::vector<Term>& inputs) {
  std::vector<NodeId> given;
  for (const Term& input : inputs) given.push_back(input.id);
  const std::vector<NodeId> ids = splice(graph, builder, given);
  // Values that are computed again stay apart from those that they are equal to.
  std::vector<std::string>& marks = builder.graph().marks;
  for (NodeId id = 0; id < graph.nodes.size() && !graph.marks.empty(); ++id)
    if (const MarkId mark = graph.node(id).origin.mark; mark != 0)
      builder.graph().nodes[ids[id]].origin.mark = static_cast<MarkId>(marks.size()) + mark;
  marks.insert(marks.end(), graph.marks.begin(), graph.marks.end());
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
