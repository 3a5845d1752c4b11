// Host code equals the interpreter on random tile programs, for each instruction set of this host,
// and quick code has the bits of full code.
//
// The programs are cut into parts, so that test runners spread them over processors; 3,200 in all.
#include <gtest/gtest.h>

#include "dsl/codegen/host/codegen.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tests/property/random_tile.h"
#include "tests/property/seeds.h"

namespace tilewright::tile_codegen_test {
namespace {

constexpr std::uint64_t parts = 32, programs = 3200;

// Which instruction set a seed is compiled for: mostly the best, and each lesser one now and then.
dsl::Target target_of(std::uint64_t seed) {
  const char* name = seed % 5 == 3 ? "avx2" : seed % 5 == 4 ? "sse" : nullptr;
  if (name == nullptr || dsl::target_named(name).lanes > dsl::host_target().lanes)
    return dsl::host_target();
  return dsl::target_named(name);
}

void run_host_code(const Artifact& artifact, const Grid& grid,
                   std::span<const Argument> arguments) {
  std::vector<char> scratch(static_cast<std::size_t>(artifact.scratch_bytes) + 64);
  auto address = (reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64;
  // In two ranges, as two workers would have it.
  std::int64_t half = grid.count() / 2;
  auto* aligned = reinterpret_cast<void*>(address);
  artifact.host.load()(arguments.data(), grid.size, 0, half, aligned);
  artifact.host.load()(arguments.data(), grid.size, half, grid.count(), aligned);
}

std::vector<HostArray> computed_by(const Artifact& artifact, const RandomProgram& program,
                                   const ir::Function& function) {
  return arguments_after(
      program, function,
      [&](const ir::Function&, const Grid& grid, std::span<const Argument> arguments,
          std::span<const ir::Memory>) { run_host_code(artifact, grid, arguments); });
}

std::string check_program(std::uint64_t seed) {
  RandomProgram program = random_tile_program(seed);
  try {
    ir::Function function = program.function;
    dsl::run_passes(function);
    const dsl::Target target = target_of(seed);
    const auto actual = computed_by(*dsl::generate_host_code(function, target), program, function);
    const std::string wrong = difference(program, expected_arguments(program), actual);
    if (!wrong.empty() || seed % 4 != 0 || !dsl::has_quick_code(function, target)) return wrong;
    const auto quick = dsl::load_host_object(
        function, dsl::generate_host_object(function, target, dsl::CodeTier::quick));
    const ExpectedArguments exactly{actual, std::vector<std::vector<double>>(actual.size())};
    return difference(program, exactly, computed_by(*quick, program, function));
  } catch (const std::exception& error) {
    return concat(error.what(), "\n", ir::print(program.function));
  }
}

class TileCodegen : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Parts, TileCodegen, testing::Range<std::uint64_t>(0, parts));

TEST_P(TileCodegen, HostCodeEqualsTheInterpreterOnRandomPrograms) {
  for (std::uint64_t seed : seeds_of_test(programs))
    if (seed % parts == GetParam()) {
      ASSERT_EQ(check_program(seed), "") << reproduction(seed);
    }
}

}  // namespace
}  // namespace tilewright::tile_codegen_test
