// One call of a function that may break its graph.
//
// The function runs once, over symbols that stand for the call's arguments. Where it asks for what
// no graph can give (a value, an address), what it has computed so far is a segment: that is
// compiled or found (segment.h), it runs, and the symbols that somebody still holds become
// ordinary tensors. So each side effect of the function happens once a call and in order, with the
// first call as with all others, and a function that turns out to break need not start again:
//
//   Tensor f(const Tensor& x) {
//     Tensor y = x * 2;                      // recorded
//     float s = sum(y).item<float>();        // a segment x -> y, sum(y) runs; y and s are there
//     return s > 0 ? exp(y) - s : y;         // a segment y, s -> exp(y) - s, or nothing
//   }
//
// A call that does not break at all and is the first of its signature is the capture of a whole
// function. If the function raises an exception, what it had recorded until then still runs, so
// that its writes are done, what it has logged is handed over, and no tensor is left without
// memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/compile/bindings/logged_values.h"
#include "graph/compile/bindings/result_memory.h"
#include "graph/compile/calls/structure.h"
#include "graph/compile/captures/captured_function.h"
#include "graph/compile/segments/segment_table.h"
#include "graph/tensor/capture.h"

namespace tilewright::graph {

class SegmentedCall {
 public:
  // The arguments must outlive it. New breaks are added to `breaks`; values that a call in
  // segments, or one that ends by an exception, has passed to `print` and `log_callback` are added
  // to `logged`.
  SegmentedCall(SegmentTable& table, const ResolvedOptions& options, const Signature& signature,
                const std::vector<Tensor>& arguments, std::vector<Break>& breaks, Followers& first,
                LoggedValues& logged);
  ~SegmentedCall();
  // Calls a function that is known to break.
  TensorResults run(const TensorFunction& function, bool is_measured);
  // Calls one that is not. Returns the capture of the whole function if it does not break: nothing
  // was run then, and `results` has what lies around the outputs. Otherwise returns none, and
  // `results.around` are the results.
  std::optional<Captured> attempt(const TensorFunction& function, CapturedResults& results);
  std::vector<Guard> take_guards() { return capture_.take_guards(); }
  bool meets_sharing() const { return capture_.meets_sharing(); }

 private:
  std::vector<Tensor> begin();
  TensorResults call(const TensorFunction& function, const std::vector<Tensor>& symbols);
  std::optional<GraphBreak> lasting_state(TensorResults& returned,
                                          const std::vector<Tensor>& symbols);
  void end(TensorResults& results);
  void take_logged();
  void settle(const Break* at);
  void note(const Break& at);
  void find_weights();
  void run_recorded(const Break* at);
  std::shared_ptr<Segment> segment_of(const Break* at);

  SegmentTable& table_;
  SegmentScratch& scratch_;
  const ResolvedOptions& options_;
  const Signature& signature_;
  const std::vector<Tensor>& arguments_;
  std::vector<Break>& breaks_;
  std::shared_ptr<Segment> current_;  // that ran last
  Followers* followers_;              // of it; at first, what functions begin with
  LoggedValues& logged_;
  std::vector<bool> weights_;  // among the inputs of the segment at hand
  bool is_measured_ = false;
  Capture capture_;
};

// "item at model.cpp:12"; "launch" where the line is not known.
std::string text_of(const Break& at);

}  // namespace tilewright::graph
