// The segments of a compiled function (segment.h).
//
// The table finds a segment by its graph and the types of its inputs, whichever signature or path
// of the function leads there, and is bounded: where it is full, one that comes for the third time
// takes the place of the one that was used least recently, and runs op by op until then.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/compile/bindings/shared_arenas.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/reports/plan_report.h"
#include "graph/compile/segments/segment.h"
#include "graph/compile/segments/segment_weights.h"
#include "graph/tensor/capture.h"

namespace tilewright::graph {

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
  explicit SegmentTable(SharedArenas& arenas) : arenas_(arenas) {}
  SegmentTable(const SegmentTable&) = delete;
  SegmentTable& operator=(const SegmentTable&) = delete;
  ~SegmentTable() { clear(); }
  // The segment of this graph, which has its outputs, mutations and numbers; null: it is to run op
  // by op, because the stance says so or the table is full. `end` says where it ends. Raises
  // `Error` where the stance is fail_on_recompile and it would have to be compiled.
  std::shared_ptr<Segment> find(const Graph& graph, const std::vector<Tensor>& inputs,
                                const std::vector<bool>& weights, const ResolvedOptions& options,
                                const std::string& end);
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
  SegmentWeights& weights() { return weights_; }
  // Before the function writes memory that segments may have taken for a weight: it is none from
  // then on.
  void unfreeze(const std::shared_ptr<Buffer>& written);
  std::vector<PlanReport> report() const;
  // Options that do not hold for segments since it was last asked.
  bool has_unkept() const { return !unkept_.empty(); }
  std::vector<UnkeptOption> take_unkept() { return std::exchange(unkept_, {}); }
  std::string dump() const;
  std::vector<std::shared_ptr<const BackgroundPlan>> tunings() const;

 private:
  bool has_place(const Hash& key);
  void compile(Segment& segment, std::vector<bool> varies, const std::vector<Tensor>& inputs,
               const ResolvedOptions& options);

  SharedArenas& arenas_;
  std::vector<std::shared_ptr<Segment>> segments_;
  std::map<Hash, int> sightings_;  // of those that were not compiled
  std::uint64_t runs_ = 0;
  SegmentWeights weights_;
  std::vector<UnkeptOption> unkept_;
  SegmentScratch scratch_;
};

}  // namespace tilewright::graph
