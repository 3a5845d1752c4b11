// The options of a compiled function as facts, decided once: when `compile` is called, and again
// when the function is moved to another device.
//
// A mode, a backend and a promise are the user's words, and each word implies several facts. The
// code that compiles a signature gets these facts as one record, and does not ask which word they
// came from.
#pragma once

#include <string>

#include "graph/compile/options/options.h"
#include "graph/run/plan.h"

namespace tilewright::graph {

struct ResolvedOptions {
  bool is_captured = true;              // otherwise the function runs as it is, op by op
  bool breaks_are_errors = false;       // of the graph
  bool tells_breaks = true;             // on stderr, the first of a function
  bool keeps_capture = false;           // as it was recorded, to be looked at later
  bool verifies_gradients = false;      // at some calls, by that
  bool detects_nan = false;             // in results
  bool records_launches = false;        // and replays them, with fixed buffers
  bool weights_are_frozen = false;      // nobody but the function writes captured ones
  bool searches_in_background = false;  // for block sizes, while the first plan is in use
  double saved_share = 1;               // of the values that gradients read
  std::int64_t memory_limit = 0;        // bytes; 0: none
  IndexChecks index_checks = IndexChecks::host_tensors;
  std::string write_plan, locked_plan;  // files
  // Common to the plans of all signatures; `device` is the default, if no tensor lies on another.
  PlanOptions plan;
};

// Raises `Error` for numbers that cannot be, for options that exclude each other, and for a word of
// TILEWRIGHT_CHECK that is none.
ResolvedOptions resolve(const Options& options);
// The same for plans of which there will be many, for sizes that change.
ResolvedOptions for_sizes_that_vary(ResolvedOptions options);
// The same for the segments of a function whose graph breaks.
ResolvedOptions for_segments(ResolvedOptions options);

}  // namespace tilewright::graph
