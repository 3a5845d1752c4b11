// What a signature says of itself in reports and dumps.
#include <numeric>

#include "graph/compile/compiled.h"
#include "graph/compile/segmented_call.h"
#include "graph/ir/text.h"
#include "graph/regions/text/text.h"
#include "graph/run/plan_tasks.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

// Empty where there was none.
static std::string text_of(const TuningReport& report, const std::string& whole_call) {
  std::string text;
  auto add = [&](int count, const char* what) {
    if (count > 0)
      text += concat(text.empty() ? "tuning: " : ", ", count, count == 1 ? " region " : " regions ",
                     what);
  };
  add(report.known, "known");
  add(report.searched, "searched");
  add(report.small, "too small");
  add(report.left, "left as they are");
  add(report.fixed, "with nothing to choose");
  return whole_call.empty() ? text : concat(text, "; ", whole_call);
}

PlanReport CompiledSignature::report() const {
  PlanReport report;
  report.signature = to_string(signature_);
  report.capture_seconds = capture_seconds_;
  for (const Break& at : breaks_)
    report.graph_break += concat(report.graph_break.empty() ? "" : ", ", text_of(at));
  report.captured_tensors = std::ssize(captured_);
  report.captures = captures_;
  report.guards = guards_text();
  if (!plan_) return report;
  std::vector<double> seconds = plan_->program_seconds(times_);
  for (const PlanProgram& program : plan_->programs())
    report.regions.push_back({program.name, program.kind, program.instances, program.launches,
                              program.bytes, program.compile_seconds, program.ops, program.user_ops,
                              program.key, seconds[report.regions.size()], program.marks});
  for (const MarkedRegion& region : plan_->marked_regions())
    report.marked.push_back({region.name, region.instances, region.structures, region.programs});
  report.timed_calls = times_.runs;
  report.run_seconds = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  report.device = plan_->device().text();
  report.host_bytes = host_arguments_ ? host_arguments_->bytes() : 0;
  report.launches = plan_->launches();
  report.nodes = static_cast<std::int64_t>(graph_.nodes.size() - graph_.inputs.size());
  report.arena_bytes = plan_->arena_bytes();
  report.packed_weights = std::ssize(packed_weights_);
  for (const auto& buffer : packed_weights_) report.packed_bytes += buffer->size_bytes();
  report.frozen_values = std::ssize(frozen_values_.tensors());
  for (const Tensor& value : frozen_values_.tensors())
    report.frozen_bytes += value.body()->buffer->size_bytes();
  report.lower_seconds = plan_->lower_seconds();
  report.compile_seconds = plan_->compile_seconds();
  report.tuning = tuning_ ? tuning_->text() + taken_ : text_of(plan_->tuning(), whole_call_);
  return report;
}

std::string CompiledSignature::dump() const {
  std::string text = concat("# signature: ", to_string(signature_), "\n");
  if (!plan_) {
    for (const Break& at : breaks_) text += concat("# breaks: ", text_of(at), " ", at.deed, "\n");
    return text;
  }
  if (!frozen_values_.tensors().empty())
    text += concat("# computed once, of frozen weights:\n", print(frozen_values_.graph()),
                   "# at each call:\n");
  text += print(graph_);
  const FusedTasks tasks = fused_tasks(graph_, plan_options_);
  text += print(tasks.list, tasks.regions);
  for (std::size_t i = 0; i < plan_->programs().size(); ++i)
    text += concat("\n# launches: ", plan_->programs()[i].launches, "\n", plan_->program_text(i));
  return text;
}

}  // namespace tilewright::graph
