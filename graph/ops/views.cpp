#include "graph/ops/family.h"

namespace tilewright::graph {

namespace rules {

ValueType reshape(const Application& a) {
  const Shape& sizes = a.attributes.sizes;
  need_sizes(a, sizes);
  a.need(element_count(sizes) == element_count(a.shape(0)), "a tensor of shape ", a.shape(0),
         " has ", element_count(a.shape(0)), " elements, the shape ", sizes, " has ",
         element_count(sizes), "; the numbers must be equal");
  return {a.dtype_of(0), sizes};
}
ValueType permute(const Application& a) {
  const auto& axes = a.attributes.axes;
  int rank = a.shape(0).rank();
  a.need(static_cast<int>(axes.size()) == rank, axes.size(), " axes for a tensor of rank ", rank,
         "; each axis must be named once");
  std::vector<bool> seen(axes.size());
  Shape sizes;
  for (int axis : axes) {
    need_axis(a, axis, rank);
    a.need(!seen[static_cast<std::size_t>(axis)], "axis ", axis,
           " is named twice; each axis must be named once");
    seen[static_cast<std::size_t>(axis)] = true;
    sizes.push_back(a.shape(0)[axis]);
  }
  return {a.dtype_of(0), sizes};
}
ValueType expand(const Application& a) {
  const Shape &from = a.shape(0), &to = a.attributes.sizes;
  bool fits = from.rank() == to.rank();
  for (int i = 0; fits && i < from.rank(); ++i) fits = from[i] == to[i] || from[i] == 1;
  a.need(fits, "a tensor of shape ", from, " does not expand to ", to,
         "; the ranks must be equal and only axes of size 1 grow");
  need_sizes(a, to);
  return {a.dtype_of(0), to};
}
ValueType slice(const Application& a) {
  int axis = single_axis(a);
  const Attributes& at = a.attributes;
  std::int64_t size = a.shape(0)[axis];
  a.need(at.step != 0, "step is 0; it must be positive, or negative to go backwards");
  a.need(at.step < 0 || (0 <= at.start && at.start <= at.end && at.end <= size), "range ", at.start,
         " to ", at.end, " does not lie in axis ", axis, " of size ", size,
         "; it must satisfy 0 <= start <= end <= size");
  a.need(at.step > 0 || (-1 <= at.end && at.end <= at.start && at.start < size), "range ", at.start,
         " back to ", at.end, " does not lie in axis ", axis, " of size ", size,
         "; it must satisfy -1 <= end <= start < size");
  ValueType result = a.operands[0];
  result.shape[axis] = count_of_range(at.start, at.end, at.step);
  return result;
}

}  // namespace rules

HostTensor view(const Graph& graph, NodeId id, const HostTensor& operand) {
  const Node& node = graph.node(id);
  HostTensor result(node.dtype, node.shape);
  std::vector<std::int64_t> from = source_elements(graph, id);
  for (std::int64_t i = 0; i < result.count(); ++i)
    result.set(i, operand.get(from[static_cast<std::size_t>(i)]));
  return result;
}

}  // namespace tilewright::graph
