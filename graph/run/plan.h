// A plan: the launches that compute a graph, laid out once and run many times.
//
// Making one cuts the graph into regions (graph/regions), turns each into a tile program
// (graph/lower), compiles every distinct program once, and gives every value that crosses regions a
// place: in memory of the caller (inputs, mutated inputs), in a buffer that the call returns
// (outputs), in the arena (intermediate values, whose lifetimes decide who shares bytes), or in the
// plan itself (constants). A launch is then a program, a grid and a list of places; launches of one
// program that do not wait for each other become one (graph/run/batches.h). Nothing of the graph is
// looked at when a plan runs.
//
// The graph must be free of composite ops (graph/passes decompose them); it may be any other graph,
// also one of a single node, which is how eager execution uses plans.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dsl/target/device.h"
#include "dsl/target/packed_product.h"
#include "graph/ir/ir.h"
#include "graph/ir/matmul_precision.h"
#include "graph/ir/placement.h"
#include "graph/lower/block_request.h"
#include "graph/run/arena.h"
#include "graph/tune/tune_plan.h"
#include "runtime/artifact.h"
#include "runtime/base/hash.h"
#include "runtime/buffer.h"

namespace tilewright::graph {

class PlanLock;

struct PlanOptions {
  bool fuse = true;        // otherwise one region a node, and one launch a region
  bool interpret = false;  // run tile programs by the interpreter: tells bugs of lowering from bugs
                           //   of code generation
  // The seed of the order in which the programs of a grid are interpreted, instead of the order in
  // which they are numbered: none may depend on another.
  std::optional<std::uint64_t> shuffle_interpreted = {};
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  Device device = default_device();
  BlockSizes blocks = {};  // wanted of every program
  // The clock chooses where `blocks` does not; an emulated device keeps the default ones, for its
  // time says nothing.
  std::optional<PlanTuning> tune = {};
  // What it chose before, or a part of that: nothing is looked up or measured then.
  std::optional<TunedChoices> choices = {};
  // By Graph::inputs: the memory may begin at any element. What is not named begins at a multiple
  // of 64 bytes, of which GPU code makes use.
  std::vector<bool> unaligned_inputs = {};
  // By Graph::inputs: nobody writes what lies there any more, so that the plan may want packed
  // copies of it. What is not named may be written.
  std::vector<bool> frozen_inputs = {};
  std::shared_ptr<PlanLock> lock = nullptr;  // choices to keep to, or to write down
  std::string title = {};                    // of the plan there
};

// A matrix in an input of the graph that the plan reads in slivers (lower/packed_weights.h).
struct PackedWeight {
  int input = 0;  // index into Graph::inputs
  DType dtype = DType::f32;
  Placement matrix;  // [depth, columns], from the input's first element on
  dsl::Slivers slivers;
  std::int64_t elements() const { return slivers.elements(matrix.shape[0], matrix.shape[1]); }
};

// What the caller gets for one output.
struct PlanOutput {
  DType dtype;
  Shape shape;  // row-major
  // The output is the memory of this input (index into Graph::inputs): there is no buffer for it.
  std::optional<int> input;
};

// One distinct program of a plan.
struct PlanProgram {
  std::string name, kind;
  std::vector<std::string> ops;       // what was fused, in order
  std::vector<std::string> user_ops;  // what the user wrote of which these are parts
  std::string key;                    // hex of its content hash
  std::int64_t bytes = 0;             // read and written by one launch
  std::int64_t bytes_saved = 0;       // that fusion keeps from memory
  std::int64_t instances = 0;         // regions that it computes
  std::int64_t launches = 0;          // in which it does so
  std::int64_t batch = 1;             // regions in the largest of them
  double compile_seconds = 0;         // of code generation for this plan
};

// The least time of each launch of a plan over the runs that were timed.
struct LaunchTimes {
  std::int64_t runs = 0;
  std::vector<double> seconds;  // of each launch
};

class Plan {
 public:
  struct Body;
  explicit Plan(std::shared_ptr<const Body> body) : body_(std::move(body)) {}

  // `inputs[i]` is the address of the first element of Graph::inputs[i], in the memory of the
  // plan's device, whose memory has the strides that the graph names; behind them come those of the
  // copies that packed_weights() names (run/weight_copies.h). Returns one buffer an output,
  // null where PlanOutput::input says. Work on a GPU is begun, not waited for. Thread safe.
  // With `times` each launch is waited for and timed.
  std::vector<std::shared_ptr<Buffer>> run(std::span<void* const> inputs,
                                           LaunchTimes* times = nullptr) const;

  const std::vector<PlanOutput>& outputs() const;
  const std::vector<PackedWeight>& packed_weights() const;
  std::span<const PlanProgram> programs() const;
  std::string program_text(std::size_t program) const;  // its tile IR
  const Device& device() const;
  std::int64_t launches() const;
  std::vector<double> program_seconds(const LaunchTimes& times) const;  // of one run
  std::int64_t arena_bytes() const;
  double lower_seconds() const;    // fusion and lowering
  double compile_seconds() const;  // code generation and tuning, wall
  // Of PlanOptions::tune or choices: what became of the regions, and the choices that the plan has.
  const TuningReport& tuning() const { return choices().report; }
  const TunedChoices& choices() const;
  Hash key() const;  // of its regions in their order, whatever their block sizes are
  const Body& body() const { return *body_; }

 private:
  std::shared_ptr<const Body> body_;
};

// Raises `InternalError` for a graph with composite ops.
std::shared_ptr<const Plan> make_plan(const Graph& graph, const PlanOptions& options = {});

// A plan with all of its memory fixed, outputs included: a call patches the addresses of inputs
// into a flat list of launches and runs it, on a GPU as one graph. Nothing is allocated or looked
// up. An output is valid until the next call. Not thread safe.
class Recording {
 public:
  // The arena may be shared with other recordings that do not run at the same time.
  explicit Recording(std::shared_ptr<const Plan> plan, std::shared_ptr<SharedArena> arena = {});
  Recording(Recording&&) noexcept;
  ~Recording();
  // All launches, `times` times over. The outputs are the same buffers at every call. On the host
  // launches can be timed.
  const std::vector<std::shared_ptr<Buffer>>& run(std::span<void* const> inputs,
                                                  std::int64_t times = 1,
                                                  LaunchTimes* measured = nullptr);
  // Launches of a GPU's graph that were changed so far because an address had.
  std::int64_t updates() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace tilewright::graph
