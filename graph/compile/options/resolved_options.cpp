#include "graph/compile/options/resolved_options.h"

#include "dsl/language/check_setting.h"
#include "runtime/base/error.h"
#include "runtime/cpu/thread_pool.h"

namespace tilewright::graph {
namespace {

void require_possible(const Options& options) {
  require(options.max_signatures > 0, "[compile] max_signatures is ", options.max_signatures,
          "; it must be at least 1");
  require(options.max_sizes > 0, "[compile] max_sizes is ", options.max_sizes,
          "; it must be at least 1");
  require(options.verify_capture >= 0, "[compile] verify_capture is ", options.verify_capture,
          "; it must be the number of calls between two looks, or 0");
  require(options.verify_gradients >= 0, "[compile] verify_gradients is ", options.verify_gradients,
          "; it must be the number of calls between two looks, or 0");
  require(options.threads >= 0 && options.threads <= ThreadPool::max_workers,
          "[compile] threads is ", options.threads, "; it must be from 1 to ",
          ThreadPool::max_workers, ", or 0 for all");
  require(options.planned_threads >= 0 && options.planned_threads <= ThreadPool::max_workers,
          "[compile] planned_threads is ", options.planned_threads, "; it must be from 1 to ",
          ThreadPool::max_workers, ", or 0 for those that there are");
  require(options.tune_seconds > 0, "[compile] tune_seconds is ", options.tune_seconds,
          "; it must be positive");
  require(options.saved_share >= 0 && options.saved_share <= 1, "[compile] saved_share is ",
          options.saved_share, "; it must be from 0, as little as is possible, to 1, all");
  require(options.memory_limit >= 0, "[compile] memory_limit is ", options.memory_limit,
          " bytes; it must be positive, or 0 for none");
  require(!options.tune_in_background || options.write_plan.empty(), "[compile] write_plan is \"",
          options.write_plan,
          "\", but tune_in_background changes a plan after it was written; tune at compile, by "
          "max_autotune");
}

struct ModeFacts {
  bool records_launches, searches;
};

ModeFacts facts_of(Mode mode) {
  switch (mode) {
    case Mode::default_: return {false, false};
    case Mode::reduce_overhead: return {true, false};
    case Mode::max_autotune: return {true, true};
    case Mode::max_autotune_no_cudagraphs: return {false, true};
  }
  __builtin_unreachable();
}

}  // namespace

ResolvedOptions resolve(const Options& options) {
  require_possible(options);
  dsl::check_setting();  // so that a wrong word is named where no kernel is written by hand
  const ModeFacts mode = facts_of(options.mode);
  require(
      !options.batch_invariant || options.backend != Backend::eager,
      "[compile] batch_invariant is set with the backend eager, which compiles each operation by "
      "itself; set backend to aot_eager");
  require(!options.batch_invariant || !(mode.searches || options.tune_in_background),
          "[compile] batch_invariant is set, and so is ",
          mode.searches ? "a mode that searches for block sizes" : "tune_in_background",
          "; block sizes decide in which order a row is summed: set mode to default_ or "
          "reduce_overhead");
  ResolvedOptions result{.is_captured = options.backend != Backend::eager,
                         .breaks_are_errors = options.fullgraph,
                         .tells_breaks = options.tell_breaks,
                         .keeps_capture = options.verify_capture > 0 ||
                                          options.verify_gradients > 0 || options.detect_nan,
                         .verifies_gradients = options.verify_gradients > 0,
                         .detects_nan = options.detect_nan,
                         .records_launches = mode.records_launches,
                         .weights_are_frozen = options.freezing,
                         .searches_in_background = options.tune_in_background,
                         .saved_share = options.saved_share,
                         .memory_limit = options.memory_limit,
                         .index_checks = options.index_checks,
                         .write_plan = options.write_plan,
                         .locked_plan = options.locked_plan,
                         .plan = {.fuse = options.backend == Backend::tilewright,
                                  .matmul_precision = options.matmul_precision,
                                  .row_invariant = options.batch_invariant,
                                  .first_code = options.first_code,
                                  .threads = options.planned_threads,
                                  .device = options.device}};
  // What is searched for in the background starts with what is known.
  const bool is_tuned = options.tune_in_background || mode.searches;
  if (is_tuned && options.first_code == FirstCode::automatic)
    result.plan.first_code = FirstCode::full;
  if (is_tuned)
    result.plan.tune =
        PlanTuning{.searches = !options.tune_in_background, .seconds = options.tune_seconds};
  return result;
}

ResolvedOptions for_sizes_that_vary(ResolvedOptions options) {
  options.plan.sizes_vary = true;
  options.searches_in_background = false;
  if (options.plan.tune) options.plan.tune->searches = false;
  return options;
}

// Each call runs the function, so that there is no capture to compare with.
ResolvedOptions for_segments(ResolvedOptions options) {
  options.keeps_capture = false;
  return options;
}

}  // namespace tilewright::graph
