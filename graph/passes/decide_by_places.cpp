#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/passes/affine_form.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {
namespace {

// Written anew: start + step * i along one axis.
std::optional<NodeId> written(const AffineForm& form, const Node& node, GraphBuilder builder) {
  if (node.dtype != DType::i32 && node.dtype != DType::i64) return std::nullopt;
  if (element_count(node.shape) == 0) return std::nullopt;
  const auto is_step = [](std::int64_t step) { return step != 0; };
  const auto varies = std::ranges::find_if(form.strides, is_step);
  if (varies == form.strides.end() || *varies < 0 ||
      std::find_if(varies + 1, form.strides.end(), is_step) != form.strides.end())
    return std::nullopt;
  const auto axis = static_cast<int>(varies - form.strides.begin());
  const std::int64_t count = node.shape[axis];
  Attributes attributes;
  attributes.start = form.offset;
  attributes.step = *varies;
  if (__builtin_mul_overflow(*varies, count, &attributes.end) ||
      __builtin_add_overflow(attributes.end, form.offset, &attributes.end))
    return std::nullopt;
  NodeId made = builder.append(Op::arange, {}, attributes, node.dtype);
  if (node.shape.rank() > 1) {
    Shape narrow(node.shape.size(), 1);
    narrow[axis] = count;
    made = builder.append(Op::reshape, {made}, {.axes = {}, .sizes = narrow});
    if (narrow != node.shape)
      made = builder.append(Op::expand, {made}, {.axes = {}, .sizes = node.shape});
  }
  return made;
}

// A gather that takes rows in a regular order is a view of what the table is a reshape of.
class GatherAsView {
 public:
  GatherAsView(Rewriter& rewriter, const AffineForms& forms, NodeId id)
      : rewriter_(rewriter),
        node_(rewriter.from().node(id)),
        places_(forms.places_of_gather(node_)),
        builder_(rewriter.builder(node_)) {}

  std::optional<NodeId> view() {
    if (!places_) return std::nullopt;
    for (NodeId table = node_.operands[0];; table = rewriter_.from().node(table).operands[0]) {
      if (const auto made = view_of(table)) return made;
      if (rewriter_.from().node(table).op != Op::reshape) return std::nullopt;
    }
  }

 private:
  std::optional<NodeId> view_of(NodeId table) {
    const Shape& shape = rewriter_.from().node(table).shape;
    const auto coordinates = coordinates_of(*places_, shape);
    if (!coordinates) return std::nullopt;
    // Each axis of the table goes along one of the result, or stands still.
    std::vector<int> along(coordinates->size(), -1);
    Shape narrow(places_->shape.size(), 1);
    for (std::size_t axis = 0; axis < along.size(); ++axis) {
      const Strides& steps = (*coordinates)[axis].strides;
      for (int of_result = 0; of_result < steps.rank(); ++of_result) {
        if (steps[of_result] == 0) continue;
        if (along[axis] >= 0 || narrow[of_result] != 1 || steps[of_result] < 0) return std::nullopt;
        along[axis] = of_result;
        narrow[of_result] = places_->shape[of_result];
      }
    }
    NodeId made = rewriter_.at(table);
    for (std::size_t axis = 0; axis < along.size(); ++axis)
      made = sliced(made, static_cast<int>(axis), (*coordinates)[axis], along[axis]);
    std::vector<int> order(along.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {},
                             [&](int axis) { return along[static_cast<std::size_t>(axis)]; });
    if (!std::ranges::is_sorted(order))
      made = builder_.append(Op::permute, {made}, {.axes = order});
    made = in_shape(made, Op::reshape, narrow);
    made = in_shape(made, Op::expand, places_->shape);
    return in_shape(made, Op::reshape, node_.shape);
  }
  NodeId sliced(NodeId made, int axis, const AffineForm& coordinate, int along) {
    Attributes at;
    at.axes = {axis};
    at.start = coordinate.offset;
    at.step = along < 0 ? 1 : coordinate.strides[along];
    at.end = at.start + (along < 0 ? 0 : at.step * (places_->shape[along] - 1)) + 1;
    if (at.start == 0 && at.step == 1 && at.end == builder_.node(made).shape[axis]) return made;
    return builder_.append(Op::slice, {made}, at);
  }
  NodeId in_shape(NodeId made, Op op, const Shape& shape) {
    if (builder_.node(made).shape == shape) return made;
    return builder_.append(op, {made}, {.axes = {}, .sizes = shape});
  }

  Rewriter& rewriter_;
  const Node& node_;
  std::optional<AffineForm> places_;
  GraphBuilder builder_;
};

}  // namespace

Graph decide_by_places(const Graph& graph) {
  const AffineForms forms(graph);
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    const Node& node = graph.node(id);
    const Kind kind = info(node.op).kind;
    if (kind == Kind::constant) return std::nullopt;
    if (const auto number = forms.constant(id))
      return rewriter.builder(node).full(node.shape, ir::Scalar::of_integer(node.dtype, *number));
    if (node.op == Op::where) {
      const auto chosen = forms.constant(node.operands[0]);
      if (chosen) return rewriter.at(node.operands[*chosen != 0 ? 1 : 2]);
    }
    const bool joins = node.op == Op::logical_and || node.op == Op::logical_or ||
                       node.op == Op::bitwise_and || node.op == Op::bitwise_or;
    if (joins && is_boolean(node.dtype))  // one that does not decide
      for (std::size_t i : {0, 1})
        if (forms.constant(node.operands[i])) return rewriter.at(node.operands[1 - i]);
    if (node.op == Op::embedding && !forms.of(id)) return GatherAsView(rewriter, forms, id).view();
    if (!forms.of(id) || kind == Kind::view) return std::nullopt;
    return written(*forms.of(id), node, rewriter.builder(node));
  });
}

}  // namespace tilewright::graph
