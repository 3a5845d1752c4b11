#include "graph/run/plan.h"

#include "dsl/ir/text/text.h"
#include "graph/run/plan_body.h"

namespace tilewright::graph {

std::vector<std::shared_ptr<Buffer>> Plan::run(std::span<void* const> inputs,
                                               LaunchTimes* times) const {
  return run_executable(body_->executable, inputs, times);
}

std::shared_ptr<const Executable> Plan::executable() const { return {body_, &body_->executable}; }
const std::vector<PlanOutput>& Plan::outputs() const { return body_->outputs; }
const std::vector<PackedWeight>& Plan::packed_weights() const { return body_->packed_weights; }
std::span<const PlanProgram> Plan::programs() const { return body_->programs; }
std::string Plan::program_text(std::size_t program) const {
  return ir::print(*body_->functions.at(program));
}
const std::vector<MarkedRegion>& Plan::marked_regions() const { return body_->marked_regions; }
const Device& Plan::device() const { return body_->device; }
std::int64_t Plan::launches() const { return std::ssize(body_->executable.steps); }
std::vector<double> Plan::program_seconds(const LaunchTimes& times) const {
  std::vector<double> result(body_->programs.size());
  for (std::size_t i = 0; i < times.seconds.size(); ++i)
    result[body_->executable.steps[i].kernel] += times.seconds[i];
  return result;
}
std::int64_t Plan::arena_bytes() const { return body_->executable.arena_bytes; }
double Plan::lower_seconds() const { return body_->lower_seconds; }
double Plan::compile_seconds() const { return body_->compile_seconds; }
const TunedChoices& Plan::choices() const { return body_->choices; }
Hash Plan::key() const { return body_->key; }

}  // namespace tilewright::graph
