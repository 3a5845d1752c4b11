#include <range/v3/view/zip.hpp>

#include "graph/ops/family.h"

namespace tilewright::graph {

namespace {

template <Kind kind, typename Operation>
HostTensor meaning_of_kind(Operation op, const Graph& graph, NodeId id, const Operands& x,
                           Rounding rounding) {
  const Node& node = graph.node(id);
  if constexpr (kind == Kind::input)
    raise_internal_error("an input was computed", std::source_location::current());
  else if constexpr (kind == Kind::pointwise)
    return pointwise(node, x, rounding);
  else if constexpr (kind == Kind::view)
    return view(graph, id, *x[0]);
  else if constexpr (kind == Kind::control)
    return control(op, node, x, rounding);
  else
    return meaning(op, node, x);
}

HostTensor compute(const Graph& graph, NodeId id, const Operands& x, Rounding rounding) {
  switch (graph.node(id).op) {
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  case Op::name:                                                                     \
    return meaning_of_kind<Kind::kind>(The<Op::name>{}, graph, id, x, rounding);
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
  }
  __builtin_unreachable();
}

}  // namespace

HostTensor evaluate_node(const Graph& graph, NodeId id, const Operands& operands,
                         Rounding rounding) {
  HostTensor value = compute(graph, id, operands, rounding);
  const Node& node = graph.node(id);
  if (node.others.empty()) value.others.clear();  // of an operand that it began as
  check(value.others.size() == node.others.size(), "an op's meaning lacks one of its results");
  if (rounding != Rounding::exact_dtype) return value;
  round_to(value, node.dtype);
  for (auto&& [other, type] : ranges::views::zip(value.others, node.others))
    round_to(other, type.dtype);
  return value;
}

}  // namespace tilewright::graph
