// Which operands of an attention are its position and its mask: each may be absent.
#pragma once

#include <cstddef>

namespace tilewright::graph {

// Places among the operands; 0 for what is not there. A position has one axis and a mask four.
struct AttentionOperands {
  std::size_t position = 0, mask = 0;

  constexpr AttentionOperands(std::size_t count, std::size_t axes_of_fourth)
      : position(count == 5 || (count == 4 && axes_of_fourth == 1) ? 3 : 0),
        mask(count == 5 ? 4 : (count == 4 && axes_of_fourth != 1 ? 3 : 0)) {}
};

}  // namespace tilewright::graph
