// Compares code for hosts, or for the device under test, with the interpreter.
#pragma once

#include "dsl/codegen/host/codegen.h"
#include "dsl/codegen/host/plan/make_schedule.h"
#include "dsl/interpret/interpret.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "dsl/launch/staged.h"
#include "tests/amx_emulator.h"
#include "tests/dsl/arrays.h"

namespace tilewright::dsl {

// The targets under test: host code for all instruction sets that this host has, or the device that
// TILEWRIGHT_DEVICE names.
inline std::vector<Target> tested_targets() {
  if (default_device().is_emulated()) return {default_device().target()};
  std::vector<Target> targets;
  std::vector<std::string_view> names = host_names();
  if (names.front() != "amx" && can_run_amx()) targets.push_back(target_named("amx"));
  for (std::string_view name : names) {
    Target target = target_named(std::string(name));
    targets.push_back(target);
    // As on a processor of another kind.
    if (name != names.front()) continue;
    target.has_fast_pairs = target.has_dots && !target.has_fast_pairs;
    target.reads_ahead = !target.reads_ahead;
    targets.push_back(target);
  }
  return targets;
}

// Host code of the program as it is written: no pass runs before, for code must not need one. GPU
// code comes after the passes, which leave it the functions that a GPU has.
inline std::shared_ptr<const Artifact> compiled(const ir::Function& function,
                                                const Target& target) {
  return target.is_gpu() ? compile(function, target) : generate_host_code(function, target);
}

// All programs of the grid, in turn.
inline void run_all(const Artifact& artifact, const Grid& grid,
                    const std::vector<Argument>& arguments) {
  std::vector<char> scratch(static_cast<std::size_t>(artifact.scratch_bytes) + 64);
  auto aligned =
      reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
  artifact.run(arguments.data(), grid.size, 0, grid.count(), aligned);
}

inline void expect_near(const std::vector<Array>& actual, const std::vector<Array>& expected,
                        float tolerance, const std::string& about) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t j = 0; j < expected[i].size(); ++j)
      ASSERT_NEAR(actual[i][j], expected[i][j], tolerance)
          << "array " << i << ", element " << j << ", " << about;
}

// Runs the program by the interpreter and as code for every target under test, on the same
// arguments, and expects all arrays to agree within `tolerance`.
inline void expect_same(const ir::Function& function, std::vector<Array> arrays, Grid grid,
                        float tolerance = 1e-5F) {
  auto run = [&](auto&& how) { return arrays_after(arrays, how); };
  auto expected = run([&](std::vector<Argument>& a) { ir::interpret(function, grid, a); });
  if (Device gpu = default_device(); gpu.is_cuda()) {
    auto artifact = compile(function, gpu);
    auto actual = run([&](std::vector<Argument>& a) {
      std::vector<ir::Memory> memories;
      for (std::size_t i = 0; i < a.size(); ++i)
        memories.push_back({a[i].pointer, static_cast<std::int64_t>(arrays[i].size() * 4)});
      launch_staged(gpu, *artifact, grid, a, memories);
    });
    return expect_near(actual, expected, tolerance, gpu.text());
  }
  for (const Target& target : tested_targets()) {
    auto artifact = compiled(function, target);
    auto actual = run([&](std::vector<Argument>& a) { run_all(*artifact, grid, a); });
    expect_near(actual, expected, tolerance, target.features);
    if (testing::Test::HasFatalFailure())
      FAIL() << to_string(make_schedule(Definitions(function)), function);
  }
}

}  // namespace tilewright::dsl
