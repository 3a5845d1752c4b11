#include "dsl/codegen/host/passes/host_pipeline.h"

#include <array>

#include "dsl/codegen/host/passes/host_passes.h"

namespace tilewright::dsl::host {
namespace {

constexpr bool required = true, optional = false;

constexpr std::array table = {
#define TILEWRIGHT_HOST_PASS(name, from, to, need, what) \
  Pass{#name, name, ir::Stage::from, ir::Stage::to, need, what},
#include "dsl/passes/passes.def"
};

}  // namespace

std::span<const Pass> host_passes() { return table; }

std::vector<PassTime> schedule(ir::Function& function, PipelineOptions options) {
  options.for_code = true;
  return run_passes(table, function, options);
}

}  // namespace tilewright::dsl::host
