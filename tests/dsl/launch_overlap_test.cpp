// Where a kernel waits for the one that was launched before it.
#include <gtest/gtest.h>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/passes/pipeline.h"

namespace tilewright::dsl::launch_overlap_test {
namespace {

// Work that a kernel does before it touches global memory overlaps the end of the previous kernel.
TEST(LaunchOverlap, WaitsForTheLaunchBeforeNoEarlierThanItMust) {
  Tracer tracer("late");
  Tile out = tracer.pointer_param("out", f32), n = tracer.scalar_param("n", i64);
  Tile start = tracer.scalar_param("start", f32);
  Var sum = start;
  for (Tile i : range(0, n)) sum = sum * 1.5 + cast(i, f32);
  store(out, sum);
  ir::Function function = tracer.finish();
  run_passes(function, {.target = target_named("sm_90a")});
  std::string text = gpu::gpu_llvm_text(function, target_named("sm_90a"));
  std::size_t wait = text.find("call void @td.griddepcontrol_wait"), loop = text.find(" = phi ");
  ASSERT_NE(wait, text.npos) << text;
  ASSERT_NE(loop, text.npos) << text;
  EXPECT_GT(wait, loop) << text;
  EXPECT_EQ(text.substr(wait, text.find("}", wait) - wait).find(" = phi "), text.npos) << text;
}

}  // namespace
}  // namespace tilewright::dsl::launch_overlap_test
