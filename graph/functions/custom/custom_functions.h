// What a user writes a custom op as, where it becomes operations: a function of single elements, or
// one of tensors (custom_op.h).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "dsl/language/tile.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// Operations on the operands, and on nothing else.
using GraphFunction = std::function<std::vector<Tensor>(std::span<const Tensor> operands)>;

struct ElementwiseFunction {
  std::size_t operands;
  std::function<dsl::Tile(std::span<const dsl::Tile>)> function;
};

}  // namespace tilewright
