#include "graph/saving/compute_again.h"

#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {
namespace {

// The nodes that are made again: views and other results only where what they are of is.
std::vector<bool> nodes_again(const Graph& graph, const SavingProblem& problem,
                              const SavingChoice& choice) {
  std::vector<bool> result(graph.nodes.size());
  for (std::size_t i = 0; i < problem.size(); ++i) {
    const Node& node = graph.node(problem[i].node);
    const Kind kind = info(node.op).kind;
    const bool is_part = kind == Kind::view || kind == Kind::projection;
    result[problem[i].node] = choice.is_again[i] && (!is_part || result[node.operands[0]]);
  }
  return result;
}

class SecondCopies {
 public:
  SecondCopies(const Graph& graph, std::vector<bool> is_again)
      : is_again_(std::move(is_again)),
        rewriter_(graph),
        is_met_(graph.nodes.size()),
        copies_(graph.nodes.size()) {}

  Graph run() {
    const Graph& graph = rewriter_.from();
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.node(id);
      const bool reads_again = node.origin.purpose != Purpose::function && node.op != Op::input;
      if (!reads_again) {
        rewriter_.copy(id);
        continue;
      }
      for (NodeId operand : node.operands) make(operand);
      append(node, id);
    }
    return rewriter_.finish();
  }

 private:
  // The copy of a value, after those of the values that it is computed from.
  void make(NodeId wanted) {
    if (!is_again_[wanted] || copies_[wanted]) return;
    std::vector<NodeId> chain{wanted};
    is_met_[wanted] = true;
    for (std::size_t i = 0; i < chain.size(); ++i)
      for (NodeId operand : rewriter_.from().node(chain[i]).operands) {
        if (!is_again_[operand] || is_met_[operand]) continue;
        is_met_[operand] = true;
        chain.push_back(operand);
      }
    std::ranges::sort(chain);
    for (NodeId id : chain) copies_[id] = rewriter_.append(second(id));
  }

  Node second(NodeId id) const {
    Node node = with_copies(rewriter_.from().node(id));
    node.origin.purpose = Purpose::again;
    return node;
  }
  Node with_copies(Node node) const {
    for (NodeId& operand : node.operands)
      operand = copies_[operand] ? *copies_[operand] : rewriter_.at(operand);
    return node;
  }
  void append(const Node& node, NodeId id) {
    rewriter_.replace(id, rewriter_.append(with_copies(node)));
  }

  std::vector<bool> is_again_;
  Rewriter rewriter_;
  std::vector<bool> is_met_;                   // values whose copies are made
  std::vector<std::optional<NodeId>> copies_;  // as the old nodes
};

}  // namespace

Graph computed_again(const Graph& graph, const SavingProblem& problem, const SavingChoice& choice) {
  return dead_code(SecondCopies(graph, nodes_again(graph, problem, choice)).run());
}

}  // namespace tilewright::graph
