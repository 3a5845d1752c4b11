#include "graph/compile/calls/callable.h"

#include "runtime/base/error.h"

namespace tilewright::detail {

void raise_empty_function() { raise_error("[compile] the function is empty; pass a callable"); }
void raise_takes_structures() {
  raise_error(
      "[compile] the function takes structures of tensors and not a list of them; call the "
      "compiled "
      "object itself, as the function is called");
}
void raise_wrong_count(std::span<const std::size_t> taken, std::size_t given,
                       std::string_view what) {
  std::string counts;
  for (std::size_t count : taken) counts += concat(counts.empty() ? "" : " or ", count);
  raise_error(concat("[compile] the function takes ", counts, " ", what,
                     taken.size() == 1 && taken[0] == 1 ? "" : "s", " and the call has ", given,
                     "; pass one for each parameter"));
}

}  // namespace tilewright::detail
