// A step of training as one function: the gradients of one batch or of several micro-batches, their
// clipping, the optimizer, the schedule, the average of the weights; and several steps as one call.
//
//   auto step = training_step(net, loss_of, optimizer, {.accumulate = 4, .clip = limit});
//   auto train = compile([&](const Tensor& x, const Tensor& y) { return step(x, y); });
//   Tensor loss = train(x, y);                   // x [batch, ..], in 4 micro-batches
//   auto epoch = compile([&](const Tensor& x, const Tensor& y) { return step.repeat(x, y); });
//   Tensor losses = epoch(many_x, many_y);       // [k, batch, ..]: k steps, losses [k]
//
// Micro-batches and repeated steps are loops of the graph (scan, graph/functions/control), so that
// their kernels are those of one; weights and states are carried from step to step, and what the
// loss writes or draws (running statistics, dropout) goes from one turn to the next. k steps in one
// call compute what k calls do. Rates, decays, betas and limits may change between calls; nothing
// is compiled again.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/dynamic_scalar.h"
#include "models/layers/gradients.h"
#include "models/optimizers/clipping.h"
#include "models/optimizers/loss_scale.h"
#include "models/optimizers/optimizer.h"
#include "models/optimizers/schedules/lr_scheduler.h"
#include "models/training/weight_average.h"

namespace tilewright {

namespace detail {

// Each tensor [parts * m, ..] as [parts, m, ..]. Raises `Error` where the parts do not divide it.
std::vector<Tensor> micro_batches(const std::vector<Tensor>& batch, std::int64_t parts,
                                  std::source_location w);

// The loss and gradients of one micro-batch.
using BatchGradients =
    std::function<std::pair<Tensor, std::vector<Tensor>>(const std::vector<Tensor>& batch)>;
// The mean of the losses and gradients of all of them. Sums of 16 bits are f32.
std::pair<Tensor, std::vector<Tensor>> mean_of_parts(const BatchGradients& gradients,
                                                     const std::vector<Tensor>& parameters,
                                                     const std::vector<Tensor>& parts,
                                                     std::source_location w);

template <typename F, std::size_t... I>
Tensor loss_of_list(const F& loss, const std::vector<Tensor>& batch, std::index_sequence<I...>) {
  return loss(batch[I]...);
}

// The mean loss of a batch in `parts`, and the gradients of it or, with a scaler, of it scaled.
template <typename F>
std::pair<Tensor, NamedTensors> gradients_of_parts(Module& module, const F& loss,
                                                   std::int64_t parts, const GradScaler* scaler,
                                                   std::source_location w,
                                                   const std::convertible_to<Tensor> auto&... x) {
  const NamedTensors parameters = differentiable_parameters(module);
  auto of_batch = [&](const std::vector<Tensor>& batch) {
    auto of_list = [&](const std::vector<Tensor>& list) {
      const Tensor value = loss_of_list(loss, list, std::make_index_sequence<sizeof...(x)>());
      return std::pair{scaler != nullptr ? scaler->scale(value) : value, value};
    };
    auto [values, gradients] = value_and_grad(module, of_list, w)(batch);
    return std::pair{values.second.reshape({}), tensors_in(gradients)};
  };
  auto [value, gradients] =
      mean_of_parts(of_batch, tensors_in(parameters), micro_batches({Tensor(x)...}, parts, w), w);
  return {value, named_like(parameters, gradients)};
}

}  // namespace detail

// value_and_grad of a module (models/layers/gradients.h), for losses that are a mean over the
// batch: the gradients are those of the whole batch up to rounding, and the memory that of one of
// `parts` micro-batches. Arguments are tensors [batch, ..], and the loss is a tensor of one
// element.
template <typename F>
auto accumulated_value_and_grad(Module& module, F loss, std::int64_t parts,
                                std::source_location w = std::source_location::current()) {
  return [&module, loss = std::move(loss), parts, w](const std::convertible_to<Tensor> auto&... x) {
    return detail::gradients_of_parts(module, loss, parts, nullptr, w, x...);
  };
}

// Handles and objects that must outlive the step.
struct TrainingStepOptions {
  std::int64_t accumulate = 1;             // micro-batches of each batch
  std::optional<DynamicScalar> clip = {};  // the limit of the gradients' global norm
  LrScheduler* scheduler = nullptr;        // goes on with each step
  AveragedWeights* average = nullptr;      // is updated after each step
  // Scales the loss, for gradients of f16 (loss_scale.h). A step by infinite gradients changes
  // nothing but the scale: neither weights and states, nor the schedule, nor the average.
  GradScaler* scaler = nullptr;
};

// Called on tensors, within a captured function or at once.
template <typename F>
class TrainingStep {
 public:
  TrainingStep(Module& module, F loss, Optimizer& optimizer, TrainingStepOptions options,
               std::source_location w)
      : module_(module),
        loss_(std::move(loss)),
        optimizer_(optimizer),
        options_(std::move(options)),
        where_(w) {}

  // One step; gives the loss before it.
  Tensor operator()(const std::convertible_to<Tensor> auto&... batch) const {
    auto [loss, gradients] = detail::gradients_of_parts(module_, loss_, options_.accumulate,
                                                        options_.scaler, where_, batch...);
    apply(std::move(gradients));
    return loss;
  }

  // A step on each element along the first axis of all tensors; gives the losses.
  Tensor repeat(const std::convertible_to<Tensor> auto&... stacked) const {
    auto turn = [this](const Tensors&, const Tensors& batch) -> Turn {
      return {{},
              {detail::loss_of_list(*this, batch, std::make_index_sequence<sizeof...(stacked)>())}};
    };
    return scan(turn, {}, {Tensor(stacked)...}, {.writes = true}, where_).second[0];
  }

 private:
  // A step by these gradients, which with a scaler are those of the scaled loss.
  void apply(NamedTensors gradients) const {
    Tensor skip;
    if (options_.scaler != nullptr) {
      auto unscaled = options_.scaler->unscale(gradients, where_);
      gradients = std::move(unscaled.gradients);
      skip = unscaled.is_infinite;
    }
    if (options_.clip) gradients = clip_by_global_norm(gradients, *options_.clip).gradients;
    if (!skip.defined()) {
      optimizer_.step(gradients, where_);
      if (options_.scheduler != nullptr) options_.scheduler->step(where_);
      if (options_.average != nullptr) options_.average->update(where_);
      return;
    }
    optimizer_.step_unless(skip, gradients, where_);
    options_.scaler->update(where_);
    if (options_.scheduler != nullptr) options_.scheduler->step_unless(skip, where_);
    if (options_.average != nullptr) options_.average->update_unless(skip, where_);
  }

  Module& module_;
  F loss_;
  Optimizer& optimizer_;
  TrainingStepOptions options_;
  std::source_location where_;
};

template <typename F>
TrainingStep<F> training_step(Module& module, F loss, Optimizer& optimizer,
                              TrainingStepOptions options = {},
                              std::source_location w = std::source_location::current()) {
  return {module, std::move(loss), optimizer, std::move(options), w};
}

}  // namespace tilewright
