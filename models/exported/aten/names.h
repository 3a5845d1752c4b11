// The names under which the table of operators may have an operator of a program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::exported {

// The targets of results: none; the first argument, as for relu_; the last ones, as many as there
// are results, as for overloads that take "out".
enum class Written : std::uint8_t { nothing, first, last };

struct OperatorName {
  std::string row;
  Written written = Written::nothing;
  bool must_own = false;  // PyTorch's result has memory of its own
};

// In the order in which they are to be looked up: the name itself, other names of the same
// function, those that stand for a copy of a view, for a write in place, and for one to a tensor
// that is given.
std::vector<OperatorName> names_of(std::string_view name);

// True if PyTorch's result may be a view of the first argument, or that itself.
bool is_view(std::string_view name);

}  // namespace tilewright::exported
