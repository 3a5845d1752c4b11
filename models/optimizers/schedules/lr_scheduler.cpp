#include "models/optimizers/schedules/lr_scheduler.h"

#include "graph/ir/user_call.h"
#include "models/optimizers/schedules/scheduler_state.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// The setting that a schedule calls momentum.
const char* momentum_of(const Optimizer& optimizer, std::size_t group) {
  for (const char* name : {"momentum", "beta1"})
    if (optimizer.has_setting(name, group)) return name;
  return nullptr;
}

// `skip`: bool, where the number stays as it is; or undefined.
void write(Tensor& kept, const Tensor& value, const Tensor& skip) {
  kept.copy_from(skip.defined() ? where(skip, kept, value.to(kept.dtype())) : value);
}
// Schedules that leave a setting alone give the setting itself.
void change(Tensor& setting, const Tensor& rate, const Tensor& skip) {
  if (rate.body() != setting.body()) write(setting, rate, skip);
}

}  // namespace

LrScheduler::LrScheduler(Optimizer& optimizer, LrSchedule schedule, std::source_location w)
    : optimizer_(optimizer), schedule_(std::move(schedule)) {
  for (std::size_t group = 0; group < optimizer.group_count(); ++group)
    initial_lrs_.emplace_back(optimizer.value("lr", group, w), f64);
  to(optimizer.steps().device());
  graph::of_user_call("scheduler", w, [&] { set_rates(true, {}); });
}

void LrScheduler::step(std::source_location w) {
  graph::of_user_call("scheduler_step", w, [&] {
    Tensor steps = steps_.tensor();
    steps.copy_from(steps + 1.0);
    set_rates(false, {});
  });
}

void LrScheduler::step_unless(const Tensor& skip, std::source_location w) {
  require(skip.defined() && is_boolean(skip.dtype()) && skip.count() == 1,
          "[scheduler] the condition of a step is ",
          skip.defined() ? concat(skip.dtype(), " ", skip.shape()) : std::string("undefined"),
          " (at ", describe(w), "); it must be bool, of one element");
  graph::of_user_call("scheduler_step", w, [&] {
    const Tensor is_skipped = skip.reshape({}, w);
    Tensor steps = steps_.tensor();
    write(steps, steps + 1.0, is_skipped);
    set_rates(false, is_skipped);
  });
}

void LrScheduler::set_rates(bool is_first, const Tensor& skip) {
  for (std::size_t group = 0; group < optimizer_.group_count(); ++group) {
    Tensor lr = optimizer_.setting("lr", group), momentum;
    const char* name = momentum_of(optimizer_, group);
    if (name != nullptr) momentum = optimizer_.setting(name, group);
    const ScheduledRates rates =
        schedule_.rates({steps_, group, initial_lrs_[group], {lr, momentum}, is_first});
    require(name != nullptr || !rates.momentum.defined(), "[", schedule_.name, "] ",
            optimizer_.name(),
            " has no momentum to be moved; set cycle_momentum to false, or make "
            "the optimizer with a momentum");
    change(lr, rates.lr, skip);
    if (name != nullptr) change(momentum, rates.momentum, skip);
  }
}

NamedTensors LrScheduler::state() const {
  NamedTensors state = {{"last_epoch", steps_.tensor()}};
  for (std::size_t group = 0; group < initial_lrs_.size(); ++group)
    state.emplace(concat("base_lrs.", group), initial_lrs_[group].tensor());
  return state;
}
void LrScheduler::load(const Weights& weights, std::source_location w) {
  detail::load_numbers("scheduler", state(), weights, w);
}
void LrScheduler::to(const Device& device) {
  for (const auto& [name, tensor] : state()) Tensor(tensor).move_to(device);
}

}  // namespace tilewright
