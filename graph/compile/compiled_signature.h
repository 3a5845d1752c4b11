// One signature of a compiled function: the types it was compiled for, and what its calls run, the
// plan of a whole function or the function in segments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/compile/bindings/logged_values.h"
#include "graph/compile/bindings/shared_arenas.h"
#include "graph/compile/calls/call.h"
#include "graph/compile/calls/signature.h"
#include "graph/compile/captures/guards.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/plans/background_plan.h"
#include "graph/compile/reports/plan_report.h"
#include "graph/compile/segments/segment_table.h"
#include "graph/compile/segments/segmented_function.h"
#include "graph/compile/whole_function.h"
#include "graph/tensor/precision/autocast.h"

namespace tilewright::graph {

// Shared by all signatures of one function.
struct SharedBySignatures {
  SharedArenas arenas;
  SegmentTable segments{arenas};
  bool has_told_break = false;  // stderr knows that the graph breaks
};

class CompiledSignature {
 public:
  // Captures the function over symbolic arguments and compiles what it recorded. Where it breaks,
  // or raises an exception, it has run with the call's arguments, and `logged` has what it logged.
  CompiledSignature(const Call& call, const ResolvedOptions& options, SharedBySignatures& shared,
                    LoggedValues& logged);
  // `times` times over, on what the time before left; gives the results of the last. What the
  // function logs each time is added to `logged`.
  TensorResults call(const Call& call, std::int64_t times, bool is_measured, LoggedValues& logged);

  const Signature& signature() const { return signature_; }
  const ArgumentForm& form() const { return form_; }
  // Called when handles have changed: sets `is_doubtful` if the function has read one of these.
  void look_at_changes();
  bool is_doubtful() const { return is_doubtful_; }
  // Called when guarded values have changed. One that is gone makes the signature doubtful, as a
  // handle does.
  void look_at_guards();
  bool guards_hold() const { return guards_.hold() && autocast_ == autocast_state(); }
  // How the guarded values, and autocast, differ from those that it was compiled for.
  std::vector<Difference> differences_of_guards() const;
  std::string guards_text() const;  // a line each; empty: there are none
  // As WholeFunction's; nothing of a function in segments, which runs at each call.
  void verify_capture(const TensorFunction& function) const;
  // As WholeFunction's; functions in segments have no graph to look at.
  void verify_gradients(const std::vector<Tensor>& arguments, std::uint64_t seed) const;
  std::vector<Tensor> inputs_before(const std::vector<Tensor>& arguments) const;
  void require_no_nan(const std::vector<Tensor>& results, const std::vector<Tensor>& inputs) const;
  // Captures the function again. True: its graph is the same, perhaps with other memory, which is
  // read from now on, or it breaks now. False: it must be compiled again. `logged` is as above.
  bool rebind(const Call& call, const ResolvedOptions& options, LoggedValues& logged);
  PlanReport report() const;
  // Options that do not hold for a part of it, as its compilation has found.
  void set_unkept(std::vector<UnkeptOption> unkept) { unkept_ = std::move(unkept); }
  // Raises `Error` for what no package holds.
  void add_to(PackageMaker& package) const;
  std::string dump() const;  // graph, tasks, regions and tile programs
  // Under way or over; null: nothing is tuned while the function is in use.
  std::shared_ptr<const BackgroundPlan> tuning() const;

 private:
  std::optional<CapturedFunction> capture(const Call& call, const ResolvedOptions& options,
                                          LoggedValues& logged);
  void make_whole(CapturedFunction captured, const Call& call, const ResolvedOptions& options);
  void tell_graph_break(const SegmentedFunction& segmented, std::string_view calls);
  const SegmentedFunction* only_segmented() const;

  Signature signature_;
  ArgumentForm form_;  // of the arguments
  Guards guards_;
  std::optional<AutocastState> autocast_ = autocast_state();
  bool is_doubtful_ = false;
  std::vector<UnkeptOption> unkept_;
  SharedBySignatures& shared_;
  bool tells_breaks_, has_told_sharing_ = false;
  bool is_sharing_ = false;  // the last call was one for `sharing_`
  // One of the two; a whole function that breaks when it is captured again is in segments then.
  // None: all calls so far are those of `sharing_`, and it is doubtful what others would be.
  std::unique_ptr<WholeFunction> whole_;
  std::unique_ptr<SegmentedFunction> segmented_;
  // For calls in which what the function writes shares elements with another tensor that it uses.
  // Null: it writes none, may not break, or is in segments anyway.
  std::unique_ptr<SegmentedFunction> sharing_;
};

}  // namespace tilewright::graph
