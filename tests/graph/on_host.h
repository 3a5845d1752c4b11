// A function that is compiled for the host, where texts of signatures are the same on every device.
#pragma once

#include "graph/compile/compile.h"

namespace tilewright::testing_signatures {

inline Tensor doubled(const Tensor& x) { return x * 2; }

// Texts of signatures are those of the host; code for GPUs asks for aligned memory, too.
inline Options on_host(Options options = {}) {
  options.device = Device::cpu();
  return options;
}

// `doubled`, compiled, that counts how often the function itself runs.
inline Compiled counted(int& runs, Options options) {
  options.dynamic = Dynamic::never;
  return compile([&runs](const Tensor& x) { return ++runs, doubled(x); }, on_host(options));
}

}  // namespace tilewright::testing_signatures
