#include "dsl/codegen/gpu/passes/gpu_pipeline.h"

#include <array>

#include "dsl/codegen/gpu/passes/gpu_passes.h"

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

}  // namespace tilewright::dsl::gpu
