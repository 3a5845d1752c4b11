// A function with its gradients in two graphs: what is computed with the function, and what waits
// for the cotangents.
#include <algorithm>
#include <map>
#include <utility>

#include "graph/ops/derivatives/gradient_graph.h"
#include "graph/passes/passes.h"
#include "graph/passes/splice.h"

namespace tilewright::graph {
namespace {

class GradientSplitter {
 public:
  // The first inputs of `joint` are the body's, its first outputs too.
  GradientSplitter(const Graph& joint, std::size_t inputs, std::size_t outputs)
      : joint_(joint), inputs_(inputs), outputs_(outputs), builder_(result_.backward) {
    is_backward_.resize(joint.nodes.size());
    if (joint.inputs.size() == inputs) return;
    // The sweep goes back when it has copied the body, and has made the cotangents by then.
    for (NodeId id = joint.inputs[inputs]; id < joint.nodes.size(); ++id) {
      const Node& node = joint.node(id);
      is_backward_[id] = node.op != Op::result || is_backward_[node.operands[0]];
    }
  }

  SplitGradient run(std::size_t needed_input) {
    for (NodeId id = 0; id < joint_.nodes.size(); ++id)
      if (is_backward_[id])
        for (NodeId operand : joint_.node(id).operands) need(operand);
    for (std::size_t i = outputs_; i < joint_.outputs.size(); ++i) need(joint_.outputs[i]);
    if (kept_.empty() && saved_.empty() && joint_.inputs.size() == inputs_)
      kept_.push_back(needed_input);  // a node has an operand
    make_forward();
    make_backward();
    result_.inputs = kept_;
    return std::move(result_);
  }

 private:
  // Constants and views are made again: they are no work, and what they are of is there anyway.
  bool is_made_again(const Node& node) const {
    const Kind kind = info(node.op).kind;
    return kind == Kind::constant || kind == Kind::view;
  }

  // A value of the function that its gradients read.
  void need(NodeId id) {
    if (is_backward_[id] || std::exchange(is_needed_[id], true)) return;
    const Node& node = joint_.node(id);
    if (node.op == Op::input)
      kept_.push_back(
          static_cast<std::size_t>(std::ranges::find(joint_.inputs, id) - joint_.inputs.begin()));
    else if (!is_made_again(node))
      saved_.push_back(id);
    else
      for (NodeId operand : node.operands) need(operand);
  }

  void make_forward() {
    Graph& forward = result_.forward;
    forward.marks = joint_.marks;
    GraphBuilder builder(forward);
    std::map<NodeId, NodeId> ids;
    for (std::size_t i = 0; i < inputs_; ++i) {
      const Node& node = joint_.node(joint_.inputs[i]);
      ids[joint_.inputs[i]] = builder.input(node.dtype, node.shape);
    }
    for (NodeId id = 0; id < joint_.nodes.size(); ++id)
      if (!is_backward_[id] && !ids.contains(id)) append(builder, id, ids);
    for (std::size_t i = 0; i < outputs_; ++i) forward.outputs.push_back(ids[joint_.outputs[i]]);
    for (NodeId id : saved_) forward.outputs.push_back(ids[id]);
  }

  void make_backward() {
    result_.backward.marks = joint_.marks;
    std::map<NodeId, NodeId> ids;
    auto take = [&](NodeId id) {
      const Node& node = joint_.node(id);
      builder_.set_location(node.where);
      ids[id] = builder_.input(node.dtype, node.shape);
    };
    for (std::size_t i : kept_) take(joint_.inputs[i]);
    for (NodeId id : saved_) take(id);
    for (std::size_t i = inputs_; i < joint_.inputs.size(); ++i) take(joint_.inputs[i]);
    for (NodeId id = 0; id < joint_.nodes.size(); ++id)
      if ((is_backward_[id] || is_needed_[id]) && !ids.contains(id)) append(builder_, id, ids);
    for (std::size_t i = outputs_; i < joint_.outputs.size(); ++i)
      result_.backward.outputs.push_back(ids[joint_.outputs[i]]);
  }

  void append(GraphBuilder& builder, NodeId id, std::map<NodeId, NodeId>& ids) const {
    const Node& node = joint_.node(id);
    builder.set_location(node.where);
    builder.set_origin(node.origin);
    std::vector<NodeId> operands;
    for (NodeId operand : node.operands) operands.push_back(ids.at(operand));
    ids[id] = append_like(builder, node, std::move(operands));
  }

  const Graph& joint_;
  const std::size_t inputs_, outputs_;
  std::vector<bool> is_backward_;
  std::map<NodeId, bool> is_needed_;
  std::vector<std::size_t> kept_;
  std::vector<NodeId> saved_;
  SplitGradient result_;
  GraphBuilder builder_;
};

}  // namespace

SplitGradient split_gradient(const Graph& body, const GradientRequest& request,
                             const dsl::Target& target) {
  const Graph joint = dead_code(common_subexpressions(gradient_graph(body, request, target)));
  return GradientSplitter(joint, body.inputs.size(), body.outputs.size())
      .run(request.inputs.empty() ? 0 : request.inputs[0]);
}

}  // namespace tilewright::graph
