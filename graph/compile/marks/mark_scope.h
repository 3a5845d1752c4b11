// A marked region of the function that is being captured, from where its author begins it to where
// it ends: a scope, so that exceptions end it too.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright::graph {

// A mark in the active capture, where there is one and the name is not empty, until it is closed or
// the capture is over.
class MarkScope {
 public:
  MarkScope() = default;  // none
  explicit MarkScope(const std::string& name) {
    if (!name.empty()) [[unlikely]]
      open(name);
  }
  ~MarkScope() {
    if (mark_ != 0) [[unlikely]]
      close();
  }
  MarkScope(const MarkScope&) = delete;
  MarkScope& operator=(const MarkScope&) = delete;
  void open(const std::string& name);  // where none is open
  void close();
  bool is_open() const { return mark_ != 0; }

 private:
  std::uint32_t mark_ = 0;    // 0: none is open
  std::uint64_t serial_ = 0;  // of the capture
};

}  // namespace tilewright::graph
