// A step that cannot be computed, such as the branch of a choice that is wrong for the sizes of its
// executable: running it raises an error. Plain data, unlike other calls of the host, so that a
// package can hold it.
#pragma once

#include <string>

#include "runtime/base/error.h"
#include "runtime/plan/executable.h"

namespace tilewright {

struct RefusedCall {
  std::string error;
  void operator()(const Grid&, const Argument*) const { raise_error(error); }
};

}  // namespace tilewright
