// Kernels written by hand whose Constexprs the clock chooses.
//
//   TunedKernel product(matmul, {
//       .space = Space().choose("rows", {16, 32, 64}).choose("columns", {64, 128, 256}),
//       .grid = [](const KernelCall& call) {
//         return Grid{call["n"] / call["columns"], call["m"] / call["rows"]};
//       },
//       .key = {"m", "n", "k"},
//   });
//   product.launch(a, b, c, m, n, k);  // without the Constexprs
//
// The first launch of a question (types of the arguments, values of the scalars in `key`) times the
// configurations and stores the results in the tuning database; every later launch, of any process,
// uses the best at once: a launch that this process has answered before costs half a microsecond
// more than one of the kernel (`tilewright bench launch`). Configurations that the space gains
// later are measured alone, beside the default, which is always the first value of each knob or
// `preferred`.
//
// Tuning runs the kernel on the caller's memory. Memory whose size is known (vectors, arguments
// with a number of elements) is as it was before each run and afterwards, so that kernels that add
// to what is there are safe; of memory whose size is not known `is_idempotent` must say that
// running again does no harm. On the host each configuration first runs in a child process: one
// that crashes, hangs, leaves the process, takes memory without end or computes something else than
// the default is noted as such and never runs here. On a GPU they are checked in this process,
// since a child cannot use its parent's driver, and timed inside CUDA graphs by the GPU's clock,
// unless there are hooks to run around each launch.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "autotune/database/tuning_database.h"
#include "autotune/kernel_tuning.h"

namespace tilewright::autotune {

// A launch by names: integer scalars of the kernel, knobs, and Constexprs found by heuristics.
class TunedKernel {
 public:
  // Raises `Error` for knobs, keys or defaults that do not fit the kernel. Without a database the
  // shared one of the process is used.
  TunedKernel(dsl::Kernel kernel, KernelTuning tuning,
              std::shared_ptr<TuningDatabase> database = nullptr);

  // Arguments for the Pointers and Scalars in their order.
  template <typename... T>
  void launch(T&&... arguments) const {
    constexpr bool fit = (std::convertible_to<T, dsl::LaunchArgument> && ...);
    static_assert(fit,
                  "a kernel's arguments are numbers, Tensors, and pointers, std::vector, "
                  "std::array and std::span of elements (float, double, std::int32_t, ...)");
    if constexpr (fit)
      launch_with(std::array<dsl::LaunchArgument, sizeof...(T)>{std::forward<T>(arguments)...});
  }
  void launch_with(std::span<const dsl::LaunchArgument> arguments) const;
  // The configuration of a launch with such arguments, tuning first if need be: "rows=32
  // columns=64".
  std::string configuration_for(const std::vector<dsl::LaunchArgument>& arguments) const;

 private:
  struct State;
  class Search;
  using Arguments = std::span<const dsl::LaunchArgument>;
  using Question = std::pair<std::vector<std::int64_t>, std::string>;
  Point point_for(Arguments arguments) const;
  Point found_point(Arguments arguments, bool may_search) const;
  KernelCall call_of(Arguments arguments, const Point& point,
                     std::vector<bool>* read = nullptr) const;
  std::vector<dsl::LaunchArgument> complete(Arguments arguments, const KernelCall& call) const;
  dsl::Knobs knobs_of(const KernelCall& call) const;
  Question question_of(Arguments arguments) const;
  TuningKey key_of(Arguments arguments) const;
  void require_used_knobs(Arguments arguments) const;
  std::shared_ptr<State> state_;
};

}  // namespace tilewright::autotune
