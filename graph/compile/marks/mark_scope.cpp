#include "graph/compile/marks/mark_scope.h"

#include "graph/tensor/capture.h"

namespace tilewright::graph {

void MarkScope::open(const std::string& name) {
  Capture* capture = Capture::active();
  if (capture == nullptr) return;
  serial_ = capture->serial();
  mark_ = capture->open_mark(name);
}

void MarkScope::close() {
  if (mark_ == 0) return;
  Capture* capture = Capture::active();
  if (capture != nullptr && capture->serial() == serial_) capture->close_mark(mark_);
  mark_ = 0;
}

}  // namespace tilewright::graph
