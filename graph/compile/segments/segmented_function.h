// A function whose graph breaks for one signature: it runs at each call, segment by segment.
//
// Only a run shows whether it breaks. That run is the capture of a whole function if it does not,
// and the first call in segments if it does, so that nothing is done twice.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/compile/bindings/logged_values.h"
#include "graph/compile/calls/call.h"
#include "graph/compile/calls/signature.h"
#include "graph/compile/captures/captured_function.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/segments/segment_table.h"
#include "graph/tensor/recording/graph_break.h"

namespace tilewright::graph {

class SegmentedFunction {
 public:
  // `options` are those of the whole function.
  SegmentedFunction(SegmentTable& table, const ResolvedOptions& options);
  // Runs the function with the call's arguments at hand. The capture of the whole function, if it
  // does not break; then this is of no further use, and `results` has what lies around the outputs.
  // None: it breaks, `call` goes on from there, and `guards` are those that it has read.
  std::optional<Captured> attempt(const Call& call, const Signature& signature,
                                  CapturedResults& results, std::vector<Guard>& guards,
                                  LoggedValues& logged);
  // It broke since it writes an argument that shares elements with another tensor: with others it
  // may not break.
  bool breaks_for_sharing() const { return breaks_for_sharing_; }
  // `times` times; the results of the last.
  TensorResults call(const Call& call, const Signature& signature, std::int64_t times,
                     bool is_measured, LoggedValues& logged);
  const std::vector<Break>& breaks() const { return breaks_; }  // found so far

 private:
  SegmentTable& table_;
  ResolvedOptions options_;  // of segments
  std::vector<Break> breaks_;
  bool breaks_for_sharing_ = false;
  Followers first_;                     // segments that the function begins with
  std::optional<TensorResults> found_;  // of the run that found the breaks, until a call has them
};

}  // namespace tilewright::graph
