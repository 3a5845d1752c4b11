#include "graph/compile/bindings/logged_values.h"

#include "graph/tensor/tensor_copy.h"

namespace tilewright::graph {

void LoggedValues::take(std::vector<Tensor>& results, const std::vector<LogCallback>& callbacks) {
  const std::size_t returned = results.size() - callbacks.size();
  for (std::size_t i = 0; i < callbacks.size(); ++i)
    values_.emplace_back(host_copy(results[returned + i], "log", std::nullopt), callbacks[i]);
  results.resize(returned);
}

void LoggedValues::add(Logged logged) {
  values_.emplace_back(host_copy(Tensor(std::move(logged.value)), "log", std::nullopt),
                       std::move(logged.callback));
}

}  // namespace tilewright::graph
