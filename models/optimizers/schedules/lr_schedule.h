// Schedules: how the learning rate changes from step to step, and for some the momentum with it.
//
//   using namespace schedules;
//   LrSchedule schedule = sequential({linear({.start_factor = 0.01, .total_iters = 100}),
//                                     cosine_annealing({.t_max = 1900, .eta_min = 1e-4})}, {100});
//
// They have the names, options and numbers of torch.optim.lr_scheduler. A schedule is a function of
// tensors, the number of the step among them, and is computed in f64 where that lies; LrScheduler
// (lr_scheduler.h) applies one to an optimizer. A schedule of your own is a function too: `lambda`,
// or an LrSchedule.
//
// Options are read once, and are constants of the compiled step. Misuse raises `Error`. For the
// rate that follows a metric, ReduceLROnPlateau, see plateau.h.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// The rates that a schedule sets, f64 without axes.
struct ScheduledRates {
  Tensor lr;
  Tensor momentum;  // or the first beta; undefined: it stays
};

// The step and the group that a schedule gives rates for.
struct ScheduleStep {
  Tensor step;         // f64 without axes; counts from 0
  std::size_t group;   // of the optimizer
  Tensor initial_lr;   // of the group when the scheduler was made
  ScheduledRates now;  // the rates before this step
  bool is_first;       // step 0, when the scheduler is made
};

struct LrSchedule {
  using Function = std::function<ScheduledRates(const ScheduleStep&)>;
  std::string name;
  Function rates;
  // The same in a chain of schedules, where it changes the rate that those before it have set;
  // empty: it overrides that.
  Function chained = {};
};

// A number for each group, or one for all: `.max_lr = 0.1`, `.max_lr = {0.1, 0.01}`.
class PerGroup {
 public:
  PerGroup(double number) : numbers_{number} {}
  PerGroup(std::initializer_list<double> numbers) : numbers_(numbers) {}
  PerGroup(std::vector<double> numbers) : numbers_(std::move(numbers)) {}
  // Raises `Error` where there are numbers for other groups only.
  double at(std::size_t group, std::string_view schedule) const;
  const std::vector<double>& numbers() const { return numbers_; }

 private:
  std::vector<double> numbers_;
};

namespace schedules {

// The rates are the initial ones times a factor of the step.

// `gamma` for every `step_size` steps.
struct StepOptions {
  std::int64_t step_size;
  double gamma = 0.1;
};
LrSchedule step(const StepOptions& options,
                std::source_location w = std::source_location::current());
// `gamma` for each milestone that was passed.
struct MultiStepOptions {
  std::vector<std::int64_t> milestones;
  double gamma = 0.1;
};
LrSchedule multi_step(const MultiStepOptions& options,
                      std::source_location w = std::source_location::current());
// `factor` for the first steps.
struct ConstantOptions {
  double factor = 1.0 / 3;
  std::int64_t total_iters = 5;
};
LrSchedule constant(const ConstantOptions& options,
                    std::source_location w = std::source_location::current());
// From one factor to the other in so many steps.
struct LinearOptions {
  double start_factor = 1.0 / 3, end_factor = 1;
  std::int64_t total_iters = 5;
};
LrSchedule linear(const LinearOptions& options,
                  std::source_location w = std::source_location::current());
// gamma^step.
LrSchedule exponential(double gamma, std::source_location w = std::source_location::current());
// (1 - step / total_iters)^power.
struct PolynomialOptions {
  std::int64_t total_iters = 5;
  double power = 1;
};
LrSchedule polynomial(const PolynomialOptions& options,
                      std::source_location w = std::source_location::current());
// Half a cosine from the initial rate to `eta_min` in `t_max` steps, and back, and so on.
struct CosineAnnealingOptions {
  std::int64_t t_max;
  double eta_min = 0;
};
LrSchedule cosine_annealing(const CosineAnnealingOptions& options,
                            std::source_location w = std::source_location::current());
// Half a cosine in `t_0` steps, the next in `t_mult` times as many, each from the initial rate.
struct WarmRestartsOptions {
  std::int64_t t_0, t_mult = 1;
  double eta_min = 0;
};
LrSchedule cosine_annealing_warm_restarts(const WarmRestartsOptions& options,
                                          std::source_location w = std::source_location::current());

// A factor that a function of the step (f64, without axes) gives; PyTorch's LambdaLR.
using StepFunction = std::function<Tensor(const Tensor& step)>;
LrSchedule lambda(StepFunction factor);
// The rate times such a factor, step after step; MultiplicativeLR.
LrSchedule multiplicative(StepFunction factor);

// Triangles between two rates. Momentum, where the optimizer has it, moves against the rate.
enum class CyclicMode : std::uint8_t {
  triangular,
  triangular2,  // each half as high as the one before
  exp_range     // times gamma^step
};
struct CyclicOptions {
  PerGroup base_lr, max_lr;
  std::int64_t step_size_up = 2000;
  std::optional<std::int64_t> step_size_down = {};  // absent: as many as up
  CyclicMode mode = CyclicMode::triangular;
  double gamma = 1;
  bool cycle_momentum = true;
  PerGroup base_momentum = 0.8, max_momentum = 0.9;
};
LrSchedule cyclic(const CyclicOptions& options,
                  std::source_location w = std::source_location::current());

// Up to `max_lr` from a `div_factor` of it, and down to a `final_div_factor` of where it began, in
// `total_steps`; momentum against it. The last rate stays, where PyTorch raises.
enum class Annealing : std::uint8_t { cos, linear };
struct OneCycleOptions {
  PerGroup max_lr;
  std::int64_t total_steps;
  double pct_start = 0.3;
  Annealing anneal_strategy = Annealing::cos;
  bool cycle_momentum = true;
  PerGroup base_momentum = 0.85, max_momentum = 0.95;
  double div_factor = 25, final_div_factor = 1e4;
  bool three_phase = false;
};
LrSchedule one_cycle(const OneCycleOptions& options,
                     std::source_location w = std::source_location::current());

// One schedule after the other: the next begins, with its step 0, at each milestone.
LrSchedule sequential(std::vector<LrSchedule> parts, std::vector<std::int64_t> milestones,
                      std::source_location w = std::source_location::current());
// All at once: each changes the rate that those before it have set.
LrSchedule chained(std::vector<LrSchedule> parts,
                   std::source_location w = std::source_location::current());
// A linear rise in so many steps, then the schedule.
LrSchedule warm_up(std::int64_t steps, LrSchedule then, double start_factor = 1.0 / 3,
                   std::source_location w = std::source_location::current());

}  // namespace schedules

}  // namespace tilewright
