// The graph passes as a table, and the one driver that runs them.
//
// The table gives each pass its name and place; a pass may stand in it twice. A second table gives
// constraints between them with reasons, checked once. The driver alone verifies after each pass,
// skips by name (also TILEWRIGHT_SKIP_PASSES) and stops after a name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

struct Pass {
  std::string_view name;
  Graph (*run)(const Graph& graph);
  bool required;          // cannot be skipped
  std::string_view what;  // one line
};

struct PassOptions {
  std::vector<std::string> skip;
  std::string stop_after;  // the last pass of that name
};

std::span<const Pass> passes();
const Pass& pass_named(std::string_view name);  // raises `Error` listing the names
// Raises `Error` where TILEWRIGHT_SKIP_PASSES names no pass, neither of these nor of those over
// tile programs (dsl/passes).
void check_skipped_names();

// What a captured graph goes through before fusion; the result has no composites.
Graph run_passes(const Graph& graph, const PassOptions& options = {});

}  // namespace tilewright::graph
