#include "models/onnx/control/pruning.h"

#include <algorithm>
#include <memory>
#include <ranges>

#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

class Pruner {
 public:
  explicit Pruner(Program& program)
      : values_(program.values),
        is_used_(new bool[program.values]()),
        execution_{program, values_, {is_used_.get(), program.values}} {
    for (const Initializer& each : program.initializers) {
      const Tensor& tensor = each.tensor;
      // Others are parameters, which may be replaced.
      const bool may_be_held =
          each.is_held && tensor.count() <= most_known && can_be_known(tensor.dtype());
      const bool is_known = may_be_held || are_numbers(tensor);
      at(each.value) =
          is_known ? Value(tensor, std::make_shared<const Known>(known_of(tensor))) : Value(tensor);
    }
    for (std::size_t i = 0; i < program.graph.inputs.size(); ++i) {
      const programs::SignatureInput& input = program.signature.inputs[i];
      Shape sizes;
      for (const auto& size : input.facts.sizes)
        sizes.push_back(programs::evaluate(size, {}).value_or(-1));
      const bool is_fixed = std::ranges::all_of(sizes, [](std::int64_t size) { return size >= 0; });
      if (input.has_rank && is_fixed)
        at(program.graph.inputs[i]) = full({}, 0, input.facts.dtype).expand(sizes);
    }
  }

  // The nodes with their bodies, and branches instead of choices between them.
  std::vector<Node> pruned(const std::vector<Node>& nodes) {
    std::vector<Node> kept;
    for (const Node& node : nodes) {
      if (const Graph* branch = branch_of(node)) {
        take(*branch, node, kept);
        continue;
      }
      compute(node);
      kept.push_back(node);
      for (Attribute& attribute : kept.back().attributes)
        if (auto* body = std::get_if<Subgraph>(&attribute.value)) {
          Graph own = **body;
          own.nodes = pruned(own.nodes);
          *body = std::make_shared<const Graph>(std::move(own));
        }
    }
    return kept;
  }
  bool has_pruned() const { return has_pruned_; }

 private:
  Value& at(ValueId id) { return values_[static_cast<std::size_t>(id)]; }

  static const Graph* body_of(const Node& node, std::string_view name) {
    for (const Attribute& attribute : node.attributes)
      if (attribute.name == name)
        if (auto* body = std::get_if<Subgraph>(&attribute.value)) return body->get();
    return nullptr;
  }
  // The branch that is always taken, if that is known.
  const Graph* branch_of(const Node& node) {
    if (node.op != "If" || node.inputs.size() != 1 || node.inputs[0] == no_value) return nullptr;
    const Known* condition = at(node.inputs[0]).known();
    if (condition == nullptr || condition->elements.size() != 1) return nullptr;
    const bool is_true = condition->elements[0].as_integer() != 0;
    const Graph *taken = body_of(node, is_true ? "then_branch" : "else_branch"),
                *other = body_of(node, is_true ? "else_branch" : "then_branch");
    // A choice that is wrong is refused where it is computed.
    const bool is_right = taken != nullptr && other != nullptr &&
                          taken->outputs.size() == node.outputs.size() &&
                          other->outputs.size() == node.outputs.size();
    return is_right ? taken : nullptr;
  }

  void take(const Graph& branch, const Node& choice, std::vector<Node>& kept) {
    has_pruned_ = true;
    for (Node& node : pruned(branch.nodes)) kept.push_back(std::move(node));
    for (std::size_t i = 0; i < choice.outputs.size(); ++i) {
      const ValueId from = branch.outputs[i].value, to = choice.outputs[i];
      if (to == no_value) continue;
      kept.push_back({choice.name, "Identity", {from}, {to}, {}, choice.opset});
      at(to) = at(from);
    }
  }

  // The numbers that the node computes, if its operands are known.
  void compute(const Node& node) {
    for (ValueId id : node.inputs)
      if (id != no_value && !at(id).defined()) return;
    Call call(node, execution_);
    try {
      auto results =
          node.op == "Constant" ? find_operator(node.op, node.opset)->compute(call) : folded(call);
      if (!results) return;
      for (std::size_t i = 0; i < std::min(results->size(), node.outputs.size()); ++i)
        if (node.outputs[i] != no_value) at(node.outputs[i]) = std::move((*results)[i]);
    } catch (const Error&) {  // which a call raises that comes to the node
    }
  }

  std::vector<Value> values_;
  std::unique_ptr<bool[]> is_used_;
  Execution execution_;
  bool has_pruned_ = false;
};

using Used = std::vector<bool>;

void mark(const Graph& graph, Used& used);
void mark(const Node& node, Used& used) {
  for (ValueId id : node.inputs)
    if (id != no_value) used[static_cast<std::size_t>(id)] = true;
  for (const Attribute& attribute : node.attributes)
    if (auto* body = std::get_if<Subgraph>(&attribute.value)) mark(**body, used);
}
void mark(const Graph& graph, Used& used) {
  for (const Node& node : graph.nodes) mark(node, used);
  for (const Output& output : graph.outputs) used[static_cast<std::size_t>(output.value)] = true;
}

// From the end: a node that only unread nodes read is unread too.
void drop_unread(Program& program, const Used& before) {
  Used used(program.values);
  for (const Output& output : program.graph.outputs)
    used[static_cast<std::size_t>(output.value)] = true;
  auto is_read = [&](ValueId id) { return id != no_value && used[static_cast<std::size_t>(id)]; };
  std::vector<Node> kept;
  for (Node& node : program.graph.nodes | std::views::reverse) {
    if (std::ranges::none_of(node.outputs, is_read)) continue;
    mark(node, used);
    kept.push_back(std::move(node));
  }
  program.graph.nodes.assign(std::make_move_iterator(kept.rbegin()),
                             std::make_move_iterator(kept.rend()));
  std::erase_if(program.initializers, [&](const Initializer& each) {
    const auto id = static_cast<std::size_t>(each.value);
    return before[id] && !used[id];
  });
}

}  // namespace

void prune_branches(Program& program) {
  bool has_choices = false;
  for_each_node(program.graph, [&](const Node& node) { has_choices |= node.op == "If"; });
  if (!has_choices) return;
  Pruner pruner(program);
  std::vector<Node> nodes = pruner.pruned(program.graph.nodes);
  if (!pruner.has_pruned()) return;
  Used before(program.values);
  mark(program.graph, before);
  program.graph.nodes = std::move(nodes);
  drop_unread(program, before);
}

}  // namespace tilewright::onnx
