// What the copies of a Kernel share. Apart from kernel.h, because tracing needs no code generator
// and launching does: the two live in libraries of their own.
#pragma once

#include <map>
#include <mutex>

#include "dsl/kernel.h"

namespace tilewright::dsl {

struct Kernel::State {
  std::string name;
  std::vector<ParameterKind> kinds;
  std::vector<std::string> names;  // of all parameters
  Body body;
  std::mutex mutex;
  std::map<Signature, std::shared_ptr<const Artifact>> compiled;  // guarded by `mutex`
};

}  // namespace tilewright::dsl
