#include <range/v3/view/zip.hpp>

#include "graph/ops/decompositions.h"
#include "graph/ops/family.h"

namespace tilewright::graph {

Term operator+(const Term& a, const Term& b) { return a.make(Op::add, {a.id, b.id}); }
Term operator-(const Term& a, const Term& b) { return a.make(Op::sub, {a.id, b.id}); }
Term operator*(const Term& a, const Term& b) { return a.make(Op::mul, {a.id, b.id}); }
Term operator/(const Term& a, const Term& b) { return a.make(Op::div, {a.id, b.id}); }
Term operator+(const Term& a, double b) { return a + a.number(b); }
Term operator*(const Term& a, double b) { return a * a.number(b); }
Term operator/(double a, const Term& b) { return b.number(a) / b; }
Term unary(Op op, const Term& x) { return x.make(op, {x.id}); }

Term choice(const Term& condition, const Term& a, const Term& b) {
  return a.make(Op::where, {condition.id, a.id, b.id});
}
Term compared(Op op, const Term& a, double b) { return a.make(op, {a.id, a.number(b).id}); }

std::vector<NodeId> append_decomposition(GraphBuilder& builder, const Node& node,
                                         const std::vector<NodeId>& operands,
                                         const dsl::Target& target) {
  Composite site{node, target, {}};
  for (NodeId id : operands) site.operands.push_back({&builder, id});
  Term result =
      dispatch_op<Kind::composite, Term>(node.op, [&](auto op) { return decomposition(op, site); });
  check(result.others.size() == node.others.size(), "a decomposition lacks one of the results");
  std::vector<NodeId> results = {result.to(node.dtype).id};
  for (auto&& [other, type] : ranges::views::zip(result.others, node.others))
    results.push_back(Term{&builder, other}.to(type.dtype).id);
  return results;
}

}  // namespace tilewright::graph
