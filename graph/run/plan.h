// A plan: the launches that compute a graph, laid out once and run many times.
//
// Making one cuts the graph into regions (graph/regions), turns each into a tile program
// (graph/lower), compiles every distinct program once, and gives every value that crosses regions a
// place (runtime/plan/executable.h); lifetimes decide which values share bytes of the arena, and
// launches of one program that do not wait for each other become one step (graph/run/batches.h).
// Only the executable is run and recorded; the plan around it knows what its programs are.
//
// The graph must be free of composite ops (graph/passes decompose them); it may be any other graph,
// also one of a single node, which is how eager execution uses plans.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dsl/launch/device.h"
#include "graph/ir/ir.h"
#include "graph/ir/options/first_code.h"
#include "graph/ir/options/matmul_precision.h"
#include "graph/lower/blocks/block_request.h"
#include "graph/run/plan_contents.h"
#include "graph/tune/tune_plan.h"
#include "runtime/base/hash.h"
#include "runtime/plan/executable.h"

namespace tilewright::graph {

struct PlanBody;  // plan_body.h
class PlanLock;

// The facts that a plan may rely on about the memory of an input of the graph.
struct InputMemory {
  bool is_aligned = true;  // begins at a multiple of 64 bytes, which GPU code uses
  bool is_frozen = false;  // not written any more, so that packed copies may be read instead
};

struct PlanOptions {
  bool fuse = true;        // otherwise one region a node, and one launch a region
  bool interpret = false;  // run tile programs by the interpreter: tells bugs of lowering from bugs
                           //   of code generation
  // The seed of the order in which the programs of a grid are interpreted, instead of the order in
  // which they are numbered: none may depend on another.
  std::optional<std::uint64_t> shuffle_interpreted = {};
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  bool row_invariant = false;  // Options::batch_invariant, for the host
  FirstCode first_code = FirstCode::full;
  int threads = 0;  // for which programs of the host are made; 0: for those that there are
  Device device = default_device();
  BlockSizes blocks = {};  // requested for every program
  // Plans of the same function for other sizes are made too: programs take the number of rows as an
  // argument where that costs next to nothing, and are then the same in all of these plans.
  bool sizes_vary = false;
  // Tuning chooses where `blocks` says nothing at all. An emulated device keeps the defaults, since
  // its times mean nothing.
  std::optional<PlanTuning> tune = {};
  // Its earlier choices, or a part of them: nothing is looked up or measured then.
  std::optional<TunedChoices> choices = {};
  // As Graph::inputs, of which those beyond the list have what InputMemory says by default.
  std::vector<InputMemory> inputs = {};
  // An output that an input is to hold when the call is over is that input's memory, as in a body
  // of a loop that updates what it carries. Otherwise each output has memory of its own.
  bool gives_written_inputs = false;
  std::shared_ptr<PlanLock> lock = nullptr;  // choices to keep to, or to write down
  std::string title = {};                    // of the plan there
};

class Plan {
 public:
  explicit Plan(std::shared_ptr<const PlanBody> body) : body_(std::move(body)) {}

  // `inputs[i]` is the address of the first element of Graph::inputs[i], in the memory of the
  // plan's device, whose memory has the strides that the graph names; behind them come those of the
  // copies that packed_weights() names (compile/bindings/weight_copies.h). Returns one buffer an
  // output, null where PlanOutput::input says. Work on a GPU is begun, not waited for. Thread safe.
  // With `times` each launch is waited for and timed.
  std::vector<std::shared_ptr<Buffer>> run(std::span<void* const> inputs,
                                           LaunchTimes* times = nullptr) const;

  // The part that is run and recorded; it lives as long as it is held.
  std::shared_ptr<const Executable> executable() const;
  const std::vector<PlanOutput>& outputs() const;
  const std::vector<PackedWeight>& packed_weights() const;
  std::span<const PlanProgram> programs() const;
  std::string program_text(std::size_t program) const;  // its tile IR
  const std::vector<MarkedRegion>& marked_regions() const;
  const Device& device() const;
  std::int64_t launches() const;                                        // steps of its executable
  std::vector<double> program_seconds(const LaunchTimes& times) const;  // of one run
  std::int64_t arena_bytes() const;
  double lower_seconds() const;    // fusion and lowering
  double compile_seconds() const;  // code generation and tuning, wall
  // The outcome of PlanOptions::tune or PlanOptions::choices: what became of the regions, and the
  // choices of the plan.
  const TuningReport& tuning() const { return choices().report; }
  const TunedChoices& choices() const;
  Hash key() const;  // of its regions in their order, whatever their block sizes are
  const PlanBody& body() const { return *body_; }

 private:
  std::shared_ptr<const PlanBody> body_;
};

// Raises `InternalError` for a graph with composite ops.
std::shared_ptr<const Plan> make_plan(const Graph& graph, const PlanOptions& options = {});

// The memory of a run, in bytes.
struct PlanMemory {
  std::int64_t outputs = 0;  // all buffers that it returns
  std::int64_t arena = 0;
  std::int64_t loops = 0;  // the most that one step of control flow takes while it runs
  std::int64_t constants = 0;
  // The most at one time: outputs, arena and loops, or, where that is more, outputs and the copies
  // that are made of them afterwards. On the host in blocks of the pool.
  std::int64_t peak = 0;
};
PlanMemory memory_of(const Executable& executable, std::span<const std::int64_t> copies = {});
// That of the plan of a graph with default block configurations, found without generating code.
PlanMemory planned_memory(const Graph& graph, const PlanOptions& options);

}  // namespace tilewright::graph
