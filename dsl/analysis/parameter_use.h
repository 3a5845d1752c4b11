// Lists which of a kernel's arrays are read and which are written; a launch needs this to report
// that arguments overlap, are const, or are missing. Apart from the launch, because it is a fact
// about the program.
#pragma once

#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

struct ParameterUse {
  bool is_read = false, is_written = false;
  bool operator==(const ParameterUse&) const = default;
};

// By value: whether it is a pointer, a tile of pointers or a descriptor that may be made from the
// parameter `param` (an index into function.params).
std::vector<bool> made_from(const ir::Function& function, std::size_t param);

// An entry a parameter. A pointer that is chosen among several counts as any of them. Atomics read
// and write.
std::vector<ParameterUse> parameter_use(const ir::Function& function);

}  // namespace tilewright::dsl
