#include "graph/run/plan_kernels.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "dsl/interpret/interpret.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/full_code.h"
#include "runtime/cpu/beside.h"

namespace tilewright::graph {
namespace {

using Clock = std::chrono::steady_clock;

// Fewer kernels are compiled before anybody waits.
constexpr std::ptrdiff_t least_for_quick_code = 8;

dsl::CodeTier first_tier(FirstCode first_code, std::span<ProgramUse> uses) {
  const auto compiled =
      std::ranges::count_if(uses, [](const ProgramUse& use) { return !use.call; });
  const bool is_quick = first_code == FirstCode::quick ||
                        (first_code == FirstCode::automatic && compiled >= least_for_quick_code);
  return is_quick ? dsl::CodeTier::quick : dsl::CodeTier::full;
}

// On the host code for one grid and for several is the same.
void compile_kernel(const ir::Function& function, ProgramUse& use, const Device& device,
                    dsl::CodeTier tier, ExecutableKernel& kernel) {
  const bool is_gpu = device.target().is_gpu();
  Clock::time_point begin = Clock::now();
  bool is_batched = use.batch > 1;
  if (is_batched)
    kernel.batched = dsl::compile(function, device, static_cast<std::size_t>(use.batch), tier);
  if (!is_gpu && is_batched)
    kernel.single = kernel.batched;
  else if (!is_batched || use.runs_alone)
    kernel.single = dsl::compile(function, device, 0, tier);
  use.compile_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

std::vector<ExecutableKernel> compile_kernels(std::span<const ir::Function> functions,
                                              std::span<ProgramUse> uses, const Device& device,
                                              FirstCode first_code) {
  std::vector<ExecutableKernel> kernels(functions.size());
  const dsl::CodeTier tier = first_tier(first_code, uses);
  std::atomic<std::size_t> next = 0;
  auto work = [&] {
    for (std::size_t i; (i = next++) < functions.size();) {
      kernels[i].name = functions[i].name;
      kernels[i].call = uses[i].call;
      if (!kernels[i].call) compile_kernel(functions[i], uses[i], device, tier, kernels[i]);
    }
  };
  run_beside(functions.size(), work);
  dsl::begin_full_code();
  return kernels;
}

std::vector<ExecutableKernel> interpreted_kernels(std::span<const ir::Function> functions,
                                                  std::span<const ProgramUse> uses,
                                                  std::optional<std::uint64_t> seed) {
  std::vector<ExecutableKernel> kernels;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const ir::Function& from = functions[i];
    if (uses[i].call) {
      kernels.push_back({.name = from.name, .call = uses[i].call});
      continue;
    }
    auto function = std::make_shared<const ir::Function>(from);
    auto call = [function, seed](const Grid& grid, const Argument* arguments) {
      std::span<const Argument> all{arguments, function->params.size()};
      if (seed)
        ir::interpret_shuffled(*function, grid, all, *seed);
      else
        ir::interpret(*function, grid, all);
    };
    kernels.push_back({.name = function->name, .call = call});
  }
  return kernels;
}

}  // namespace tilewright::graph
