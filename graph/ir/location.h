// A source line as a part of `require`: its text is made only where the message is. Separate from
// the message's other parts because every operation on tensors passes here, mostly without error.
#pragma once

#include <ostream>

#include "runtime/base/error.h"

namespace tilewright::graph {

struct At {
  std::source_location where;
};
inline std::ostream& operator<<(std::ostream& out, At at) { return out << describe(at.where); }

}  // namespace tilewright::graph
