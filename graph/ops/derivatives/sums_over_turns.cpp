#include "graph/ops/derivatives/sums_over_turns.h"

#include <algorithm>

#include "dsl/ir/type_rules.h"
#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {
namespace {

// The sum over all turns, from the stacks of values.
class SumAfterLoop {
 public:
  SumAfterLoop(const Graph& turn, std::int64_t turns, DType dtype, GraphBuilder& builder,
               const SumsOverTurns::StackOf& stack_of, const std::set<NodeId>& stacked)
      : turn_(turn),
        turns_(turns),
        dtype_(dtype),
        builder_(builder),
        stack_of_(stack_of),
        stacked_(stacked) {}

  Term sum_of(NodeId id) {
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    return known_.emplace(id, computed(id)).first->second;
  }

 private:
  Term computed(NodeId id) {
    const Node& node = turn_.node(id);
    if (node.op == Op::matmul) return product(node);
    if (node.op == Op::sum) return reduction(node);
    if (node.op == Op::to) return sum_of(node.operands[0]);
    std::vector<NodeId> operands;
    for (NodeId operand : node.operands) operands.push_back(sum_of(operand).id);
    if (operands.empty()) return {&builder_, builder_.full(dtype_, node.shape, 0)};
    return {&builder_, builder_.append(node.op, std::move(operands), node.attributes)};
  }

  // [turns, ..] of a value, with the turns before the axis `at` of it, which they are joined with.
  Term joined_turns(NodeId id, int at) {
    const Term stack = stack_of_value(id);
    Shape shape = turn_.node(id).shape;
    std::vector<int> order;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (axis == at) order.push_back(0);
      order.push_back(axis + 1);
    }
    shape[at] *= turns_;
    return permuted(stack, order).reshape(shape);
  }
  Term product(const Node& node) {
    const int rank = node.shape.rank();
    const Term a = joined_turns(node.operands[0], rank - 1);
    const Term b = joined_turns(node.operands[1], rank - 2);
    const DType sums = ir::product_dtype(a.dtype());
    return Term{&builder_, builder_.append(Op::matmul, {a.id, b.id}, {}, sums)}.to(dtype_);
  }
  Term reduction(const Node& node) {
    std::vector<int> axes = {0};
    for (int axis : node.attributes.axes) axes.push_back(axis + 1);
    return summed(stack_of_value(node.operands[0]).to(dtype_), axes).reshape(node.shape);
  }

  Term permuted(const Term& x, const std::vector<int>& axes) {
    return x.make(Op::permute, {x.id}, {.axes = axes, .sizes = {}});
  }
  // Views of a value are views of its stack.
  Term stack_of_value(NodeId id) {
    const Node& node = turn_.node(id);
    if (stacked_.contains(id)) return stack_of_(id);
    const Term stack = stack_of_value(node.operands[0]);
    if (node.op == Op::reshape) {
      Shape sizes = node.shape;
      sizes.insert(sizes.begin(), turns_);
      return stack.reshape(sizes);
    }
    std::vector<int> axes = {0};
    for (int axis : node.attributes.axes) axes.push_back(axis + 1);
    return permuted(stack, axes);
  }

  const Graph& turn_;
  const std::int64_t turns_;
  const DType dtype_;
  GraphBuilder& builder_;
  const SumsOverTurns::StackOf& stack_of_;
  const std::set<NodeId>& stacked_;
  std::map<NodeId, Term> known_;
};

}  // namespace

bool SumsOverTurns::take(NodeId value) {
  Needs needs;
  if (!is_linear(value, needs)) return false;
  std::int64_t elements = 0;
  for (NodeId id : needs.stacks) elements += element_count(turn_.node(id).shape);
  if (elements >= element_count(turn_.node(value).shape)) return false;
  added_.insert(added_.end(), needs.stacks.begin(), needs.stacks.end());
  stacked_.insert(needs.stacks.begin(), needs.stacks.end());
  return true;
}

bool SumsOverTurns::is_linear(NodeId value, Needs& needs) const {
  if (!needs.seen.insert(value).second) return true;
  const Node& node = turn_.node(value);
  const Kind kind = info(node.op).kind;
  if (node.op == Op::matmul || node.op == Op::sum)
    return std::ranges::all_of(node.operands, [&](NodeId id) { return may_be_stacked(id, needs); });
  const bool is_cast = node.op == Op::to && is_floating(turn_.node(node.operands[0]).dtype);
  const bool is_sum = node.op == Op::add || node.op == Op::sub || node.op == Op::neg;
  if (kind == Kind::view || kind == Kind::concat || is_cast || is_sum)
    return std::ranges::all_of(node.operands, [&](NodeId id) { return is_linear(id, needs); });
  return node.op == Op::full && node.attributes.number == 0;
}

bool SumsOverTurns::may_be_stacked(NodeId value, Needs& needs) const {
  if (stacked_.contains(value)) return true;
  const Node& node = turn_.node(value);
  if (invariant_.contains(value) || info(node.op).kind == Kind::constant) return false;
  if (node.op == Op::reshape || node.op == Op::permute)
    return may_be_stacked(node.operands[0], needs);
  needs.stacks.insert(value);
  return true;
}

Term SumsOverTurns::sum_of(NodeId value, DType dtype, GraphBuilder& builder,
                           const StackOf& stack_of) const {
  return SumAfterLoop(turn_, turns_, dtype, builder, stack_of, stacked_).sum_of(value);
}

}  // namespace tilewright::graph
