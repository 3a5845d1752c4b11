// The report of a compiled function: what its plans are, how long they took to make and take to
// run, as data and as text for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/compile/calls/contract.h"
#include "graph/compile/options/options.h"
#include "graph/compile/reports/derivative_report.h"
#include "graph/compile/reports/memory_report.h"
#include "graph/compile/reports/saving_report.h"
#include "graph/ir/options/unkept_options.h"

namespace tilewright {

// One distinct kernel of a compiled function, for reports. Kernels are called as in dumps and
// traces.
struct RegionReport {
  std::string kernel;      // name of its tile program
  std::string kind;        // rows, flat, product, attention, ...
  std::int64_t instances;  // of the region in the function
  std::int64_t launches;   // that compute them: fewer, where several become one
  std::int64_t bytes;      // read and written by one launch
  // Spent on code generation for this function; next to nothing for a kernel that exists already.
  double compile_seconds;
  std::vector<std::string> ops;          // what was fused, after decomposition
  std::vector<std::string> user_ops;     // the same as the user wrote it
  std::string key;                       // content hash
  double run_seconds = 0;                // of all launches in one call; 0: not measured
  std::vector<std::string> marked = {};  // names of the marked regions that it is a part of
  // In a plan for sizes that change: how many such plans of the function run this kernel. 1 where
  // others were made: it is for this size alone, or the only one of its class so far.
  std::int64_t plans = 0;
};
// All marked regions of one name in a compiled function (graph/compile/region.h), for reports.
struct MarkedRegionReport {
  std::string name;
  std::int64_t instances;   // of the region: calls of it
  std::int64_t structures;  // of these that differ
  std::int64_t programs;    // distinct kernels that compute them
};
struct PlanReport {
  std::string signature;
  std::string device;                           // that it runs on
  std::int64_t host_bytes = 0;                  // copied from the host to that device by each call
  std::vector<RegionReport> regions;            // distinct programs
  std::vector<MarkedRegionReport> marked = {};  // in the order of their first calls
  std::int64_t launches = 0;
  std::int64_t nodes = 0;                             // of the simplified graph
  std::int64_t arena_bytes = 0;                       // intermediate buffers
  std::int64_t packed_weights = 0, packed_bytes = 0;  // copies of frozen weights
  std::int64_t frozen_values = 0, frozen_bytes = 0;   // computed once from these (`freezing`)
  double capture_seconds = 0, lower_seconds = 0, compile_seconds = 0;  // wall
  std::int64_t awaiting_full_code = 0;  // kernels that run quick code (Options::first_code)
  std::string tuning = {};              // what came of it, a sentence; empty: there was none
  bool sizes_vary = false;  // made for sizes that change (`Options::dynamic`, mark_dynamic)
  std::string sizes = {};   // what was declared of those of its arguments, a line each
  // Where and why the graph breaks, "item at model.cpp:12 reads data, item at model.cpp:20 reads
  // data": the function runs in
  // segments, which are plans of their own; empty: nowhere.
  std::string graph_break = {};
  // Likewise of calls in which the function writes memory that arguments share, which run in
  // segments; the others do not.
  std::string sharing_break = {};
  // Where a segment ends, "item at model.cpp:12" or "the end"; empty: a whole signature.
  std::string segment = {};
  std::string guards = {};            // on values of the host, a line each
  std::int64_t captured_tensors = 0;  // that it uses besides its arguments
  std::int64_t captures = 0;          // how often it was captured, once or after handles changed
  std::vector<DerivativeReport> derivatives = {};
  MemoryReport memory = {};  // zeros for a function in segments, which are entries of their own
  SavingReport saving = {};  // of the gradients in the compiled graph
  // Options that do not hold for a part of it.
  std::vector<UnkeptOption> unkept = {};
  double run_seconds = 0;        // of all launches of a call; 0: not measured
  std::int64_t timed_calls = 0;  // of which each launch's least time counts
};

std::string explain(const PlanReport& plan);  // as text

namespace graph {
// All of it, as text.
std::string explain_function(const Options& options, const std::vector<PlanReport>& plans,
                             const std::vector<Recompilation>& recompilations);
// Sets RegionReport::plans in the reports of one function.
void count_plans_of_programs(std::vector<PlanReport>& reports);
}  // namespace graph

}  // namespace tilewright
