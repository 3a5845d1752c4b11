// Programs that run on one device or another with the same arguments, for tests of clusters.
#pragma once

#include <vector>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/interpret/interpret.h"
#include "dsl/passes/pipeline.h"
#include "tests/dsl/arrays.h"

namespace tilewright::dsl::testing_clusters {

inline std::vector<Array> emulated(ir::Function function, const Grid& grid,
                                   const std::vector<Array>& arrays,
                                   std::vector<Argument> more = {}) {
  run_passes(function, {.target = target_named("sm_90a")});
  auto artifact = gpu::generate_emulated(function, target_named("sm_90a"));
  return arrays_after(arrays, [&](std::vector<Argument>& a) {
    a.insert(a.end(), more.begin(), more.end());
    artifact->run(a.data(), grid.size, 0, grid.count(), nullptr);
  });
}
inline std::vector<Array> interpreted(const ir::Function& function, const Grid& grid,
                                      const std::vector<Array>& arrays,
                                      std::vector<Argument> more = {}) {
  return arrays_after(arrays, [&](std::vector<Argument>& a) {
    a.insert(a.end(), more.begin(), more.end());
    ir::interpret(function, grid, a);
  });
}

}  // namespace tilewright::dsl::testing_clusters
