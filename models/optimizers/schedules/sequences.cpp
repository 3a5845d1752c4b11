// Schedules made of schedules.
#include <algorithm>

#include "models/optimizers/schedules/lr_schedule.h"
#include "runtime/base/error.h"

namespace tilewright::schedules {

LrSchedule sequential(std::vector<LrSchedule> parts, std::vector<std::int64_t> milestones,
                      std::source_location w) {
  require(!parts.empty() && milestones.size() + 1 == parts.size(), "[sequential] there are ",
          parts.size(), " schedules and ", milestones.size(), " milestones (at ", describe(w),
          "); there must be a milestone between any two schedules");
  require(std::ranges::is_sorted(milestones), "[sequential] the milestones do not rise (at ",
          describe(w), ")");
  return {"sequential", [=](const ScheduleStep& at) {
            ScheduleStep part = at;
            ScheduledRates rates = parts[0].rates(at);
            for (std::size_t i = 0; i < milestones.size(); ++i) {
              const auto begin = static_cast<double>(milestones[i]);
              part.step = at.step - begin;
              part.is_first = false;
              const Tensor is_over = at.step >= begin;
              const ScheduledRates next = parts[i + 1].rates(part);
              rates.lr = where(is_over, next.lr, rates.lr);
              if (rates.momentum.defined() && next.momentum.defined())
                rates.momentum = where(is_over, next.momentum, rates.momentum);
            }
            return rates;
          }};
}

LrSchedule chained(std::vector<LrSchedule> parts, std::source_location w) {
  require(!parts.empty(), "[chained] there is no schedule (at ", describe(w),
          "); give one or more");
  return {"chained", [=](const ScheduleStep& at) {
            ScheduleStep part = at;
            for (const LrSchedule& each : parts)
              part.now = each.chained ? each.chained(part) : each.rates(part);
            return part.now;
          }};
}

LrSchedule warm_up(std::int64_t steps, LrSchedule then, double start_factor,
                   std::source_location w) {
  return sequential(
      {linear({.start_factor = start_factor, .end_factor = 1, .total_iters = steps}, w),
       std::move(then)},
      {steps}, w);
}

}  // namespace tilewright::schedules
