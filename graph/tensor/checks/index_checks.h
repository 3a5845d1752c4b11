// Which indices a compiled function looks at before it uses them: those of `embedding`, `gather`,
// `index`, `index_copy_` and their like, and the targets of losses. Programs read zeros from
// outside what is indexed, and write nothing there. The Error is the one that the operation raises
// in eager mode.
#pragma once

#include <cstdint>

namespace tilewright {

enum class IndexChecks : std::uint8_t {
  none,
  // Indices in tensors of the host that the function is given or holds: one comparison an
  // element before the call, which raises an Error that names the operation and its line. In
  // control flow those of a `scan`, whose turns all run.
  host_tensors,
  // All others too, the computed ones, those on a GPU, and those of the turns that a `while_loop`
  // runs and of the branch that a `cond` takes: the call adds up their least and greatest and waits
  // for these at its end. What it wrote in place is written then.
  all
};

}  // namespace tilewright
