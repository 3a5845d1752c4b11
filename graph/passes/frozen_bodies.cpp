#include "graph/passes/frozen_bodies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/ir/location.h"
#include "graph/ir/options/unkept_options.h"
#include "graph/passes/frozen_part.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/rewriter.h"
#include "graph/passes/splice.h"

namespace tilewright::graph {
namespace {

bool is_control(const Node& node) { return info(node.op).kind == Kind::control; }

// The first operand that the bodies see, and the first of those that are the same in each turn.
std::size_t first_operand(const Node& node) { return node.op == Op::cond ? 1 : 0; }
std::size_t first_invariant(const Node& node) {
  return first_operand(node) +
         static_cast<std::size_t>(node.attributes.carried + node.attributes.sliced);
}

class Opener {
 public:
  Opener(const Graph& graph, const std::vector<bool>& is_frozen, const dsl::Target& target)
      : graph_(graph),
        target_(target),
        follows_(follows_from_frozen(graph, is_frozen)),
        rewriter_(graph) {}

  OpenedBodies run() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id)
      if (!is_control(graph_.node(id)) || !open(id)) rewriter_.copy(id);
    return {rewriter_.finish(), std::move(values_)};
  }

 private:
  // False: nothing that the bodies read follows from frozen inputs.
  bool open(NodeId id) {
    const Node& node = graph_.node(id);
    const std::size_t first = first_operand(node);
    std::vector<bool> is_frozen(node.operands.size() - first);
    for (std::size_t i = first_invariant(node); i < node.operands.size(); ++i)
      is_frozen[i - first] = follows_[node.operands[i]];
    note_sliced(node);
    if (std::ranges::find(is_frozen, true) == is_frozen.end()) return false;
    std::vector<NodeId> operands = rewriter_.operands_of(node);
    const std::vector<NodeId> seen(operands.begin() + static_cast<std::ptrdiff_t>(first),
                                   operands.end());
    std::vector<Graph> bodies;
    std::vector<std::size_t> added;  // by each body
    for (std::size_t i = 0; i < node.attributes.bodies.size(); ++i) {
      std::vector<NodeId> values;
      bodies.push_back(rest_of_body(node, node.attributes.bodies[i], is_frozen, seen, values));
      added.push_back(values.size());
      operands.insert(operands.end(), values.begin(), values.end());
      values_.insert(values_.end(), values.begin(), values.end());
    }
    join_inputs(bodies, seen.size(), added, operands);
    Attributes attributes = node.attributes;
    attributes.bodies = Bodies(std::move(bodies));
    rewriter_.replace(
        id, rewriter_.builder(node).append(node.op, std::move(operands), std::move(attributes)));
    return true;
  }

  // Each turn multiplies another part of a weight that is sliced.
  void note_sliced(const Node& node) const {
    if (target_.is_gpu()) return;
    for (std::size_t i = first_operand(node) + static_cast<std::size_t>(node.attributes.carried);
         i < first_invariant(node); ++i)
      if (follows_[node.operands[i]] &&
          is_multiplied(run_passes(node.attributes.bodies[0], {.target = target_}), i))
        UnkeptOptions::note(
            "freezing", concat("weights of shape ", graph_.node(node.operands[i]).shape,
                               " that the scan at ", describe(node.where),
                               " takes slice by slice are packed in each turn; a loop of C++ over "
                               "the slices has them packed once"));
  }

  // The body without what follows from frozen inputs, which it gets behind its own; `values` become
  // the nodes that compute this.
  Graph rest_of_body(const Node& node, const Graph& body, const std::vector<bool>& is_frozen,
                     const std::vector<NodeId>& operands, std::vector<NodeId>& values) {
    OpenedBodies inner =
        open_frozen_bodies(run_passes(body, {.target = target_}), is_frozen, target_);
    std::optional<FrozenPart> part = split_frozen_part(inner.graph, is_frozen, inner.values);
    if (!part) return std::move(inner.graph);
    std::vector<NodeId> from;
    for (std::size_t input : part->from) from.push_back(operands[input]);
    GraphBuilder builder = rewriter_.builder(node);
    const std::vector<NodeId> made = splice(part->values, builder, from);
    for (NodeId output : part->values.outputs) values.push_back(made[output]);
    return std::move(part->rest);
  }

  // Each body takes what was added for all of them, its own at their places.
  void join_inputs(std::vector<Graph>& bodies, std::size_t before,
                   const std::vector<std::size_t>& added, const std::vector<NodeId>& operands) {
    std::size_t begin = 0, all = 0;
    for (std::size_t count : added) all += count;
    const std::size_t first = operands.size() - all;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      Graph& body = bodies[i];
      std::vector<NodeId> inputs(body.inputs.begin(),
                                 body.inputs.begin() + static_cast<std::ptrdiff_t>(before));
      GraphBuilder builder(body);
      const std::vector<NodeId> own = body.inputs;
      for (std::size_t k = 0; k < all; ++k) {
        const Node& value = rewriter_.made(operands[first + k]);
        const bool is_its = k >= begin && k < begin + added[i];
        inputs.push_back(is_its ? own[before + k - begin]
                                : builder.input(value.dtype, value.shape));
      }
      begin += added[i];
      body.inputs = std::move(inputs);
      body.input_strides.assign(body.inputs.size(), {});
    }
  }

  const Graph& graph_;
  const dsl::Target& target_;
  std::vector<bool> follows_;
  Rewriter rewriter_;
  std::vector<NodeId> values_;
};

}  // namespace

OpenedBodies open_frozen_bodies(const Graph& graph, const std::vector<bool>& is_frozen,
                                const dsl::Target& target) {
  if (std::ranges::none_of(graph.nodes, is_control)) return {graph, {}};
  return Opener(graph, is_frozen, target).run();
}

}  // namespace tilewright::graph
