// The rules of verify.h for executables and for control flow: which memory steps may touch, and in
// which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/error.h"
#include "runtime/package/contents.h"

namespace tilewright {

inline void require_number(std::size_t number, std::size_t count, const char* what) {
  require(number < count, what, " ", number, " is named, of ", count);
}

// The uses that steps may make of an input of an executable.
struct InputRule {
  bool is_there = false, may_be_written = false;
  std::int64_t bytes = -1;  // -1: they are not known
};

// Raise `Error` that names the step and the rule.
void check_executable(const PackageContents& contents, const PackageExecutable& executable,
                      std::span<const InputRule> inputs);
// The bodies too.
void check_control_flow(const PackageContents& contents, const PackageControlFlow& control);
// The bodies of control flow come before the executables that it is in, and few lie in each other.
void check_depth(const PackageContents& contents);
// Each executable is a function's or a body, so that one of these rules was applied to it.
void check_use(const PackageContents& contents);

}  // namespace tilewright
