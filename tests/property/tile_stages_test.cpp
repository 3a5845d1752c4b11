// Random programs go through all stages of a back end: each has a text that reads back, and the
// interpreter sees no difference.
#include <gtest/gtest.h>

#include "dsl/codegen/gpu/passes/gpu_pipeline.h"
#include "dsl/codegen/host/passes/host_pipeline.h"
#include "dsl/codegen/named_passes.h"
#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"
#include "tests/property/random_tile.h"
#include "tests/property/seeds.h"

namespace tilewright::tile_stages_test {
namespace {

std::string check_stages(std::uint64_t seed, std::span<const dsl::Pass> passes,
                         const dsl::Target& target) {
  RandomProgram program = random_tile_program(seed);
  try {
    auto before = arguments_after(program, program.function, interpreted);
    ir::Function function = program.function;
    for (const dsl::Pass& pass : passes) {
      const std::string name(pass.name);
      dsl::run_named_passes(function, std::span(&name, 1), target);
      std::string text = ir::print(function);
      ir::Function read = ir::parse(text);
      if (ir::print(read) != text) return concat("after ", name, " reads back otherwise:\n", text);
      if (ir::content_hash(read) != ir::content_hash(function))
        return concat("after ", name, " reads back as another program:\n", text);
      function = std::move(read);
    }
    auto after = arguments_after(program, function, interpreted);
    return difference(program, {before, std::vector<std::vector<double>>(before.size())}, after);
  } catch (const std::exception& error) {
    return concat(error.what(), "\n", ir::print(program.function));
  }
}

TEST(GpuStages, KeepRandomProgramsAndHaveATextThatReadsBack) {
  for (std::uint64_t seed : seeds_of_test(1000))
    ASSERT_EQ(check_stages(seed, dsl::gpu::gpu_passes(),
                           dsl::target_named(seed % 2 == 0 ? "sm_80" : "sm_90a")),
              "")
        << reproduction(seed);
}

TEST(HostStages, KeepRandomProgramsAndHaveATextThatReadsBack) {
  for (std::uint64_t seed : seeds_of_test(1000))
    ASSERT_EQ(check_stages(seed, dsl::host::host_passes(),
                           dsl::target_named(seed % 2 == 0 ? "avx2" : "amx")),
              "")
        << reproduction(seed);
}

}  // namespace
}  // namespace tilewright::tile_stages_test
