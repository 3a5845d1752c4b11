#include <algorithm>

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
    if (!forms.of(id) || kind == Kind::view) return std::nullopt;
    return written(*forms.of(id), node, rewriter.builder(node));
  });
}

}  // namespace tilewright::graph
