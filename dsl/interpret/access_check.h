// Looks at each element of memory that an interpreted program touches: whether it lies in the
// memory of the parameter that its address comes from; and tells an observer.
#pragma once

#include <span>
#include <string>

#include "dsl/interpret/memory.h"
#include "dsl/interpret/observer.h"
#include "runtime/artifact.h"

namespace tilewright::ir {

// "program (3, 0, 0)"
std::string text_of(const ProgramIndex& program);

class AccessCheck {
 public:
  AccessCheck(const Function& function, std::span<const Argument> arguments,
              std::span<const Memory> memories, const Observer& observer)
      : function_(function), arguments_(arguments), memories_(memories), observer_(observer) {}

  // Raises `Error` for elements outside.
  void operator()(const Touched& touched) const {
    if (!memories_.empty()) require_inside(touched);
    if (observer_.touched) observer_.touched(touched);
  }

 private:
  void require_inside(const Touched& touched) const;
  void require_in_any(const Touched& touched) const;
  std::int64_t base(std::size_t param) const;

  const Function& function_;
  std::span<const Argument> arguments_;
  std::span<const Memory> memories_;
  const Observer& observer_;
};

}  // namespace tilewright::ir
