// One result of a node that has several.
#include "graph/ops/family.h"

namespace tilewright::graph {

namespace rules {

ValueType projection(const Application& a) {
  const auto& others = a.operands[0].others;
  const std::int64_t index = a.attributes.index;
  a.need(!others.empty(),
         "the operand has one result, which is the operand itself; take a result "
         "of a node that has several");
  a.need(index >= 1 && index <= std::ssize(others), "index is ", index,
         "; the operand has results 0, which is itself, to ", others.size());
  return others[static_cast<std::size_t>(index - 1)];
}

}  // namespace rules

HostTensor meaning(The<Op::result>, const Node& node, const Operands& operands) {
  return operands[0]->others[static_cast<std::size_t>(node.attributes.index - 1)];
}

}  // namespace tilewright::graph
