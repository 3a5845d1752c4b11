// What a plan holds: launches over places. Seen by the two that run it, Plan and Recording.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "dsl/ir/function.h"
#include "graph/run/plan.h"

namespace tilewright::graph {

// Where an argument of a launch lies.
enum class PlaceKind : std::uint8_t { input, output, constant, arena, number };
struct Place {
  PlaceKind kind;
  std::uint32_t index = 0;  // of the input, output buffer or constant
  std::int64_t offset = 0;  // in the arena, bytes; of a number, itself
};

struct Launch {
  std::uint32_t program;
  std::uint32_t first_place, place_count;  // in Plan::Body::places
  Grid grid;
};

// Launches of one program, neighbours in Plan::Body::launches, that run as one (batches.h).
struct Batch {
  std::uint32_t first, count;
  bool spread = true;  // over the threads of the host: worth waking them
};

// An element of an input of the graph that says how many keys of a cache an attention sees.
struct CachePosition {
  std::size_t input;  // index into Graph::inputs
  DType dtype;
  std::int64_t element;  // from the input's first one on
  std::vector<std::int64_t>
      values;  // that it has in turn where calls are timed (typical_positions)
};

struct Plan::Body {
  Device device;
  std::vector<PlanProgram> programs;
  std::vector<ir::Function> functions;                     // of each program
  std::vector<std::shared_ptr<const Artifact>> artifacts;  // of each program; null: interpreted
  std::optional<std::uint64_t> shuffle_interpreted;        // as PlanOptions
  // The same for several launches at once, of programs that have such.
  std::vector<std::shared_ptr<const Artifact>> batch_artifacts;
  std::vector<Launch> launches;
  std::vector<Grid> grids;  // of each launch
  std::vector<Batch> batches;
  std::vector<Place> places;
  std::vector<std::shared_ptr<Buffer>> constants;
  std::vector<PackedWeight> packed_weights;  // which follow the inputs
  std::vector<std::int64_t> output_bytes;    // of each output buffer
  std::vector<PlanOutput> outputs;
  std::vector<std::uint32_t> output_index;  // of each output that is no input: its buffer
  std::int64_t arena_bytes = 0;
  double lower_seconds = 0, compile_seconds = 0;
  TunedChoices choices;
  Hash key;  // of all regions in their order
  std::vector<CachePosition> positions;
};

// Runs the launches of a batch on the plan's device; a GPU is not waited for. The arguments are
// those of its first launch, and behind them those of the others.
void run_batch(const Plan::Body& body, const Batch& batch, const Argument* arguments);
// Runs one program over its grid.
void run_program(const Plan::Body& body, std::uint32_t program, const Grid& grid,
                 const Argument* arguments);

// Runs one launch of a plan by calling `run`, and notes how long that took.
template <typename Run>
void run_timed(LaunchTimes& times, std::size_t launch, Run&& run) {
  auto begin = std::chrono::steady_clock::now();
  run();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (times.seconds.size() <= launch) times.seconds.resize(launch + 1, seconds);
  times.seconds[launch] = std::min(times.seconds[launch], seconds);
}

}  // namespace tilewright::graph
