// Under which names the table of operators may have what a program names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::exported {

struct OperatorName {
  std::string row;
  bool writes_first = false;  // the result is written to the first argument
  bool must_own = false;      // PyTorch's result has memory of its own
};

// In the order in which they are to be looked up: the name itself, other names of the same
// function, those that stand for a copy of a view, and for a write in place.
std::vector<OperatorName> names_of(std::string_view name);

// Whether PyTorch's result may be a view of the first argument, or that itself.
bool is_view(std::string_view name);

}  // namespace tilewright::exported
