// Derivatives of control flow: by those of its bodies. That of a scan is a scan in the opposite
// order, over the values that were carried into each turn.
#include <algorithm>

#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

namespace {

// The gradients alone.
Graph gradients_of(const Graph& body, const GradientRequest& request, const dsl::Target& target) {
  Graph graph = gradient_graph(body, request, target);
  graph.outputs.erase(graph.outputs.begin(),
                      graph.outputs.begin() + static_cast<std::ptrdiff_t>(body.outputs.size()));
  return graph;
}

std::vector<Term> results_of(GraphBuilder& builder, NodeId node) {
  std::vector<Term> results;
  for (NodeId id : builder.results_of(node)) results.push_back({&builder, id});
  return results;
}
std::vector<NodeId> ids_of(const std::vector<Term>& terms) {
  std::vector<NodeId> ids;
  for (const Term& term : terms) ids.push_back(term.id);
  return ids;
}

}  // namespace

Cotangents derivative(The<Op::cond>, const Differential& d) {
  GradientRequest request;
  std::vector<Term> operands = d.operands;
  for (std::size_t i = 1; i < d.operands.size(); ++i)
    if (d.wants(i)) request.inputs.push_back(i - 1);
  for (std::size_t i = 0; i < d.results.size(); ++i) {
    if (!d.cotangents[i]) continue;
    request.outputs.push_back(i);
    operands.push_back(*d.cotangents[i]);
  }
  Cotangents all(d.operands.size());
  if (request.inputs.empty()) return all;
  Attributes attributes;
  const Bodies& bodies = d.node.attributes.bodies;
  attributes.bodies = Bodies(
      {gradients_of(bodies[0], request, d.target), gradients_of(bodies[1], request, d.target)});
  GraphBuilder& builder = d.builder();
  std::vector<Term> gradients =
      results_of(builder, builder.append(Op::cond, ids_of(operands), attributes));
  for (std::size_t i = 0; i < gradients.size(); ++i) all[request.inputs[i] + 1] = gradients[i];
  return all;
}

Cotangents derivative(The<Op::while_loop>, const Differential& d) {
  d.raise(
      "is a loop of unknown length, which has no gradient; use scan, which has a fixed number of "
      "turns, or bound them (WhileOptions::max_turns), or use stop_gradient where none is wanted");
}

Attributes with_saved_states(const Attributes& scan) {
  Graph body = scan.bodies[0];
  for (std::int64_t i = 0; i < scan.carried; ++i)
    body.outputs.push_back(body.inputs[static_cast<std::size_t>(i)]);
  Attributes attributes = scan;
  attributes.bodies = Bodies({std::move(body)});
  return attributes;
}

namespace {

// The scan that goes back over the turns of another one. It carries the cotangents of the
// values that are carried there, and the sums of those of the other operands.
class ReverseScan {
 public:
  explicit ReverseScan(const Differential& d)
      : d_(d),
        body_(d.node.attributes.bodies[0]),
        carried_(static_cast<std::size_t>(d.node.attributes.carried)),
        first_other_(carried_ + static_cast<std::size_t>(d.node.attributes.sliced)),
        given_(d.results.size() - 2 * carried_) {
    for (std::size_t i = 0; i < d.operands.size(); ++i) {
      const bool is_carried = i < carried_ && is_floating(d.operands[i].dtype());
      if (is_carried || (i >= carried_ && d.wants(i))) request_.inputs.push_back(i);
    }
    for (std::size_t i = 0; i < carried_ + given_; ++i)
      if (i < carried_ ? is_floating(d.results[i].dtype()) : d.cotangents[i].has_value())
        request_.outputs.push_back(i);
  }

  Cotangents cotangents() {
    Cotangents all(d_.operands.size());
    if (request_.inputs.empty() || request_.outputs.empty()) return all;
    Attributes attributes;
    attributes.bodies = Bodies({turn()});
    attributes.carried = std::ssize(start_);
    attributes.sliced = std::ssize(slices_);
    attributes.end = d_.node.attributes.end;
    attributes.descending = !d_.node.attributes.descending;
    std::vector<Term> operands = start_;
    operands.insert(operands.end(), slices_.begin(), slices_.end());
    for (std::size_t i = first_other_; i < d_.operands.size(); ++i)
      operands.push_back(d_.operands[i]);
    GraphBuilder& builder = d_.builder();
    std::vector<Term> results =
        results_of(builder, builder.append(Op::scan, ids_of(operands), attributes));
    for (std::size_t i = 0; i < order_.size(); ++i) all[order_[i]] = results[i];
    return all;
  }

 private:
  // An input of the turn for one value of a scan's operand.
  Term input_like(GraphBuilder& builder, const Term& operand, bool is_slice) const {
    Shape shape = operand.shape();
    if (is_slice) shape.erase(shape.begin());
    return {&builder, builder.input(operand.dtype(), shape)};
  }

  Graph turn() {
    Graph graph;
    GraphBuilder builder(graph);
    builder.set_location(d_.node.where);
    std::vector<Term> of_body(d_.operands.size(), Term{&builder, 0}), cotangents, sums;
    for (std::size_t i : request_.inputs) {
      if (i >= carried_) continue;
      order_.push_back(i);
      start_.push_back(d_.cotangents[i].value_or(d_.results[i].number(0)));
      cotangents.push_back(input_like(builder, start_.back(), false));
    }
    for (std::size_t i : request_.inputs) {
      if (i < first_other_) continue;
      order_.push_back(i);
      start_.push_back(Differential::wide(d_.operands[i]).number(0));
      sums.push_back(input_like(builder, start_.back(), false));
    }
    for (std::size_t i = 0; i < first_other_; ++i) {
      slices_.push_back(i < carried_ ? d_.results[carried_ + given_ + i] : d_.operands[i]);
      of_body[i] = input_like(builder, slices_.back(), true);
    }
    for (std::size_t i : request_.outputs) {
      if (i < carried_) continue;
      slices_.push_back(*d_.cotangents[i]);
      cotangents.push_back(input_like(builder, slices_.back(), true));
    }
    for (std::size_t i = first_other_; i < d_.operands.size(); ++i)
      of_body[i] = input_like(builder, d_.operands[i], false);
    of_body.insert(of_body.end(), cotangents.begin(), cotangents.end());
    std::vector<Term> gradients =
        spliced(gradients_of(body_, request_, d_.target), builder, of_body);
    give(graph, gradients, sums);
    return graph;
  }

  // Carried ones come first: cotangents, sums; then those of slices.
  void give(Graph& graph, const std::vector<Term>& gradients, const std::vector<Term>& sums) {
    std::vector<NodeId> of_slices;
    std::vector<std::size_t> slices;
    std::size_t next = 0;
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      const std::size_t i = request_.inputs[k];
      if (i < carried_) {
        graph.outputs.push_back(gradients[k].id);
      } else if (i < first_other_) {
        slices.push_back(i);
        of_slices.push_back(gradients[k].id);
      } else {
        graph.outputs.push_back((sums[next] + Differential::wide(gradients[k])).id);
        ++next;
      }
    }
    graph.outputs.insert(graph.outputs.end(), of_slices.begin(), of_slices.end());
    order_.insert(order_.end(), slices.begin(), slices.end());
  }

  const Differential& d_;
  const Graph& body_;
  const std::size_t carried_, first_other_, given_;
  GradientRequest request_;
  std::vector<Term> start_, slices_;  // operands of the new scan: carried ones, sliced ones
  std::vector<std::size_t> order_;    // operands that its results are the cotangents of
};

}  // namespace

Cotangents derivative(The<Op::scan>, const Differential& d) { return ReverseScan(d).cotangents(); }

}  // namespace tilewright::graph
