// The values that a call of a compiled function hands to the callbacks of `print` and
// `log_callback` (graph/functions/log.h).
//
// A function that logs has more results than it returns: the last ones, which a call takes away and
// keeps here until it has left the function's lock, since callbacks are the user's and may call the
// function again.
#pragma once

#include <utility>
#include <vector>

#include "graph/tensor/capture.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

class LoggedValues {
 public:
  // Takes the last results away, as many as there are callbacks, and copies them to the host.
  void take(std::vector<Tensor>& results, const std::vector<LogCallback>& callbacks);
  void add(Logged logged);  // as `take`, of a function in segments
  // Calls the callbacks in order. What one of them throws goes on; those behind it are not called.
  void hand_over() const {
    for (const auto& [value, callback] : values_) callback(value);
  }

 private:
  std::vector<std::pair<Tensor, LogCallback>> values_;
};

}  // namespace tilewright::graph
