// GPU code, run thread by thread in the emulator or on a GPU, equals the interpreter on random tile
// programs.
#include <gtest/gtest.h>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/ir/text/text.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "dsl/launch/staged.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tests/property/random_tile.h"
#include "tests/property/seeds.h"

namespace tilewright::tile_gpu_test {
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

class TileGpu : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Parts, TileGpu, testing::Range<std::uint64_t>(0, parts));

TEST_P(TileGpu, EmulatedCodeEqualsTheInterpreterOnRandomPrograms) {
  for (std::uint64_t seed : seeds_of_test(programs))
    if (seed % parts == GetParam()) {
      ASSERT_EQ(check_program(seed), "") << reproduction(seed);
    }
}

}  // namespace
}  // namespace tilewright::tile_gpu_test
