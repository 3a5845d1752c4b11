#include "dsl/codegen/named_passes.h"

#include <algorithm>

#include "dsl/codegen/gpu/passes/gpu_pipeline.h"
#include "dsl/codegen/gpu/plan/program_bounds.h"
#include "dsl/codegen/host/passes/host_pipeline.h"

namespace tilewright::dsl {
namespace {

const Pass* find(std::span<const Pass> table, const std::string& name) {
  auto found = std::ranges::find(table, name, &Pass::name);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

std::vector<PassTime> run_named_passes(ir::Function& function, std::span<const std::string> names,
                                       const Target& target) {
  std::vector<const Pass*> some;
  bool is_bounded = false;
  for (const std::string& name : names) {
    const Pass* of_gpu = find(gpu::gpu_passes(), name);
    const Pass* of_host = find(host::host_passes(), name);
    is_bounded = is_bounded || of_gpu != nullptr;
    some.push_back(of_gpu != nullptr ? of_gpu : of_host != nullptr ? of_host : &pass_named(name));
  }
  if (is_bounded && target.is_gpu()) gpu::require_within_bounds(function, target, true);
  return run_passes(some, function, target);
}

}  // namespace tilewright::dsl
