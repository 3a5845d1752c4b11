// The plans of one compiled function: a call finds its plan here, or has one made, and runs it.
//
// Padding, declared sizes, the table of signatures and the policy of recompilation are concepts of
// their own (padded_calls.h, sizes/, signature_table.h, recompilation_policy.h); here they meet.
// Not thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/compile/bindings/logged_values.h"
#include "graph/compile/calls/call.h"
#include "graph/compile/calls/contract.h"
#include "graph/compile/compiled_signature.h"
#include "graph/compile/options/options.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/padded_calls.h"
#include "graph/compile/plans/background_plan.h"
#include "graph/compile/reports/plan_report.h"
#include "graph/compile/signature_table.h"
#include "graph/compile/sizes/declared_sizes.h"

namespace tilewright::graph {

class FunctionPlans {
 public:
  explicit FunctionPlans(Options options);
  const Options& options() const { return options_; }
  bool is_captured() const { return resolved_.is_captured; }  // calls are, or run op by op
  // Plans are for tensors of this device from now on; there are none yet.
  void move_to(const Device& device);

  // `times` times over; the results of the last. None: the call is to run op by op. What the
  // function logs is added to `logged`.
  std::optional<TensorResults> call(const Call& call, std::int64_t times, bool is_measured,
                                    LoggedValues& logged);

  // That of such calls, which are compiled where they are not. Raises `Error` where they run op by
  // op, or in segments.
  MemoryReport memory(const Call& call, LoggedValues& logged);

  const std::vector<Recompilation>& recompilations() const { return recompilations_; }
  std::vector<PlanReport> report() const;
  // Each signature that was compiled so far. Raises `Error` for what no package holds.
  void add_to(PackageMaker& package) const;
  std::string dump() const;
  std::vector<std::shared_ptr<const BackgroundPlan>> tunings() const;

 private:
  const PaddedCalls::Known* padding_of(const Call& call, std::vector<Tensor>& longer);
  SignatureTable::Entry* entry_for(const Call& call, LoggedValues& logged);
  void look_at_sizes(const Call& call, SignatureTable::Entry* known);
  const ResolvedOptions& options_of(bool sizes_vary) const {
    return sizes_vary ? resolved_for_sizes_ : resolved_;
  }
  void tell_limit(const Call& call);
  void tell_unkept(const std::vector<UnkeptOption>& unkept);
  void note_unsearched() const;
  SignatureTable::Entry* compile(const Call& call, std::size_t place, std::vector<Difference> why,
                                 bool sizes_vary, LoggedValues& logged);

  Options options_;
  ResolvedOptions resolved_, resolved_for_sizes_;  // for sizes that vary
  SharedBySignatures shared_;
  SignatureTable table_;
  DeclaredSizes declared_;
  PaddedCalls paddings_;
  std::uint64_t calls_ = 0;
  std::vector<Recompilation> recompilations_;  // the latest
  bool has_told_limit_ = false;
  std::set<std::string> told_options_;  // that do not hold for a part of the function
};

}  // namespace tilewright::graph
