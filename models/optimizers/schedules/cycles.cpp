// Schedules that set the rate and the momentum between given bounds.
#include <cmath>
#include <numbers>

#include "graph/functions/pointwise/elementary.h"
#include "models/optimizers/schedules/lr_schedule.h"
#include "models/optimizers/schedules/numbers.h"
#include "runtime/base/error.h"

namespace tilewright::schedules {
namespace {

// How high the triangle is at a step, and how much of that counts.
Tensor height_at(const CyclicOptions& options, const Tensor& step) {
  const auto up = static_cast<double>(options.step_size_up);
  const double total =
                   up + static_cast<double>(options.step_size_down.value_or(options.step_size_up)),
               peak = up / total;
  const Tensor cycle = floor(1 + step / total), share = 1.0 + step / total - cycle;
  const Tensor height = where(share <= peak, share / peak, (share - 1.0) / (peak - 1));
  switch (options.mode) {
    case CyclicMode::triangular: return height;
    case CyclicMode::triangular2: return height * pow(0.5, cycle - 1.0);
    case CyclicMode::exp_range: return height * pow(options.gamma, step);
  }
  return height;
}

struct Phase {
  double end;  // its last step
  double lr_from, lr_to, momentum_from, momentum_to;
};

std::vector<Phase> phases_of(const OneCycleOptions& options, std::size_t group) {
  const double most = options.max_lr.at(group, "one_cycle"), first = most / options.div_factor,
               last = first / options.final_div_factor,
               low = options.base_momentum.at(group, "one_cycle"),
               high = options.max_momentum.at(group, "one_cycle");
  const auto total = static_cast<double>(options.total_steps);
  const double rise = options.pct_start * total;
  if (options.three_phase)
    return {{rise - 1, first, most, high, low},
            {2 * rise - 2, most, first, low, high},
            {total - 1, first, last, high, high}};
  return {{rise - 1, first, most, high, low}, {total - 1, most, last, low, high}};
}

Tensor annealed(Annealing strategy, double from, double to, const Tensor& share) {
  switch (strategy) {
    case Annealing::cos: return to + (from - to) / 2 * (cos(std::numbers::pi * share) + 1);
    case Annealing::linear: return (to - from) * share + from;
  }
  return share;
}

}  // namespace

LrSchedule cyclic(const CyclicOptions& options, std::source_location w) {
  require(options.step_size_up > 0 && options.step_size_down.value_or(1) > 0,
          "[cyclic] step_size_up is ", options.step_size_up, " and step_size_down ",
          options.step_size_down.value_or(options.step_size_up), " (at ", describe(w),
          "); both must be above 0");
  detail::require_numbers("cyclic", "base_lr", options.base_lr, w);
  detail::require_numbers("cyclic", "max_lr", options.max_lr, w);
  detail::require_numbers("cyclic", "base_momentum", options.base_momentum, w);
  detail::require_numbers("cyclic", "max_momentum", options.max_momentum, w);
  detail::require_number("cyclic", "gamma", options.gamma, w);
  return {"cyclic", [options](const ScheduleStep& at) -> ScheduledRates {
            const Tensor height = height_at(options, at.step);
            const double low = options.base_lr.at(at.group, "cyclic");
            Tensor momentum = at.now.momentum;
            if (options.cycle_momentum) {
              const double most = options.max_momentum.at(at.group, "cyclic");
              momentum = most - (most - options.base_momentum.at(at.group, "cyclic")) * height;
            }
            return {low + (options.max_lr.at(at.group, "cyclic") - low) * height, momentum};
          }};
}

LrSchedule one_cycle(const OneCycleOptions& options, std::source_location w) {
  require(options.total_steps > 0 && options.pct_start >= 0 && options.pct_start <= 1,
          "[one_cycle] total_steps is ", options.total_steps, " and pct_start ", options.pct_start,
          " (at ", describe(w), "); the first must be above 0, the second between 0 and 1");
  detail::require_numbers("one_cycle", "max_lr", options.max_lr, w);
  detail::require_numbers("one_cycle", "base_momentum", options.base_momentum, w);
  detail::require_numbers("one_cycle", "max_momentum", options.max_momentum, w);
  detail::require_positive("one_cycle", "div_factor", options.div_factor, w);
  detail::require_positive("one_cycle", "final_div_factor", options.final_div_factor, w);
  return {"one_cycle", [options](const ScheduleStep& at) -> ScheduledRates {
            const std::vector<Phase> phases = phases_of(options, at.group);
            const Tensor step = minimum(at.step, phases.back().end);
            ScheduledRates rates;
            // From the last phase back, so that the first one that is not over counts.
            for (std::size_t i = phases.size(); i-- > 0;) {
              const Phase& phase = phases[i];
              const double begin = i > 0 ? phases[i - 1].end : 0;
              const Tensor share = (step - begin) / (phase.end - begin);
              auto chosen = [&](double from, double to, const Tensor& later) {
                const Tensor value = annealed(options.anneal_strategy, from, to, share);
                return later.defined() ? where(step <= phase.end, value, later) : value;
              };
              rates.lr = chosen(phase.lr_from, phase.lr_to, rates.lr);
              rates.momentum = chosen(phase.momentum_from, phase.momentum_to, rates.momentum);
            }
            if (!options.cycle_momentum) rates.momentum = at.now.momentum;
            return rates;
          }};
}

}  // namespace tilewright::schedules
