// Has loads of matrix products run turns ahead of their loops (plan/pipeline.h): says of a loop how
// many stages its ring has, which loads fill it, and which product may be unfinished for a turn.
// Warps with roles have rings already; a program that says what runs ahead stays as it is. Without
// the pass each turn waits for what it loads.
#include <algorithm>

#include "dsl/codegen/gpu/passes/gpu_passes.h"
#include "dsl/codegen/gpu/plan/pipeline.h"
#include "dsl/ir/rewrite.h"

namespace tilewright::dsl::gpu {
namespace {

// True if there are products in loops without a decision so far.
bool has_work(const ir::Function& function) {
  bool has_products = false, is_said = function.roles.has_value();
  ir::for_each_inst(function.body, [&](const ir::Inst& inst) {
    is_said |= inst.schedule != ir::Schedule{};
    for (const ir::Block& body : inst.bodies)
      has_products |=
          std::ranges::find(body.insts, ir::Op::dot_, &ir::Inst::op) != body.insts.end();
  });
  return has_products && !is_said;
}

}  // namespace

bool pipeline_loads(ir::Function& function, const Target& target) {
  if (!has_work(function)) return false;
  LoopPipelines plans = plan_pipelines(function, Uses(function), scalar_facts(function), target);
  ir::for_each_inst(function.body, [&](ir::Inst& inst) {
    auto plan = plans.find(&inst);
    if (plan != plans.end()) inst.schedule.stages = static_cast<std::uint8_t>(plan->second.stages);
    for (const auto& [loop, pipeline] : plans) {
      inst.schedule.deferred |= pipeline.deferred == &inst;
      inst.schedule.staged |=
          std::ranges::find(pipeline.loads, &inst, &StagedLoad::load) != pipeline.loads.end();
    }
  });
  return !plans.empty();
}

}  // namespace tilewright::dsl::gpu
