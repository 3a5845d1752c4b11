#include "models/layers/stateless.h"

#include "graph/ir/user_call.h"

namespace tilewright {

Tensor FunctionLayer::forward(const Tensor& x, std::source_location w) const {
  return graph::of_user_call("layer", w, [&] { return function_(x); });
}

}  // namespace tilewright
