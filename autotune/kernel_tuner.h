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
// configurations and keeps what it found in the tuning database; every later launch, of any
// process, uses the best at once: a launch that this process has answered before costs half a
// microsecond more than one of the kernel (`tilewright bench launch`). Configurations that the
// space gains later are measured alone, beside the default, which is always the first value of each
// knob or `preferred`.
//
// Tuning runs the kernel on the caller's memory. Memory whose size is known (vectors, arguments
// with a number of elements) is as it was before each run and afterwards, so that kernels that add
// to what is there are safe; of memory whose size is not known `is_idempotent` must say that
// running again does no harm. On the host each configuration first runs in a child process: what
// crashes, hangs, leaves the process, takes memory without end or computes something else than the
// default is noted as such and never runs here.
// On a GPU they are checked in this process, since a child cannot use its parent's driver, and
// timed inside CUDA graphs by the GPU's clock, unless there are hooks to run around each launch.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "autotune/database/tuning_database.h"
#include "autotune/measure/child.h"
#include "autotune/search/search.h"
#include "dsl/language/kernel.h"

namespace tilewright::autotune {

// A launch by names: integer scalars of the kernel, knobs, and Constexprs found by heuristics.
class KernelCall {
 public:
  // Raises `Error` naming what there is.
  std::int64_t operator[](std::string_view name) const;

 private:
  friend class TunedKernel;
  struct Names;
  std::shared_ptr<const Names> names_;
  std::vector<std::optional<std::int64_t>> numbers_;  // by name
  std::vector<bool>* read_ = nullptr;                 // by name: which were asked for
};

struct KernelTuning {
  // Knobs have the names of the kernel's Constexprs, so the kernel must name its parameters; or
  // those of a launch on a GPU: num_warps, num_stages, ... (dsl::Knobs). A knob of
  // another name is for `grid`, `heuristics`, `keeps`, `estimate` or the hooks; the first launch
  // raises `Error` where none of them asks for it.
  Space space;
  std::function<Grid(const KernelCall&)> grid;
  std::vector<std::string> key = {};  // integer scalars whose values ask a new question
  // Constexprs that are computed from a call instead of being chosen.
  std::map<std::string, std::function<std::int64_t(const KernelCall&)>> heuristics = {};
  std::string preferred = {};  // the default, as "rows=32 columns=64"
  // Which points of the space fit a call; the default must.
  std::function<bool(const KernelCall&)> keeps = {};
  std::function<double(const KernelCall&)> estimate = {};  // seconds, in any unit
  // Parameters whose memory, of known size, is zeroed before each timed run.
  std::vector<std::string> reset_to_zero = {};
  bool is_idempotent = false;
  // Before and after each run that tuning makes, with its configuration.
  std::function<void(const KernelCall&)> pre_hook = {}, post_hook = {};
  std::string strategy = "model_guided";
  Budget budget = {64, 10.0};
  ChildLimits limits = {};  // of a first run; what takes much longer than the default ends before
  double tolerance = 1e-4;  // of results, by the largest element of the default's
  // Told of each configuration that was measured; infinite seconds and a reason where it failed.
  std::function<void(const std::string& configuration, double seconds, const std::string& reason)>
      listener = {};
};

// A regular value; copies share what was chosen. Thread safe.
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
  // What a launch with such arguments uses, tuning first if need be: "rows=32 columns=64".
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
