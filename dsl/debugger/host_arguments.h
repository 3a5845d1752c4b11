// The arguments of one launch as memory of the host, in place where they lie there: the interpreter
// runs on them. Apart from the code that runs it, because the comparison with compiled code needs
// copies besides.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dsl/analysis/parameter_use.h"
#include "dsl/interpret/interpret.h"
#include "dsl/language/kernel.h"
#include "runtime/buffer.h"

namespace tilewright::dsl {

// Raises `Error` unless there is an argument for each parameter of the program, of its kind and
// type, whose memory a launch would take.
void require_arguments(const ir::Function& program, LaunchArguments arguments);

// Those for Constexprs left out: an entry a parameter of the program.
std::vector<LaunchArgument> arguments_of_program(const Kernel& kernel, LaunchArguments arguments);

class HostArguments {
 public:
  // With `as_copies` nothing is in place, and all sizes must be known.
  HostArguments(const ir::Function& program, LaunchArguments arguments, bool as_copies);
  std::span<const Argument> values() const { return values_; }
  std::span<const ir::Memory> memories() const { return memories_; }
  // True if it is memory that is known to hold nothing.
  bool is_empty(std::size_t i) const {
    return arguments_[i].is_pointer() && arguments_[i].knows_size() &&
           arguments_[i].size_bytes() == 0;
  }
  // Copies the program's writes to where the arguments lie.
  void write_back();

 private:
  LaunchArguments arguments_;
  std::vector<ParameterUse> uses_;
  std::vector<Argument> values_;
  std::vector<ir::Memory> memories_;
  std::vector<std::shared_ptr<Buffer>> copies_;  // null: in place, or a number
};

}  // namespace tilewright::dsl
