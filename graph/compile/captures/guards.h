// The guards of a signature on values of the host (graph/tensor/guarded.h): whether the values are
// those that the function has read, and what is different where they are not.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/compile/calls/contract.h"
#include "graph/tensor/guarded.h"

namespace tilewright::graph {

class Guards {
 public:
  Guards() = default;
  explicit Guards(std::vector<Guard> guards) : guards_(std::move(guards)) {}

  // As of the last look. A value that is gone breaks no guard.
  bool hold() const { return hold_; }
  void look();  // guarded values have changed
  bool is_any_gone() const;
  void drop_gone();  // guards on values that are gone
  std::vector<Difference> differences() const;
  std::string text() const;  // a line each

 private:
  std::vector<Guard> guards_;
  bool hold_ = true;
};

}  // namespace tilewright::graph
