// Segments: what a function whose graph breaks computes between two breaks, compiled like a whole
// function.
//
// A segment is a graph with the types of its inputs: arguments, captured tensors and results of
// segments before it, all alike. The table of a compiled function finds it by that, whichever
// signature or path of the function leads there, and is bounded: where it is full, one that comes
// for the third time takes the place of the one that was used least recently, and runs op by op
// until then.
//
// Numbers of a graph are constants of its plan at first, as most of them are in the source. One
// that is another number at a later run, such as one that was read from a tensor, becomes an input:
// the segment is compiled once more, and never again for that number.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/compile/calls/signature.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/plans/background_plan.h"
#include "graph/compile/reports/plan_report.h"
#include "graph/tensor/capture.h"

namespace tilewright::graph {

class CompiledSignature;
struct Segment;
struct SharedSteps;

// The segments that came next at earlier calls, the latest first.
class Followers {
 public:
  void put(const std::shared_ptr<Segment>& segment);
  void remove(const Segment& segment);
  void clear() { segments_.clear(), graphs_.clear(); }
  const std::vector<std::shared_ptr<Segment>>& segments() const { return segments_; }
  std::span<const Graph* const> graphs() const { return graphs_; }  // of these

 private:
  std::vector<std::shared_ptr<Segment>> segments_;
  std::vector<const Graph*> graphs_;
};

struct Segment {
  Graph graph;                              // as it was recorded, with the numbers of that time
  Signature inputs;                         // of the graph
  std::vector<RecordedNumber> numbers;      // of its `full` nodes, constants of the plan
  std::vector<bool> varies;                 // the number is an input of the plan instead
  std::vector<Tensor> varying;              // those numbers, behind the inputs
  std::unique_ptr<CompiledSignature> plan;  // null: there is nothing to compute
  Followers followers;
  Hash key;
  std::uint64_t used = 0;
  std::string end;  // "item at model.cpp:12"

  Segment();
  ~Segment();
  bool is(const std::vector<NodeId>& outputs, const std::vector<Mutation>& mutations,
          const std::vector<Tensor>& given) const;
};

// Lists that each run of a segment fills, kept for their memory.
struct SegmentScratch {
  std::vector<std::shared_ptr<TensorBody>> spare_bodies;  // of symbols
  Recorded recorded;
  std::vector<NodeId> outputs;
  std::vector<std::shared_ptr<TensorBody>> own;  // symbols that are values
  std::vector<std::shared_ptr<Buffer>> results;
};

// Not thread safe, as a compiled function's plans are not.
class SegmentTable {
 public:
  explicit SegmentTable(SharedSteps& shared) : shared_(shared) {}
  SegmentTable(const SegmentTable&) = delete;
  SegmentTable& operator=(const SegmentTable&) = delete;
  ~SegmentTable() { clear(); }
  // The segment of this graph, which has its outputs, mutations and numbers; null: it is to run op
  // by op, because the stance says so or the table is full. `end` says where it ends. Raises
  // `Error` where the stance is fail_on_recompile and it would have to be compiled.
  std::shared_ptr<Segment> find(const Graph& graph, const std::vector<Tensor>& inputs,
                                const ResolvedOptions& options, const std::string& end);
  // Makes numbers that differ from the plan's inputs of it. False: the segment is to run op by op
  // this time.
  bool admit(Segment& segment, const std::vector<RecordedNumber>& numbers,
             const std::vector<Tensor>& inputs, const ResolvedOptions& options);
  // `results` become the memory of the results, in the order of the graph's outputs, each row-major
  // and in memory of its own. `inputs` get numbers behind them.
  void run(Segment& segment, const std::vector<RecordedNumber>& numbers,
           std::vector<Tensor>& inputs, bool is_measured,
           std::vector<std::shared_ptr<Buffer>>& results);

  void clear();
  SegmentScratch& scratch() { return scratch_; }
  std::vector<PlanReport> report() const;
  std::string dump() const;
  std::vector<std::shared_ptr<const BackgroundPlan>> tunings() const;

 private:
  bool has_place(const Hash& key);
  void compile(Segment& segment, std::vector<bool> varies, const std::vector<Tensor>& inputs,
               const ResolvedOptions& options);
  SharedSteps& shared_;
  std::vector<std::shared_ptr<Segment>> segments_;
  std::map<Hash, int> sightings_;  // of those that were not compiled
  std::uint64_t runs_ = 0;
  SegmentScratch scratch_;
};

}  // namespace tilewright::graph
