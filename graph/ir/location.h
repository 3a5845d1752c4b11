// A source line as a part of `require`: its text is made only where the message is. Separate from
// the message's other parts because every operation on tensors passes here, mostly without error.
#pragma once

#include <ostream>

#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

struct At {
  std::source_location where;
};
// The line of the user's call, where one is under way.
inline std::ostream& operator<<(std::ostream& out, At at) {
  return out << describe(UserCall::line(at.where));
}

}  // namespace tilewright::graph
