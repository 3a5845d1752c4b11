// A schedule at work on an optimizer.
//
//   AdamW optimizer(net, {.lr = 1e-3});
//   LrScheduler scheduler(optimizer, schedules::cosine_annealing({.t_max = 2000}));
//   auto train = compile([&](const Tensor& x, const Tensor& y) {
//     auto [loss, gradients] = value_and_grad(net, loss_of)(x, y);
//     optimizer.step(gradients);
//     scheduler.step();
//     return loss;
//   });
//
// As in PyTorch, the scheduler sets the rates of the first step when it is made, and those of the
// next one in step(), which may be called after each step or once an epoch. The rates are settings
// of the optimizer, which step() writes on the device, from its own count of steps; nothing is
// compiled again.
//
// Misuse raises `Error`. Neither copied nor moved; the optimizer must outlive it.
#pragma once

#include <source_location>
#include <vector>

#include "graph/functions/dynamic_scalar.h"
#include "models/optimizers/optimizer.h"
#include "models/optimizers/schedules/lr_schedule.h"

namespace tilewright {

class LrScheduler {
 public:
  LrScheduler(Optimizer& optimizer, LrSchedule schedule,
              std::source_location w = std::source_location::current());
  LrScheduler(const LrScheduler&) = delete;
  LrScheduler& operator=(const LrScheduler&) = delete;

  // To the next step, within a captured function or at once.
  void step(std::source_location w = std::source_location::current());
  // A step that changes nothing where `skip` (bool, one element) is true, as
  // Optimizer::step_unless: the schedule stays behind with the optimizer.
  void step_unless(const Tensor& skip, std::source_location w = std::source_location::current());
  // How often step() was called: f64, without axes.
  const Tensor& steps() const { return steps_.tensor(); }

  // "last_epoch" and "base_lrs.0", .., as PyTorch calls them; handles that share their bytes. The
  // rates themselves are in the optimizer's state.
  NamedTensors state() const;
  void load(const Weights& weights, std::source_location w = std::source_location::current());

  // Moves the state to a device, after the optimizer.
  void to(const Device& device);

 private:
  void set_rates(bool is_first, const Tensor& skip);

  Optimizer& optimizer_;
  LrSchedule schedule_;
  DynamicScalar steps_{0, DType::f64};
  std::vector<DynamicScalar> initial_lrs_;
};

}  // namespace tilewright
