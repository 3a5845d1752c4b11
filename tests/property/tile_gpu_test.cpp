// GPU code, run thread by thread in the emulator or on a GPU, equals the interpreter on random tile
// programs.
#include <gtest/gtest.h>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/gpu/passes/gpu_pipeline.h"
#include "dsl/ir/text/text.h"
#include "dsl/launch/compile.h"
#include "dsl/passes/pipeline.h"
#include "dsl/target/device.h"
#include "runtime/base/error.h"
#include "tests/property/random_tile.h"
#include "tests/property/seeds.h"
#include "tests/staged.h"

namespace tilewright {
namespace {

constexpr std::uint64_t parts = 32, programs = 3200;

std::string check_on_gpu(const RandomProgram& program, const Device& device) {
  try {
    auto artifact = dsl::compile(program.function, device);
    auto actual = arguments_after(
        program, program.function,
        [&](const ir::Function&, const Grid& grid, std::span<const Argument> arguments,
            std::span<const ir::Memory> memories) {
          launch_staged(device, *artifact, grid, arguments, memories);
        });
    return difference(program, expected_arguments(program), actual);
  } catch (const std::exception& error) {
    return concat(error.what(), "\n", ir::print(program.function));
  }
}

std::string check_program(std::uint64_t seed) {
  RandomProgram program = random_tile_program(seed);
  Device device = default_device();
  if (device.is_cuda()) return check_on_gpu(program, device);
  if (!device.is_emulated()) device = Device::emulated(seed % 2 == 0 ? "sm_80" : "sm_90a");
  const dsl::Target target = device.target();
  try {
    ir::Function function = program.function;
    dsl::run_passes(function, {.target = dsl::target_named("sm_90a")});
    auto artifact = dsl::gpu::generate_emulated(function, target);
    auto actual =
        arguments_after(program, function,
                        [&](const ir::Function&, const Grid& grid,
                            std::span<const Argument> arguments, std::span<const ir::Memory>) {
                          artifact->run(arguments.data(), grid.size, 0, grid.count(), nullptr);
                        });
    return difference(program, expected_arguments(program), actual);
  } catch (const std::exception& error) {
    return concat(error.what(), "\n", ir::print(program.function));
  }
}

// Each stage has a text that reads back, and the interpreter sees no difference.
std::string check_stages(std::uint64_t seed) {
  RandomProgram program = random_tile_program(seed);
  const dsl::Target target = dsl::target_named(seed % 2 == 0 ? "sm_80" : "sm_90a");
  try {
    auto before = arguments_after(program, program.function, ir::interpret);
    ir::Function function = program.function;
    for (const dsl::Pass& pass : dsl::gpu::gpu_passes()) {
      const std::string name(pass.name);
      dsl::gpu::run_named_passes(function, std::span(&name, 1), target);
      std::string text = ir::print(function);
      ir::Function read = ir::parse(text);
      if (ir::print(read) != text) return concat("after ", name, " reads back otherwise:\n", text);
      if (ir::content_hash(read) != ir::content_hash(function))
        return concat("after ", name, " reads back as another program:\n", text);
      function = std::move(read);
    }
    auto after = arguments_after(program, function, ir::interpret);
    return difference(program, {before, std::vector<std::vector<double>>(before.size())}, after);
  } catch (const std::exception& error) {
    return concat(error.what(), "\n", ir::print(program.function));
  }
}

TEST(GpuStages, KeepRandomProgramsAndHaveATextThatReadsBack) {
  for (std::uint64_t seed : seeds_of_test(1000))
    ASSERT_EQ(check_stages(seed), "") << reproduction(seed);
}

class TileGpu : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Parts, TileGpu, testing::Range<std::uint64_t>(0, parts));

TEST_P(TileGpu, EmulatedCodeEqualsTheInterpreterOnRandomPrograms) {
  for (std::uint64_t seed : seeds_of_test(programs))
    if (seed % parts == GetParam()) {
      ASSERT_EQ(check_program(seed), "") << reproduction(seed);
    }
}

}  // namespace
}  // namespace tilewright
