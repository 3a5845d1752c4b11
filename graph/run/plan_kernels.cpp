#include "graph/run/plan_kernels.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "dsl/interpret/interpret.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/find_compiled.h"
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

// True if the code of all functions exists: then no thread is needed beside this one.
bool find_kernels(std::span<const ProgramFunction> functions, std::span<const ProgramUse> uses,
                  const Device& device, dsl::CodeTier tier,
                  std::vector<ExecutableKernel>& kernels) {
  const dsl::Target target = device.target();
  if (target.is_gpu()) return false;
  std::vector<ExecutableKernel> found(functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    found[i].name = functions[i]->name;
    found[i].call = uses[i].call;
    if (found[i].call) continue;
    std::shared_ptr<const Artifact> code = dsl::find_compiled(uses[i].content, target, tier);
    if (!code) return false;
    if (uses[i].batch > 1) found[i].batched = code;
    found[i].single = std::move(code);
  }
  kernels = std::move(found);
  return true;
}

}  // namespace

std::vector<ExecutableKernel> compile_kernels(std::span<const ProgramFunction> functions,
                                              std::span<ProgramUse> uses, const Device& device,
                                              FirstCode first_code) {
  std::vector<ExecutableKernel> kernels(functions.size());
  const dsl::CodeTier tier = first_tier(first_code, uses);
  std::atomic<std::size_t> next = 0;
  auto work = [&] {
    for (std::size_t i; (i = next++) < functions.size();) {
      kernels[i].name = functions[i]->name;
      kernels[i].call = uses[i].call;
      if (!kernels[i].call) compile_kernel(*functions[i], uses[i], device, tier, kernels[i]);
    }
  };
  if (find_kernels(functions, uses, device, tier, kernels)) return kernels;
  run_beside(functions.size(), work);
  dsl::begin_full_code();
  return kernels;
}

std::vector<ExecutableKernel> interpreted_kernels(std::span<const ProgramFunction> functions,
                                                  std::span<const ProgramUse> uses,
                                                  std::optional<std::uint64_t> seed) {
  std::vector<ExecutableKernel> kernels;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const ProgramFunction& function = functions[i];
    if (uses[i].call) {
      kernels.push_back({.name = function->name, .call = uses[i].call});
      continue;
    }
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
