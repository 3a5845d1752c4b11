// A plan: the launches that compute a graph, laid out once and run many times.
//
// Making one cuts the graph into regions (graph/regions), turns each into a tile program
// (graph/lower), compiles every distinct program once, and gives every value that crosses regions a
// place (runtime/plan/executable.h); lifetimes decide who shares bytes of the arena, and launches
// of one program that do not wait for each other become one step (graph/run/batches.h). What is run
// and recorded is the executable alone; the plan around it knows what its programs are.
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
#include "dsl/target/packed_product.h"
#include "graph/ir/ir.h"
#include "graph/ir/matmul_precision.h"
#include "graph/ir/strided_view.h"
#include "graph/lower/blocks/block_request.h"
#include "graph/regions/winograd.h"
#include "graph/tune/tune_plan.h"
#include "runtime/base/hash.h"
#include "runtime/plan/executable.h"

namespace tilewright::graph {

class PlanLock;

// What a plan may rely on of the memory of an input of the graph.
struct InputMemory {
  bool is_aligned = true;  // begins at a multiple of 64 bytes, which GPU code uses
  bool is_frozen = false;  // nobody writes it any more, so that packed copies may be read instead
};

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
  // Plans of the same function for other sizes are made too: programs take the number of rows as an
  // argument where that costs next to nothing, and are then the same in all of these plans.
  bool sizes_vary = false;
  // Tuning chooses where `blocks` says nothing at all. An emulated device keeps the defaults, since
  // its times mean nothing.
  std::optional<PlanTuning> tune = {};
  // What it chose before, or a part of that: nothing is looked up or measured then.
  std::optional<TunedChoices> choices = {};
  // As Graph::inputs, of which those beyond the list have what InputMemory says by default.
  std::vector<InputMemory> inputs = {};
  std::shared_ptr<PlanLock> lock = nullptr;  // choices to keep to, or to write down
  std::string title = {};                    // of the plan there
};

// A matrix in an input of the graph that the plan reads in panels (lower/packed_weights.h).
struct PackedWeight {
  int input = 0;  // index into Graph::inputs
  DType dtype = DType::f32;
  StridedView matrix;  // [depth.., columns], from the input's first element on
  dsl::PackedPanels panels;
  bool is_winograd = false;    // axis 0 are rows of filters, transformed (regions/winograd.h)
  std::int64_t rows() const {  // of panels
    const std::int64_t rows = element_count(matrix.shape) / matrix.shape[-1];
    return is_winograd ? rows / winograd::taps * winograd::products : rows;
  }
  std::int64_t elements() const { return panels.elements(rows(), matrix.shape[-1]); }
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
  std::vector<std::string> marks;     // names of the marked regions that it is a part of
  std::string key;                    // hex of its content hash
  std::int64_t bytes = 0;             // read and written by one launch
  std::int64_t bytes_saved = 0;       // that fusion keeps from memory
  std::int64_t instances = 0;         // regions that it computes
  std::int64_t launches = 0;          // in which it does so
  std::int64_t batch = 1;             // regions in the largest of them
  double compile_seconds = 0;         // of code generation for this plan
};

// All marked regions of one name.
struct MarkedRegion {
  std::string name;
  std::int64_t instances = 0;   // calls that compute something
  std::int64_t structures = 0;  // of these that differ
  std::int64_t programs = 0;    // distinct ones of all of them
};

class Plan {
 public:
  struct Body;
  explicit Plan(std::shared_ptr<const Body> body) : body_(std::move(body)) {}

  // `inputs[i]` is the address of the first element of Graph::inputs[i], in the memory of the
  // plan's device, whose memory has the strides that the graph names; behind them come those of the
  // copies that packed_weights() names (compile/bindings/weight_copies.h). Returns one buffer an
  // output, null where PlanOutput::input says. Work on a GPU is begun, not waited for. Thread safe.
  // With `times` each launch is waited for and timed.
  std::vector<std::shared_ptr<Buffer>> run(std::span<void* const> inputs,
                                           LaunchTimes* times = nullptr) const;

  // What is run and recorded; it lives as long as it is held.
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
  const Body& body() const { return *body_; }

 private:
  std::shared_ptr<const Body> body_;
};

// Raises `InternalError` for a graph with composite ops.
std::shared_ptr<const Plan> make_plan(const Graph& graph, const PlanOptions& options = {});

}  // namespace tilewright::graph
