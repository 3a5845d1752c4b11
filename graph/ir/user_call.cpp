#include "graph/ir/user_call.h"

#include <string>
#include <utility>

namespace tilewright::graph {

static thread_local const UserCall* outermost = nullptr;

UserCall::UserCall(std::string_view operation, std::source_location where)
    : operation(operation), where(where) {
  if (outermost == nullptr) outermost = this;
}
UserCall::~UserCall() {
  if (outermost == this) outermost = nullptr;
}
const UserCall* UserCall::current() { return outermost; }
std::source_location UserCall::line(std::source_location own) {
  return outermost == nullptr || outermost->where.line() == 0 ? own : outermost->where;
}

UserCall::Pause::Pause() : paused_(std::exchange(outermost, nullptr)) {}
UserCall::Pause::~Pause() { outermost = paused_; }

void raise_with_line(const Error& error, std::source_location where) {
  const std::string message = error.what();
  const bool has_line = message.find("(at ") != std::string::npos || where.line() == 0;
  raise_error(has_line ? message : concat(message, " (at ", describe(where), ")"));
}

}  // namespace tilewright::graph
