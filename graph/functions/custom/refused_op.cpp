#include "graph/functions/custom/refused_op.h"

#include "graph/custom/refusal.h"

namespace tilewright {

CustomOp refused_op(const std::string& name, const std::vector<TensorType>& results,
                    const std::string& error) {
  return custom_op(
      name, [results](std::span<const TensorType>) { return results; },
      BufferFunction(Refusal{error}));
}

}  // namespace tilewright
