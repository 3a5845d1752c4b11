// Decisions about a call that fits no signature of the function: whether it is compiled, for
// its sizes or for sizes that change, and which signature gives way (contract.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/compile/calls/call.h"
#include "graph/compile/calls/contract.h"
#include "graph/compile/options/options.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/signature_table.h"
#include "graph/compile/sizes/declared_sizes.h"

namespace tilewright::graph {

// Holds all that the decisions depend on; it must outlive this.
struct RecompilationPolicy {
  const Options& options;
  const ResolvedOptions& resolved;
  const DeclaredSizes& declared;
  const SignatureTable& table;

  // True if the process's stance allows compiling for this call, the function's `number`th. `why`
  // says how it differs; sizes that were declared are always compiled for. Raises `Error` if the
  // stance is fail_on_recompile.
  bool may_compile(const Call& call, const std::vector<Difference>& why,
                   std::uint64_t number) const;
  // True if the call's plan shall share its programs with plans for other sizes: as declared, or
  // else as the options say.
  bool is_for_many_sizes(const Call& call, const std::vector<Difference>& why) const;
  // The place of one more signature in the table; none: the call runs op by op. Raises `Error` past
  // the limit of signatures, where the options say so.
  std::optional<std::size_t> place_for(const Call& call, bool sizes_vary) const;

 private:
  bool is_full() const { return table.count(false) >= options.max_signatures; }
  std::optional<bool> sizes_change(const Call& call) const;
  [[noreturn]] void raise_too_many(const Call& call) const;
};

}  // namespace tilewright::graph
