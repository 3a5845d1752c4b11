#include "graph/passes/frozen_part.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "graph/ir/strided_view.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t small_bytes = 256 << 10;

// How a value is used, through views of it.
struct Uses {
  bool as_filters = false, as_factor = false;  // of a convolution, of a product
  void add(const Uses& others) {
    as_filters |= others.as_filters;
    as_factor |= others.as_factor;
  }
};

std::int64_t bytes_of(const Node& node) {
  return element_count(node.shape) * size_bytes(node.dtype);
}

// The source of a value that is known before any call: frozen inputs, numbers alone, or none.
enum class Follows : std::uint8_t { not_at_all, from_numbers, from_inputs };

// True if an op follows from its operands and makes one value of them.
bool may_follow(const Node& node) {
  if (!node.others.empty() || node.origin.op == Op::quantized_linear) return false;
  switch (info(node.op).kind) {
    case Kind::constant:
    case Kind::pointwise:
    case Kind::view:
    case Kind::reduction:
    case Kind::contraction:
    case Kind::gather:
    case Kind::scatter:
    case Kind::concat:
    case Kind::convolution:
    case Kind::grouped_product:
    case Kind::ordering:
    case Kind::cumulation:
    case Kind::accumulation: return true;
    case Kind::input:
    case Kind::attention:
    case Kind::custom:
    case Kind::control:
    case Kind::projection:
    case Kind::composite: return false;
  }
  __builtin_unreachable();
}

std::vector<Follows> what_follows(const Graph& graph, const std::vector<bool>& is_frozen) {
  std::vector<Follows> follows(graph.nodes.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    if (is_frozen[i]) follows[graph.inputs[i]] = Follows::from_inputs;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (!may_follow(node)) continue;
    Follows& result = follows[id] = Follows::from_numbers;
    for (NodeId operand : node.operands)
      if (follows[operand] != Follows::from_numbers && result != Follows::not_at_all)
        result = follows[operand];
  }
  return follows;
}

Uses use_by(const Node& node, std::size_t operand);

// By the op that reads the value, through views of it in a body of control flow.
Uses use_in_body(const Graph& body, std::size_t input) {
  std::vector<Uses> uses(body.nodes.size());
  for (NodeId id = static_cast<NodeId>(body.nodes.size()); id-- > 0;) {
    const Node& node = body.node(id);
    const bool is_view = info(node.op).kind == Kind::view;
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      uses[node.operands[i]].add(is_view ? uses[id] : use_by(node, i));
  }
  return uses[body.inputs[input]];
}

Uses use_by(const Node& node, std::size_t operand) {
  Uses uses{.as_filters = node.op == Op::convolution && operand == 1,
            .as_factor = node.op == Op::matmul || node.op == Op::convolution};
  if (info(node.op).kind != Kind::control) return uses;
  const std::size_t first = node.op == Op::cond ? 1 : 0;
  const auto number = static_cast<std::int64_t>(operand);
  if (operand < first || number < node.attributes.carried + node.attributes.sliced) return uses;
  for (std::size_t i = 0; i < node.attributes.bodies.size(); ++i)
    uses.add(use_in_body(node.attributes.bodies[i], operand - first));
  return uses;
}

class Splitter {
 public:
  Splitter(const Graph& graph, const std::vector<bool>& is_frozen, const std::vector<NodeId>& worth)
      : graph_(graph),
        is_copy_(graph.nodes.size()),
        follows_(what_follows(graph, is_frozen)),
        is_worth_(graph.nodes.size()),
        is_taken_(graph.nodes.size()) {
    for (NodeId id : worth) is_worth_[id] = true;
    find_copies();
    take();
  }

  std::optional<FrozenPart> split() const {
    if (std::ranges::find(is_taken_, true) == is_taken_.end()) return std::nullopt;
    FrozenPart part;
    part.values = values(part.from);
    part.rest = rest();
    return part;
  }

 private:
  // A view of which nothing is computed, where some reshapes are copies.
  bool is_view(NodeId id) const {
    return info(graph_.node(id).op).kind == Kind::view && !is_copy_[id];
  }

  void find_copies() {
    std::vector<StridedView> lies(graph_.nodes.size());
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.node(id);
      lies[id] = row_major(node.shape);
      if (info(node.op).kind != Kind::view) continue;
      const auto view = view_of(node.op, node.attributes, lies[node.operands[0]]);
      is_copy_[id] = !view.has_value();
      if (view) lies[id] = *view;
    }
  }

  // From the outputs to the inputs: what the rest needs is taken where it pays.
  void take() {
    std::vector<bool> is_needed(graph_.nodes.size()), is_kept(graph_.nodes.size());
    std::vector<Uses> uses(graph_.nodes.size());
    auto is_result = [&](NodeId id) { is_needed[id] = is_kept[id] = true; };
    std::ranges::for_each(graph_.outputs, is_result);
    for (const Mutation& mutation : graph_.mutations) is_result(mutation.value);
    for (NodeId id = static_cast<NodeId>(graph_.nodes.size()); id-- > 0;) {
      if (!is_needed[id]) continue;
      const Node& node = graph_.node(id);
      const bool follows = follows_[id] == Follows::from_inputs;
      if (follows && !is_kept[id] && pays(id, uses[id])) {
        is_taken_[id] = true;
        continue;
      }
      for (std::size_t i = 0; i < node.operands.size(); ++i) {
        const NodeId operand = node.operands[i];
        is_needed[operand] = true;
        if (follows && (is_kept[id] || !is_view(id))) is_kept[operand] = true;
        uses[operand].add(is_view(id) ? uses[id] : use_by(node, i));
      }
    }
  }

  bool pays(NodeId id, const Uses& uses) const {
    const Node& node = graph_.node(id);
    if (node.op == Op::input || is_view(id)) return false;
    if (is_worth_[id]) return true;
    if (uses.as_filters && is_floating(node.dtype)) return true;
    const bool is_small = bytes_of(node) <= small_bytes;
    if (!uses.as_factor) return is_small;
    const bool is_arranged = is_copy_[id] || info(node.op).kind == Kind::concat;
    return bytes_of(node) <= bytes_read(id) || (is_small && is_arranged);
  }

  // Of frozen inputs, each once, that the value is computed from.
  std::int64_t bytes_read(NodeId id) const {
    std::set<NodeId> seen = {id};
    std::vector<NodeId> open = {id};
    std::int64_t bytes = 0;
    while (!open.empty()) {
      const Node& node = graph_.node(open.back());
      open.pop_back();
      if (node.op == Op::input) bytes += bytes_of(node);
      for (NodeId operand : node.operands)
        if (seen.insert(operand).second) open.push_back(operand);
    }
    return bytes;
  }

  Graph values(std::vector<std::size_t>& from) const {
    Graph whole = graph_;
    whole.mutations.clear();
    whole.outputs.clear();
    for (NodeId id = 0; id < graph_.nodes.size(); ++id)
      if (is_taken_[id]) whole.outputs.push_back(id);
    Graph live = dead_code(whole);
    std::vector<bool> is_read(live.nodes.size());
    for (const Node& node : live.nodes)
      for (NodeId operand : node.operands) is_read[operand] = true;
    return without_inputs(live, is_read, from);
  }

  static Graph without_inputs(const Graph& graph, const std::vector<bool>& is_read,
                              std::vector<std::size_t>& from) {
    Graph result = graph;
    result.inputs.clear();
    result.input_strides.clear();
    std::vector<NodeId> now(graph.nodes.size());
    result.nodes.clear();
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      if (graph.node(id).op == Op::input && !is_read[id]) continue;
      Node node = graph.node(id);
      for (NodeId& operand : node.operands) operand = now[operand];
      now[id] = static_cast<NodeId>(result.nodes.size());
      result.nodes.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      if (!is_read[graph.inputs[i]]) continue;
      from.push_back(i);
      result.inputs.push_back(now[graph.inputs[i]]);
      if (!graph.input_strides.empty()) result.input_strides.push_back(graph.input_strides[i]);
    }
    for (NodeId& output : result.outputs) output = now[output];
    return result;
  }

  Graph rest() const {
    std::vector<NodeId> added;
    Rewriter rewriter(graph_);
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.node(id);
      if (!is_taken_[id]) {
        rewriter.copy(id);
        continue;
      }
      Attributes sizes;
      sizes.sizes = node.shape;
      added.push_back(rewriter.builder(node).append(Op::input, {}, std::move(sizes), node.dtype));
      rewriter.replace(id, added.back());
    }
    Graph result = rewriter.finish();
    result.inputs.insert(result.inputs.end(), added.begin(), added.end());
    if (!result.input_strides.empty()) result.input_strides.resize(result.inputs.size());
    return dead_code(result);
  }

  const Graph& graph_;
  std::vector<bool> is_copy_;  // views that have no strides
  std::vector<Follows> follows_;
  std::vector<bool> is_worth_, is_taken_;
};

}  // namespace

std::optional<FrozenPart> split_frozen_part(const Graph& graph, const std::vector<bool>& is_frozen,
                                            const std::vector<NodeId>& worth) {
  return Splitter(graph, is_frozen, worth).split();
}

bool is_multiplied(const Graph& body, std::size_t input) {
  return use_in_body(body, input).as_factor;
}

std::vector<bool> follows_from_frozen(const Graph& graph, const std::vector<bool>& is_frozen) {
  std::vector<bool> result;
  for (Follows follows : what_follows(graph, is_frozen))
    result.push_back(follows == Follows::from_inputs);
  return result;
}

}  // namespace tilewright::graph
