#include "dsl/codegen/gpu/passes/gpu_pipeline.h"

#include <algorithm>
#include <array>

#include "dsl/codegen/gpu/passes/gpu_passes.h"
#include "dsl/codegen/gpu/plan/program_bounds.h"

namespace tilewright::dsl::gpu {
namespace {

constexpr bool required = true, optional = false;

constexpr std::array table = {
#define TILEWRIGHT_GPU_PASS(name, from, to, need, what) \
  Pass{#name, name, ir::Stage::from, ir::Stage::to, need, what},
#include "dsl/passes/passes.def"
};

}  // namespace

std::span<const Pass> gpu_passes() { return table; }

std::vector<PassTime> schedule(ir::Function& function, PipelineOptions options) {
  options.for_code = true;
  return run_passes(table, function, options);
}

std::vector<PassTime> run_named_passes(ir::Function& function, std::span<const std::string> names,
                                       const Target& target) {
  std::vector<const Pass*> some;
  bool is_bounded = false;
  for (const std::string& name : names) {
    auto own = std::ranges::find(table, name, &Pass::name);
    is_bounded = is_bounded || own != table.end();
    some.push_back(own != table.end() ? &*own : &pass_named(name));
  }
  if (is_bounded && target.is_gpu()) require_within_bounds(function, target, true);
  return run_passes(some, function, target);
}

}  // namespace tilewright::dsl::gpu
