// How a kernel written by hand is tuned: its space of choices, its grid, and what counts as the
// same question. Apart from TunedKernel (kernel_tuner.h), since the search (kernel_search.h) reads
// it too.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// The names of a kernel's numbers, in the order in which its calls hold them: of the parameters,
// then of other knobs, then of other heuristics.
struct KernelCall::Names {
  std::vector<std::string> all;
  std::vector<std::size_t> of_knobs, of_heuristics, of_launch_knobs;

  Names(const dsl::Kernel& kernel, const KernelTuning& tuning);
  std::size_t place(const std::string& name);  // added where it is not there
};

// "a, b, c"
std::string listed(const std::vector<std::string>& names);

}  // namespace tilewright::autotune
