// Which row numbers a compiled function looks at before it uses them: those of `embedding` and of
// `index_copy_`, whose programs read zeros from a row outside the table and write to none.
#pragma once

#include <cstdint>

namespace tilewright {

enum class IndexChecks : std::uint8_t {
  none,
  // Those that lie in tensors of the host which the function is given or holds: one comparison a
  // row number before the call, which raises an Error that names the operation and its line.
  host_tensors,
  // All others too, the computed ones and those on a GPU: the call adds up their least and greatest
  // and waits for these at its end. What it wrote in place is written then.
  all
};

}  // namespace tilewright
