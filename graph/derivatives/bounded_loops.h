// Loops whose number of turns has a bound that their graphs show. A `while_loop` has no gradient of
// its own, since nobody knows how many states it would have to keep; one with a bound is a scan of
// so many turns, of which those after its end change nothing.
#pragma once

#include <optional>

#include "graph/ir/ir.h"

namespace tilewright::graph {

// The attributes of that scan, of the same operands and with the same results first; absent where
// no bound is seen. A loop has one where it carries an integer that starts as a constant and grows
// by a constant, and its condition compares that with a constant, alone or with other conditions
// that must be true too (WhileOptions::max_turns).
std::optional<Attributes> as_scan(const Graph& graph, const Node& loop);

}  // namespace tilewright::graph
