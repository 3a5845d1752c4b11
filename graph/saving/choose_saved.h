// The cheapest way to keep values for gradients within a limit of bytes.
//
// With prices of bytes and of work it is a least cut (least_cut.h). The prices at which the cut
// keeps to the limit are found by Eisner and Severance's method: the price of a byte that makes two
// known choices equal gives a third one between them, until there is none. That leaves a gap where
// the limit lies between two such choices. Layers of equal structure are all kept or all computed
// again by either; a price that differs a little between the first values and the others divides
// them. A search by branch and bound closes the rest of the gap: exactly in small problems, and as
// far as a bounded number of cuts goes in others.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/saving/least_cut.h"

namespace tilewright::graph {

// Nothing is computed again but views.
SavingChoice all_saved(const SavingProblem& problem);
// The fewest bytes that are possible, at the least work for them.
SavingChoice least_saved(const SavingProblem& problem);

struct CheapestSaving {
  SavingChoice choice;
  std::int64_t bound = 0;  // no choice within the limit costs less than this
};
// Absent: the limit is below the bytes of `least_saved`.
std::optional<CheapestSaving> cheapest_within(const SavingProblem& problem, std::int64_t limit);

}  // namespace tilewright::graph
