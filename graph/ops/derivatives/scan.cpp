// The derivative of a scan: a scan in the opposite order, over the values that were carried into
// each turn and the products that each turn formed.
#include <algorithm>
#include <map>
#include <set>

#include "graph/ops/derivatives/differential.h"
#include "graph/ops/derivatives/sums_over_turns.h"

namespace tilewright::graph {

namespace {

bool is_product(const Node& node) {
  const Kind kind = info(node.op).kind;
  return kind == Kind::contraction || kind == Kind::convolution || node.op == Op::linear;
}

// Products of a scan's body that results need and that differ from turn to turn: to keep one costs
// less than to form it again. The others of its values are formed again.
std::vector<NodeId> products_of_turns(const Graph& body, std::size_t own_inputs) {
  std::vector<bool> is_live(body.nodes.size()), varies(body.nodes.size());
  for (NodeId id : body.outputs) is_live[id] = true;
  for (auto id = static_cast<NodeId>(body.nodes.size()); id-- > 0;)
    for (NodeId operand : body.node(id).operands)
      if (is_live[id]) is_live[operand] = true;
  for (std::size_t i = 0; i < own_inputs; ++i) varies[body.inputs[i]] = true;
  std::vector<NodeId> products;
  for (NodeId id = 0; id < body.nodes.size(); ++id) {
    const Node& node = body.node(id);
    if (std::ranges::any_of(node.operands, [&](NodeId operand) { return varies[operand]; }))
      varies[id] = true;
    if (is_live[id] && varies[id] && is_product(node) && is_floating(node.dtype))
      products.push_back(id);
  }
  return products;
}
std::vector<NodeId> products_of_turns(const Attributes& scan) {
  return products_of_turns(scan.bodies[0], static_cast<std::size_t>(scan.carried + scan.sliced));
}

}  // namespace

Attributes with_saved_values(const Attributes& scan) {
  Graph body = scan.bodies[0];
  const std::vector<NodeId> products = products_of_turns(scan);
  for (std::int64_t i = 0; i < scan.carried; ++i)
    body.outputs.push_back(body.inputs[static_cast<std::size_t>(i)]);
  body.outputs.insert(body.outputs.end(), products.begin(), products.end());
  Attributes attributes = scan;
  attributes.bodies = Bodies({std::move(body)});
  return attributes;
}

namespace {

// The scan that goes back over the turns of another one. It carries the cotangents of the values
// that are carried there, and sums of those of the other operands that cannot be formed after it.
class ReverseScan {
 public:
  explicit ReverseScan(const Differential& d)
      : d_(d),
        body_(d.node.attributes.bodies[0]),
        products_(products_of_turns(d.node.attributes)),
        carried_(static_cast<std::size_t>(d.node.attributes.carried)),
        first_other_(carried_ + static_cast<std::size_t>(d.node.attributes.sliced)),
        given_(d.results.size() - 2 * carried_ - products_.size()) {
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
    Graph graph;
    GraphBuilder builder(graph);
    builder.set_location(d_.node.where);
    const std::vector<Term> gradients = turn(builder);
    SumsOverTurns later = sums_over_turns(graph, gradients);
    finish(builder, gradients, later);
    // Nothing is left for a loop where all sums follow from slices.
    const std::vector<Term> results = graph.outputs.empty() ? std::vector<Term>() : scan_of(graph);
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (order_[i]) all[*order_[i]] = results[i];
    auto stack_of = [&](NodeId id) {
      const auto slice = slice_of_.find(id);
      return slice != slice_of_.end() ? slices_[slice->second] : results[stacks_.at(id)];
    };
    for (const auto& [i, value] : later_)
      all[i] =
          later.sum_of(value, Differential::wide(d_.operands[i]).dtype(), d_.builder(), stack_of);
    return all;
  }

 private:
  std::vector<Term> scan_of(const Graph& turn) const {
    Attributes attributes;
    attributes.bodies = Bodies({turn});
    attributes.carried = std::ssize(start_);
    attributes.sliced = std::ssize(slices_);
    attributes.end = d_.node.attributes.end;
    attributes.descending = !d_.node.attributes.descending;
    std::vector<Term> operands = start_;
    operands.insert(operands.end(), slices_.begin(), slices_.end());
    for (std::size_t i = first_other_; i < d_.operands.size(); ++i)
      operands.push_back(d_.operands[i]);
    return appended(Op::scan, operands, attributes);
  }

  // An input of the turn for one value of a scan's operand.
  Term input_like(GraphBuilder& builder, const Term& operand, bool is_slice) const {
    Shape shape = operand.shape();
    if (is_slice) shape.erase(shape.begin());
    return {&builder, builder.input(operand.dtype(), shape)};
  }
  Term slice_input(GraphBuilder& builder, const Term& operand) {
    slices_.push_back(operand);
    const Term input = input_like(builder, operand, true);
    slice_of_[input.id] = slices_.size() - 1;
    return input;
  }

  // The gradients within one turn. Inputs: cotangents of carried values, slices, others.
  std::vector<Term> turn(GraphBuilder& builder) {
    std::vector<Term> of_body, cotangents, products;
    for (std::size_t i : request_.inputs) {
      if (i >= carried_) continue;
      start_.push_back(d_.cotangents[i].value_or(d_.results[i].number(0)));
      cotangents.push_back(input_like(builder, start_.back(), false));
    }
    for (std::size_t i = 0; i < first_other_; ++i)
      of_body.push_back(
          slice_input(builder, i < carried_ ? d_.results[carried_ + given_ + i] : d_.operands[i]));
    for (std::size_t i : request_.outputs)
      if (i >= carried_) cotangents.push_back(slice_input(builder, *d_.cotangents[i]));
    for (std::size_t i = 0; i < products_.size(); ++i)
      products.push_back(slice_input(builder, d_.results[2 * carried_ + given_ + i]));
    for (std::size_t i = first_other_; i < d_.operands.size(); ++i) {
      of_body.push_back(input_like(builder, d_.operands[i], false));
      invariant_.insert(of_body.back().id);
    }
    of_body.insert(of_body.end(), cotangents.begin(), cotangents.end());
    of_body.insert(of_body.end(), products.begin(), products.end());
    return spliced(gradients_by_products(), builder, of_body);
  }

  // The gradients alone, with the products of the turn as further inputs.
  Graph gradients_by_products() const {
    Graph graph = gradient_graph(body_, request_, d_.target);
    const auto own = static_cast<std::ptrdiff_t>(body_.outputs.size());
    for (auto at = own - std::ssize(products_); at < own; ++at) {
      const NodeId id = graph.outputs[static_cast<std::size_t>(at)];
      graph.nodes[id].op = Op::input;
      graph.nodes[id].operands.clear();
      graph.inputs.push_back(id);
    }
    graph.outputs.erase(graph.outputs.begin(), graph.outputs.begin() + own);
    return graph;
  }

  // Decides which sums are formed after the loop: again and again, as what is stacked for one may
  // serve another.
  SumsOverTurns sums_over_turns(const Graph& graph, const std::vector<Term>& gradients) {
    std::set<NodeId> stacked;
    for (const auto& [id, slice] : slice_of_) stacked.insert(id);
    for (std::size_t k = 0; k < gradients.size(); ++k)
      if (is_slice(request_.inputs[k])) stacked.insert(gradients[k].id);
    SumsOverTurns later(graph, d_.node.attributes.end, std::move(stacked), invariant_);
    for (std::size_t taken = later_.size() + 1; taken != later_.size();) {
      taken = later_.size();
      for (std::size_t k = 0; k < gradients.size(); ++k) {
        const std::size_t i = request_.inputs[k];
        if (i >= first_other_ && !later_.contains(i) && later.take(gradients[k].id))
          later_.emplace(i, gradients[k].id);
      }
    }
    return later;
  }
  bool is_slice(std::size_t operand) const { return operand >= carried_ && operand < first_other_; }

  // Gives the turn its results: carried cotangents, sums; then those of slices, and the values that
  // are stacked for sums after the loop.
  void finish(GraphBuilder& builder, const std::vector<Term>& gradients,
              const SumsOverTurns& later) {
    Graph& graph = builder.graph();
    std::vector<NodeId> sums, stacks;
    std::vector<std::optional<std::size_t>> of_sums, of_stacks;
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      const std::size_t i = request_.inputs[k];
      if (i < carried_) {
        graph.outputs.push_back(gradients[k].id);
        order_.emplace_back(i);
      } else if (is_slice(i)) {
        stacks.push_back(gradients[k].id);
        of_stacks.emplace_back(i);
      } else if (!later_.contains(i)) {
        const Term zero = Differential::wide(d_.operands[i]).number(0);
        const Term sum = input_like(builder, zero, false);
        graph.inputs.pop_back();
        graph.inputs.insert(graph.inputs.begin() + std::ssize(start_), sum.id);
        start_.push_back(zero);
        sums.push_back((sum + Differential::wide(gradients[k])).id);
        of_sums.emplace_back(i);
      }
    }
    for (NodeId id : later.added()) {
      stacks.push_back(id);
      of_stacks.emplace_back();
    }
    const std::size_t first = graph.outputs.size() + sums.size();
    for (std::size_t k = 0; k < stacks.size(); ++k) stacks_[stacks[k]] = first + k;
    graph.outputs.insert(graph.outputs.end(), sums.begin(), sums.end());
    graph.outputs.insert(graph.outputs.end(), stacks.begin(), stacks.end());
    order_.insert(order_.end(), of_sums.begin(), of_sums.end());
    order_.insert(order_.end(), of_stacks.begin(), of_stacks.end());
  }

  const Differential& d_;
  const Graph& body_;
  const std::vector<NodeId> products_;  // of the body, which are results behind the saved states
  const std::size_t carried_, first_other_, given_;
  GradientRequest request_;
  std::vector<Term> start_, slices_;        // operands of the new scan: carried ones, sliced ones
  std::map<NodeId, std::size_t> slice_of_;  // inputs of the turn that are slices, by number
  std::set<NodeId> invariant_;              // inputs of the turn that are the same in each
  std::map<NodeId, std::size_t> stacks_;    // values of the turn that are stacked, by result
  std::vector<std::optional<std::size_t>> order_;  // operands whose cotangents the results are
  std::map<std::size_t, NodeId> later_;  // operands whose cotangents are summed after the loop
};

}  // namespace

Cotangents derivative(The<Op::scan>, const Differential& d) { return ReverseScan(d).cotangents(); }

}  // namespace tilewright::graph
