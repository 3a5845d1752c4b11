// Schedules whose rate is the initial one times a factor of the step, above a least rate.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/functions/pointwise/elementary.h"
#include "models/optimizers/schedules/lr_schedule.h"
#include "models/optimizers/schedules/numbers.h"
#include "runtime/base/error.h"

namespace tilewright {

double PerGroup::at(std::size_t group, std::string_view schedule) const {
  if (numbers_.size() == 1) return numbers_.front();
  require(group < numbers_.size(), "[", schedule, "] there are ", numbers_.size(),
          " numbers for group ", group, "; give one for each group, or one for all");
  return numbers_[group];
}

namespace schedules {
namespace {

constexpr double pi = std::numbers::pi;

// In a chain a rate goes on from the one that is there: by the quotient of two factors, or from
// the least rate, where the factor was 0.
LrSchedule by_factor(std::string name, StepFunction factor, double least = 0) {
  LrSchedule schedule{std::move(name), {}};
  schedule.rates = [=](const ScheduleStep& at) -> ScheduledRates {
    return {least + (at.initial_lr - least) * factor(at.step), at.now.momentum};
  };
  schedule.chained = [=](const ScheduleStep& at) -> ScheduledRates {
    const Tensor now = factor(at.step), before = factor(at.step - 1.0);
    const Tensor first = least + (at.now.lr - least) * now;
    const Tensor next = where(before < 1e-15, at.now.lr + (at.initial_lr - least) * now,
                              least + (at.now.lr - least) * (now / before));
    return {where(at.step == 0.0, first, next), at.now.momentum};
  };
  return schedule;
}

void require_steps(const char* schedule, const char* option, std::int64_t steps,
                   std::source_location w) {
  require(steps > 0, "[", schedule, "] ", option, " is ", steps, " (at ", describe(w),
          "); it must be above 0");
}

Tensor half_cosine(const Tensor& share) { return (1 + cos(pi * share)) / 2; }

}  // namespace

LrSchedule step(const StepOptions& options, std::source_location w) {
  require_steps("step", "step_size", options.step_size, w);
  detail::require_number("step", "gamma", options.gamma, w);
  const auto size = static_cast<double>(options.step_size);
  return by_factor("step", [gamma = options.gamma, size](const Tensor& t) {
    return pow(gamma, floor(t / size));
  });
}

LrSchedule multi_step(const MultiStepOptions& options, std::source_location w) {
  require(std::ranges::all_of(options.milestones, [](std::int64_t m) { return m >= 0; }),
          "[multi_step] a milestone is negative (at ", describe(w), "); steps count from 0");
  detail::require_number("multi_step", "gamma", options.gamma, w);
  return by_factor("multi_step", [options](const Tensor& t) {
    const Tensor gamma = full({}, options.gamma, f64);
    Tensor factor = full({}, 1, f64);
    for (std::int64_t milestone : options.milestones)
      factor = factor * where(t >= static_cast<double>(milestone), gamma, 1.0);
    return factor;
  });
}

LrSchedule constant(const ConstantOptions& options, std::source_location w) {
  require(options.factor >= 0 && options.factor <= 1, "[constant] factor is ", options.factor,
          " (at ", describe(w), "); it must be between 0 and 1");
  require(options.total_iters >= 0, "[constant] total_iters is ", options.total_iters, " (at ",
          describe(w), "); it must not be negative");
  return by_factor("constant", [options](const Tensor& t) {
    return where(t < static_cast<double>(options.total_iters), full({}, options.factor, f64), 1.0);
  });
}

LrSchedule linear(const LinearOptions& options, std::source_location w) {
  require_steps("linear", "total_iters", options.total_iters, w);
  require(options.start_factor > 0 && options.start_factor <= 1 && options.end_factor >= 0 &&
              options.end_factor <= 1,
          "[linear] the factors are ", options.start_factor, " and ", options.end_factor, " (at ",
          describe(w), "); the first must be above 0, and both at most 1 and not negative");
  return by_factor("linear", [options](const Tensor& t) {
    const auto total = static_cast<double>(options.total_iters);
    return options.start_factor +
           (options.end_factor - options.start_factor) * minimum(t, total) / total;
  });
}

LrSchedule exponential(double gamma, std::source_location w) {
  detail::require_number("exponential", "gamma", gamma, w);
  return by_factor("exponential", [gamma](const Tensor& t) { return pow(gamma, t); });
}

LrSchedule polynomial(const PolynomialOptions& options, std::source_location w) {
  require_steps("polynomial", "total_iters", options.total_iters, w);
  detail::require_number("polynomial", "power", options.power, w);
  return by_factor("polynomial", [options](const Tensor& t) {
    const auto total = static_cast<double>(options.total_iters);
    return pow(1 - minimum(t, total) / total, options.power);
  });
}

LrSchedule cosine_annealing(const CosineAnnealingOptions& options, std::source_location w) {
  require_steps("cosine_annealing", "t_max", options.t_max, w);
  detail::require_number("cosine_annealing", "eta_min", options.eta_min, w);
  const auto half = static_cast<double>(options.t_max);
  return by_factor(
      "cosine_annealing", [half](const Tensor& t) { return half_cosine(t / half); },
      options.eta_min);
}

LrSchedule cosine_annealing_warm_restarts(const WarmRestartsOptions& options,
                                          std::source_location w) {
  require_steps("cosine_annealing_warm_restarts", "t_0", options.t_0, w);
  require_steps("cosine_annealing_warm_restarts", "t_mult", options.t_mult, w);
  detail::require_number("cosine_annealing_warm_restarts", "eta_min", options.eta_min, w);
  const auto first = static_cast<double>(options.t_0), growth = static_cast<double>(options.t_mult);
  LrSchedule schedule{"cosine_annealing_warm_restarts", {}};
  schedule.rates = [=, least = options.eta_min](const ScheduleStep& at) -> ScheduledRates {
    Tensor length = full({}, first, f64), begin = floor(at.step / first) * first;
    if (growth > 1) {
      // The number of restarts so far. At a restart the logarithm is a whole number, which rounding
      // may miss.
      const Tensor restarts =
          floor(log(at.step / first * (growth - 1) + 1) / std::log(growth) + 1e-9);
      const Tensor power = round(pow(growth, restarts));
      length = first * power;
      begin = first * ((power - 1.0) / (growth - 1));
    }
    const Tensor share = (at.step - begin) / length;
    return {least + (at.initial_lr - least) * half_cosine(share), at.now.momentum};
  };
  return schedule;
}

LrSchedule lambda(StepFunction factor) {
  return {"lambda", [factor = std::move(factor)](const ScheduleStep& at) -> ScheduledRates {
            return {at.initial_lr * factor(at.step), at.now.momentum};
          }};
}

LrSchedule multiplicative(StepFunction factor) {
  auto rates = [factor = std::move(factor)](const ScheduleStep& at) -> ScheduledRates {
    return {at.is_first ? at.now.lr : at.now.lr * factor(at.step), at.now.momentum};
  };
  return {"multiplicative", rates, rates};
}

}  // namespace schedules

}  // namespace tilewright
