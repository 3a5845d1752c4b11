// Gives the warps of a program roles where the GPU can (plan/warp_specialisation.h): how many hold
// tiles, how many stages their rings have, and at each instruction what it has to do with them. A
// program that says already how many warps it has stays as it is. Without the pass all warps do the
// same, and pipeline_loads has them copy what products take.
#include <algorithm>

#include "dsl/codegen/gpu/passes/gpu_passes.h"
#include "dsl/codegen/gpu/plan/uses.h"
#include "dsl/codegen/gpu/plan/warp_specialisation.h"
#include "dsl/codegen/llvm/scalar_facts.h"
#include "dsl/ir/rewrite.h"

namespace tilewright::dsl::gpu {

bool specialise_warps(ir::Function& function, const Target& target) {
  if (function.warps != 0 || !target.gpu().has_tensor_copies) return false;
  auto roles = plan_warp_specialisation(function, Uses(function), scalar_facts(function), target);
  if (!roles) return false;
  ir::for_each_inst(function.body, [&](ir::Inst& inst) {
    inst.schedule.boxed = roles->store_of(&inst) != nullptr;
    inst.schedule.alternating =
        std::ranges::find(roles->alternating, &inst) != roles->alternating.end();
    for (const Fetch& fetch : roles->fetches) {
      inst.schedule.deferred |= fetch.at == &inst && fetch.deferred;
      inst.schedule.staged |=
          std::ranges::find(fetch.loads, &inst, &StagedLoad::load) != fetch.loads.end();
    }
  });
  function.warps = roles->consumer_warps;
  function.roles.emplace(roles->stages);
  if (roles->cluster > 1) function.roles->cluster_axis = roles->cluster_axis;
  return true;
}

}  // namespace tilewright::dsl::gpu
