// Options of functions of a generator whose calls have few sizes: with Options::batch_invariant a
// plan for each, since programs that sizes share are slower for one of them.
#pragma once

#include "graph/compile/options/options.h"

namespace tilewright {

inline Options of_few_sizes(Options options) {
  if (options.batch_invariant) options.dynamic = Dynamic::never;
  return options;
}

}  // namespace tilewright
