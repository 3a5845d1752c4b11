// Between two views that move channels to the end and back to their place behind the batch, as
// convolutions of 16 bits have them (functions/convolving/channels_last.h), everything works on
// channels at the end: y = g(f(permute(x))) followed by the opposite permutation becomes f and g of
// x, their axes moved. The two views meet and go, and with them the copies in another order that
// would be made.
#include <algorithm>
#include <vector>

#include "graph/ops/channel_order.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {
namespace {

// Of fewer axes it is a transposition like any other.
constexpr int least_rank = 4;

// Where an axis goes as channels go to the end.
int moved(int axis, int rank) {
  if (axis == 0) return 0;
  return axis == 1 ? rank - 1 : axis - 1;
}
Shape moved(const Shape& shape) {
  Shape result;
  for (int axis : order_to_last(shape.rank())) result.push_back(shape[axis]);
  return result;
}

bool is_permutation(const Node& node, std::vector<int> (*order)(int)) {
  return node.op == Op::permute && node.shape.rank() >= least_rank &&
         node.attributes.axes == order(node.shape.rank());
}

// Ops whose axes can be moved with those of their operands.
bool follows_its_axes(const Graph& graph, const Node& node) {
  if (node.shape.rank() < least_rank) return false;
  if (node.op == Op::reshape) return graph.node(node.operands[0]).shape == node.shape;
  const Kind kind = info(node.op).kind;
  return kind == Kind::pointwise || kind == Kind::concat || kind == Kind::reduction ||
         node.op == Op::slice || node.op == Op::expand;
}

// Which goes through channels side by side where they are last.
bool sums_behind_channels(const Node& node) {
  return info(node.op).kind == Kind::reduction && node.shape.rank() >= least_rank &&
         std::ranges::all_of(node.attributes.axes, [](int axis) { return axis >= 2; });
}

class ChannelsLast {
 public:
  explicit ChannelsLast(const Graph& graph)
      : graph_(graph), is_read_in_place_(graph.nodes.size()), is_wanted_(graph.nodes.size()) {
    made_.resize(graph.nodes.size());
    for (NodeId id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
      const Node& node = graph.node(id);
      if (is_read_in_place_[id]) is_wanted_[id] = false;
      if (node.op == Op::convolution) is_read_in_place_[node.operands[0]] = true;
      if (sums_behind_channels(node)) is_wanted_[id] = true;
      if (is_permutation(node, order_to_last) || (is_wanted_[id] && follows_its_axes(graph_, node)))
        for (NodeId operand : node.operands) is_wanted_[operand] = true;
    }
  }

  std::optional<NodeId> replacement(Rewriter& rewriter, NodeId id) {
    const Node& node = graph_.node(id);
    if (is_permutation(node, order_from_last)) made_[id] = rewriter.at(node.operands[0]);
    if (is_permutation(node, order_to_last)) return made_[node.operands[0]];
    if (!is_wanted_[id] || !follows_its_axes(graph_, node)) return std::nullopt;
    made_[id] = on_channels_last(rewriter, node);
    if (!made_[id]) return std::nullopt;
    return rewriter.builder(node).append(Op::permute, {*made_[id]},
                                         {.axes = order_from_last(node.shape.rank())});
  }

 private:
  std::optional<NodeId> on_channels_last(Rewriter& rewriter, const Node& node) const {
    const int rank = node.shape.rank();
    auto has_them_last = [&](NodeId operand) { return made_[operand].has_value(); };
    if (std::ranges::none_of(node.operands, has_them_last)) return std::nullopt;
    if (node.op == Op::reshape) return made_[node.operands[0]];  // it is no other
    Attributes attributes = node.attributes;
    for (int& axis : attributes.axes) axis = moved(axis, rank);
    std::ranges::sort(attributes.axes);
    if (node.op == Op::expand) attributes.sizes = moved(node.shape);
    GraphBuilder builder = rewriter.builder(node);
    std::vector<NodeId> operands;
    for (NodeId operand : node.operands)
      operands.push_back(
          has_them_last(operand)
              ? *made_[operand]
              : builder.append(Op::permute, {rewriter.at(operand)}, {.axes = order_to_last(rank)}));
    if (info(node.op).tile_op == ir::Op::cast_)
      return builder.append(node.op, std::move(operands), attributes, node.dtype);
    return builder.append(node.op, std::move(operands), attributes);
  }

  const Graph& graph_;
  std::vector<bool> is_read_in_place_;       // by a convolution that has channels in front
  std::vector<bool> is_wanted_;              // by a view of it with channels last
  std::vector<std::optional<NodeId>> made_;  // in the new graph: the value with channels last
};

}  // namespace

Graph keep_channels_last(const Graph& graph) {
  ChannelsLast channels(graph);
  return rewrite(graph,
                 [&](Rewriter& rewriter, NodeId id) { return channels.replacement(rewriter, id); });
}

}  // namespace tilewright::graph
