#include "graph/compile/segments/held_symbols.h"

#include <algorithm>

namespace tilewright::graph {

void give_memory(TensorBody& body, std::shared_ptr<Buffer> buffer, const StepToken& token) {
  body.buffer = std::move(buffer);
  body.token = token;
  body.base = nullptr;
  body.capture = 0;
  body.views = 0;
}

// Where a symbol will lie: `body` becomes what it is a view of, itself if it is a value.
static StridedView place_of(const Graph& graph, std::shared_ptr<TensorBody>& body) {
  std::vector<std::shared_ptr<TensorBody>> views;  // from it to its outermost base
  for (; !body->buffer && body->base; body = body->base) views.push_back(body);
  StridedView place = body->buffer ? body->view : row_major(body->view.shape);
  for (; !views.empty(); views.pop_back()) {
    const Node& node = graph.node(views.back()->node);
    if (auto viewed = view_of(node.op, node.attributes, place)) {
      place = *std::move(viewed);
      continue;
    }
    body = std::move(views.back());
    place = row_major(body->view.shape);
  }
  return place;
}

std::vector<PlannedView> plan_values(const Recorded& recorded,
                                     std::vector<std::shared_ptr<TensorBody>>& own) {
  std::vector<PlannedView> views;
  own.clear();
  auto add = [&](const std::shared_ptr<TensorBody>& body) {
    if (!body->buffer && std::ranges::find(own, body) == own.end()) own.push_back(body);
  };
  for (const auto& body : recorded.held) {
    if (!body->base) {
      add(body);
      continue;
    }
    std::shared_ptr<TensorBody> of = body;
    StridedView place = place_of(recorded.nodes(), of);
    add(of);
    if (of != body) views.push_back({body, std::move(of), std::move(place)});
  }
  return views;
}

std::vector<std::pair<std::size_t, Tensor>> copies_of_inputs(
    const Recorded& recorded, const std::vector<std::shared_ptr<TensorBody>>& own,
    std::vector<NodeId>& outputs) {
  const Graph& graph = recorded.nodes();
  std::vector<std::pair<std::size_t, Tensor>> copies;
  outputs.clear();
  for (std::size_t i = 0; i < own.size(); ++i) {
    const NodeId node = own[i]->node;
    if (graph.node(node).op != Op::input) {
      outputs.push_back(node);
      continue;
    }
    auto input = std::ranges::find(graph.inputs, node) - graph.inputs.begin();
    copies.emplace_back(i, recorded.inputs[static_cast<std::size_t>(input)].clone());
  }
  return copies;
}

}  // namespace tilewright::graph
