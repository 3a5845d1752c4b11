#include "graph/compile/bindings/result_memory.h"

#include <algorithm>

#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

static std::shared_ptr<const TensorBody> root_of(std::shared_ptr<const TensorBody> body) {
  while (body != nullptr && body->base) body = body->base;
  return body;
}

Returned::Returned(std::span<const Tensor> results, std::span<const Tensor> arguments)
    : arguments_(arguments.size()) {
  for (const Tensor& tensor : results) {
    Result result{tensor.body(), root_of(tensor.body()), {}};
    auto found = std::ranges::find(arguments, result.root, &Tensor::body);
    if (found != arguments.end())
      result.argument = static_cast<std::size_t>(found - arguments.begin());
    results_.push_back(std::move(result));
  }
}

// The views that were taken of a tensor to come to this one.
static std::vector<ViewTaken> views_to(const TensorBody* body, const Graph& graph) {
  std::vector<ViewTaken> views;
  for (; body->base; body = body->base.get()) {
    const Node& node = graph.node(body->node);
    views.push_back({node.op, node.attributes});
  }
  std::ranges::reverse(views);
  return views;
}

std::optional<StridedView> place_of(const std::vector<ViewTaken>& views, StridedView place) {
  for (const ViewTaken& taken : views) {
    std::optional<StridedView> viewed = view_of(taken.op, taken.attributes, place);
    if (!viewed) return std::nullopt;
    place = *std::move(viewed);
  }
  return place;
}

static StridedView layout_of_input(const Graph& graph, std::size_t input) {
  StridedView layout = row_major(graph.node(graph.inputs[input]).shape);
  if (!graph.input_strides[input].empty()) layout.strides = graph.input_strides[input];
  return layout;
}

std::vector<ResultOrigin> Returned::origins(const Captured& captured) const {
  std::vector<ResultOrigin> origins;
  for (const Result& result : results_) {
    auto first = std::ranges::find(results_, result.root, &Result::root);
    ResultOrigin origin{static_cast<std::size_t>(first - results_.begin()), true, {}};
    if (result.argument) {
      origin.input = result.argument;
    } else if (result.root->buffer) {
      auto found = std::ranges::find_if(captured.captured, [&](const Tensor& tensor) {
        return tensor.body()->buffer == result.root->buffer &&
               tensor.body()->view == result.root->view;
      });
      if (found != captured.captured.end())
        origin.input = arguments_ + static_cast<std::size_t>(found - captured.captured.begin());
    } else {
      origin.is_input = false;
    }
    if (origin.input) {
      origin.views = views_to(result.body.get(), captured.graph);
      if (!place_of(origin.views, layout_of_input(captured.graph, *origin.input))) {
        // A copy: one with other handles of it, and with no other view of the input.
        auto same = std::ranges::find(results_, result.body, &Result::body);
        origin = {static_cast<std::size_t>(same - results_.begin()), false, {}};
      }
    }
    origins.push_back(std::move(origin));
  }
  return origins;
}

void leave_views_out(Graph& graph, std::span<const ResultOrigin> origins) {
  for (std::size_t i = 0; i < origins.size(); ++i) {
    if (origins[i].views.empty()) continue;
    const NodeId input = graph.inputs[*origins[i].input];
    auto is_written = [=](const Mutation& m) { return m.input == input; };
    if (std::ranges::none_of(graph.mutations, is_written)) graph.outputs[i] = input;
  }
}

Tensor view_of_input(const Tensor& input, const std::vector<ViewTaken>& views) {
  const TensorBody& body = *input.body();
  Tensor view = make_tensor(body.dtype, *place_of(views, body.view), body.buffer);
  view.body()->token = body.token;
  return view;
}

std::vector<ResultChange> changes_of_results(std::span<const ResultOrigin> origins,
                                             const Executable& executable) {
  using Kind = ResultChange::Kind;
  std::vector<ResultChange> changes;
  for (std::size_t i = 0; i < origins.size(); ++i) {
    const ResultOrigin& origin = origins[i];
    const auto& buffer = executable.results[i];
    if (!origin.views.empty()) {
      changes.push_back({i, Kind::view, *origin.input});
      continue;
    }
    // An input that was written may have the value of another one, which is the graph's output.
    if (origin.input) {
      changes.push_back({i, Kind::input, *origin.input});
      continue;
    }
    if (!buffer) {
      if (!origin.is_input) changes.push_back({i, Kind::copied});
      continue;
    }
    auto shares = [&](std::size_t j) { return executable.results[j] == buffer; };
    const std::size_t first = origin.first;
    if (first < i && shares(first)) {
      auto change = std::ranges::find(changes, first, &ResultChange::result);
      if (change != changes.end()) changes.push_back({i, Kind::joined, first});
      continue;
    }
    bool is_shared = false;
    for (std::size_t j = 0; j < i; ++j) is_shared |= shares(j) && origins[j].first != first;
    if (is_shared) changes.push_back({i, Kind::copied});
  }
  return changes;
}

}  // namespace tilewright::graph
