#include "graph/functions/dynamic_scalar.h"

#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

void mark_setting(const Tensor& tensor) { tensor.body()->is_setting = true; }

}  // namespace tilewright::graph
