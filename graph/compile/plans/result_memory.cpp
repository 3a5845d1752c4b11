#include "graph/compile/plans/result_memory.h"

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

std::vector<ResultOrigin> Returned::origins(std::span<const Tensor> captured) const {
  std::vector<ResultOrigin> origins;
  for (const Result& result : results_) {
    auto first = std::ranges::find(results_, result.root, &Result::root);
    ResultOrigin origin{static_cast<std::size_t>(first - results_.begin()), true, {}};
    if (result.argument) {
      if (result.body == result.root) origin.input = result.argument;
    } else if (result.root->buffer) {
      auto found = std::ranges::find_if(captured, [&](const Tensor& tensor) {
        return tensor.body()->buffer == result.body->buffer &&
               tensor.body()->view == result.body->view;
      });
      if (found != captured.end())
        origin.input = arguments_ + static_cast<std::size_t>(found - captured.begin());
    } else {
      origin.is_input = false;
    }
    origins.push_back(origin);
  }
  return origins;
}

std::vector<ResultChange> changes_of_results(std::span<const ResultOrigin> origins,
                                             const Executable& executable) {
  using Kind = ResultChange::Kind;
  std::vector<ResultChange> changes;
  for (std::size_t i = 0; i < origins.size(); ++i) {
    const ResultOrigin& origin = origins[i];
    const auto& buffer = executable.results[i];
    if (!buffer) {
      if (!origin.is_input) changes.push_back({i, Kind::copied});
      continue;
    }
    if (origin.input) {
      changes.push_back({i, Kind::input, *origin.input});
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
