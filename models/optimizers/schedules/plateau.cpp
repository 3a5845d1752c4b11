#include "models/optimizers/schedules/plateau.h"

#include <limits>

#include "graph/ir/user_call.h"
#include "models/optimizers/schedules/numbers.h"
#include "models/optimizers/schedules/scheduler_state.h"
#include "runtime/base/error.h"

namespace tilewright {

ReduceLrOnPlateau::ReduceLrOnPlateau(Optimizer& optimizer, const PlateauOptions& options,
                                     std::source_location w)
    : optimizer_(optimizer),
      options_(options),
      best_(options.mode == PlateauMode::min ? std::numeric_limits<double>::infinity()
                                             : -std::numeric_limits<double>::infinity(),
            f64) {
  require(options.factor > 0 && options.factor < 1, "[plateau] factor is ", options.factor, " (at ",
          describe(w), "); it must be above 0 and below 1");
  detail::require_number("plateau", "threshold", options.threshold, w);
  detail::require_number("plateau", "eps", options.eps, w);
  detail::require_numbers("plateau", "min_lr", options.min_lr, w);
  require(options.patience >= 0 && options.cooldown >= 0, "[plateau] patience is ",
          options.patience, " and cooldown ", options.cooldown, " (at ", describe(w),
          "); neither may be negative");
  for (std::size_t group = 0; group < optimizer.group_count(); ++group)
    options.min_lr.at(group, "plateau");
  to(optimizer.steps().device());
}

Tensor ReduceLrOnPlateau::is_better(const Tensor& metric) const {
  const bool is_relative = options_.threshold_mode == PlateauThreshold::rel;
  const Tensor& best = best_.tensor();
  if (options_.mode == PlateauMode::min)
    return metric < (is_relative ? best * (1 - options_.threshold) : best - options_.threshold);
  return metric > (is_relative ? best * (options_.threshold + 1) : best + options_.threshold);
}

void ReduceLrOnPlateau::step(const Tensor& metric, std::source_location w) {
  require(metric.defined() && metric.count() == 1 && is_floating(metric.dtype()),
          "[plateau] the metric is ",
          metric.defined() ? concat(metric.dtype(), " ", metric.shape()) : std::string("undefined"),
          " (at ", describe(w), "); it must be a floating tensor of one element");
  graph::of_user_call("plateau_step", w, [&] { count(metric.reshape({}).to(f64)); });
}

void ReduceLrOnPlateau::count(const Tensor& metric) {
  Tensor best = best_, bad_steps = bad_steps_, cooldown = cooldown_;
  const Tensor better = is_better(metric), cools = cooldown > 0.0;
  const Tensor bad = where(better | cools, 0.0, bad_steps + 1.0);
  const Tensor is_over = bad > static_cast<double>(options_.patience);
  best.copy_from(where(better, metric, best));
  bad_steps.copy_from(where(is_over, 0.0, bad));
  cooldown.copy_from(where(is_over, static_cast<double>(options_.cooldown),
                           where(cools, cooldown - 1.0, cooldown)));
  for (std::size_t group = 0; group < optimizer_.group_count(); ++group) {
    Tensor lr = optimizer_.setting("lr", group);
    const Tensor lower = maximum(lr * options_.factor, options_.min_lr.at(group, "plateau"));
    lr.copy_from(where(is_over & (lr - lower > options_.eps), lower, lr));
  }
}

NamedTensors ReduceLrOnPlateau::state() const {
  return {{"best", best_.tensor()},
          {"num_bad_epochs", bad_steps_.tensor()},
          {"cooldown_counter", cooldown_.tensor()}};
}
void ReduceLrOnPlateau::load(const Weights& weights, std::source_location w) {
  detail::load_numbers("plateau", state(), weights, w);
}
void ReduceLrOnPlateau::to(const Device& device) {
  for (const auto& [name, tensor] : state()) Tensor(tensor).move_to(device);
}

}  // namespace tilewright
