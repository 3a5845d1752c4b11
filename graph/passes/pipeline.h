// The graph passes as a table, and the one driver that runs them.
//
// The table gives each pass its name, its place and the stage of the graph after it; a pass may
// stand in it twice. The passes of one stage come one after the other: derivatives, quantisation
// and rewrites by the user, which want composites as they were written, run where the last pass
// that leaves a captured graph has run, and hand on a captured graph. A second table gives
// constraints between passes with reasons, checked once. The driver alone verifies what a
// stage promises (in builds for debugging after each pass, in others after the last one), dumps,
// times, skips by name and stops after a name or a stage.
//
// In the environment a pass over graphs is named with its room, as graph.decompose: passes over
// tile programs (dsl/passes) have some of the names. TILEWRIGHT_SKIP_PASSES also takes the bare
// name, for both.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/passes/pass_time.h"
#include "dsl/target/target.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

struct Pass {
  std::string_view name;
  Graph (*run)(const Graph& graph, const dsl::Target& target);
  Stage stage;            // of the graph after it, in the pipeline
  bool required;          // cannot be skipped
  std::string_view what;  // one line
};

struct PassOptions {
  // That the graph is compiled for; absent: the default device's.
  std::optional<dsl::Target> target = {};
  std::vector<std::string> skip;  // also TILEWRIGHT_SKIP_PASSES=a,graph.b
  std::string stop_after;         // the last pass of that name; also TILEWRIGHT_STOP_AFTER=graph.a
  std::string dump = "";          // "", a pass's name, or "all"; also TILEWRIGHT_DUMP=graph.a,all
  std::optional<Stage> after = {};  // the passes up to this stage's end have run
  Stage until = Stage::primitive;   // the last stage whose passes run
};

using dsl::PassTime;

std::span<const Pass> passes();
const Pass& pass_named(std::string_view name);  // raises `Error` listing the names
// Raises `Error` where TILEWRIGHT_SKIP_PASSES names no pass, neither of these nor of those over
// tile programs (dsl/passes), or another variable no pass after `graph.`.
void check_pass_names();

// Prints the graph of a function on stderr, as it was captured, if TILEWRIGHT_DUMP has
// graph.captured or all.
void dump_captured(const Graph& graph);

// What a captured graph goes through before fusion, or a part of it by stages.
Graph run_passes(const Graph& graph, const PassOptions& options = {},
                 std::vector<PassTime>* times = nullptr);
// The named passes in the given order, over a graph of any stage.
Graph run_named_passes(const Graph& graph, std::span<const std::string> names,
                       const dsl::Target& target, std::vector<PassTime>* times = nullptr);

}  // namespace tilewright::graph
