#include "models/optimizers/loss_scale.h"

#include <cmath>
#include <utility>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

Tensor no_tensor_is_infinite() { return full({}, 0, boolean).clone(); }

// True if an element of one of them is infinite or NaN.
Tensor is_any_infinite(const std::vector<Tensor>& gradients) {
  Tensor found;
  for (const Tensor& gradient : gradients) {
    const Tensor of_it = any(logical_not(isfinite(gradient)));
    found = found.defined() ? logical_or(found, of_it) : of_it;
  }
  return found.defined() ? found : full({}, 0, boolean);
}

void require_options(const GradScalerOptions& options, std::source_location w) {
  auto is_positive = [](double number) { return std::isfinite(number) && number > 0; };
  require(is_positive(options.init_scale), "[grad_scaler] the first scale is ", options.init_scale,
          " (at ", describe(w), "); it must be above 0");
  require(options.growth_factor > 1 && std::isfinite(options.growth_factor),
          "[grad_scaler] the factor of growth is ", options.growth_factor, " (at ", describe(w),
          "); it must be above 1");
  require(options.backoff_factor > 0 && options.backoff_factor < 1,
          "[grad_scaler] the factor after infinite gradients is ", options.backoff_factor, " (at ",
          describe(w), "); it must be between 0 and 1");
  require(options.growth_interval > 0 && options.growth_interval <= INT32_MAX,
          "[grad_scaler] the scale grows after ", options.growth_interval, " steps (at ",
          describe(w), "); it must be 1 or more, below 2^31");
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options, std::source_location w)
    : scale_(options.init_scale, f32),
      growth_(options.growth_factor, f64),
      backoff_(options.backoff_factor, f64),
      interval_(static_cast<double>(options.growth_interval), i32),
      tracker_(0, i32),
      found_(no_tensor_is_infinite()) {
  require_options(options, w);
}

Tensor GradScaler::scale(const Tensor& loss) const {
  const DType dtype = loss.dtype() == f64 ? f64 : f32;
  return loss.to(dtype) * scale().to(dtype);
}

GradScaler::Unscaled<std::vector<Tensor>> GradScaler::unscale(const std::vector<Tensor>& gradients,
                                                              std::source_location w) {
  return graph::of_user_call("unscale", w, [&] {
    for (const Tensor& gradient : gradients)
      require(gradient.defined() && is_floating(gradient.dtype()), "[unscale] a gradient is ",
              gradient.defined() ? concat(gradient.dtype()) : std::string("undefined"),
              "; gradients are floating");
    Unscaled<std::vector<Tensor>> all;
    // As PyTorch, the inverse in f64, rounded once.
    const Tensor inverse = reciprocal(scale().to(f64)).to(f32);
    for (const Tensor& gradient : gradients) {
      const DType dtype = gradient.dtype() == f64 ? f64 : f32;
      all.gradients.push_back(gradient.to(dtype) * inverse.to(dtype));
    }
    all.is_infinite = is_any_infinite(gradients);
    found_.copy_from(logical_or(found_, all.is_infinite));
    return all;
  });
}
GradScaler::Unscaled<NamedTensors> GradScaler::unscale(const NamedTensors& gradients,
                                                       std::source_location w) {
  const auto all = unscale(detail::tensors_in(gradients), w);
  return {detail::named_like(gradients, all.gradients), all.is_infinite};
}

void GradScaler::step(Optimizer& optimizer, const NamedTensors& scaled, std::source_location w) {
  const auto [gradients, is_infinite] = unscale(scaled, w);
  optimizer.step_unless(is_infinite, gradients, w);
}

void GradScaler::update(std::source_location w) {
  graph::of_user_call("update_scale", w, [&] {
    const Tensor now = scale().clone(), found = found_.clone();
    const Tensor counted = growth_tracker() + 1, grows = counted == interval_.tensor();
    const Tensor grown = (now * growth_.tensor()).to(f32),
                 shrunk = (now * backoff_.tensor()).to(f32);
    const Tensor without = where(logical_and(grows, isfinite(grown)), grown, now);
    Tensor(scale()).copy_from(where(found, shrunk, without));
    Tensor(growth_tracker()).copy_from(where(logical_or(found, grows), 0, counted));
    found_.copy_from(full({}, 0, boolean));
  });
}

NamedTensors GradScaler::state() const {
  return {{"scale", scale()},
          {"growth_factor", growth_.tensor()},
          {"backoff_factor", backoff_.tensor()},
          {"growth_interval", interval_.tensor()},
          {"_growth_tracker", growth_tracker()}};
}

void GradScaler::load(const Weights& weights, std::source_location w) {
  NamedTensors known = state();
  std::string wrong;
  auto note = [&](std::string_view what, const std::string& name) {
    wrong += concat(wrong.empty() ? "" : ", ", what, " ", name);
  };
  for (const auto& [name, tensor] : known) {
    if (!weights.contains(name))
      note("without", name);
    else if (element_count(weights.shape(name)) != 1)
      note("several elements in", name);
  }
  for (const std::string& name : weights.names())
    if (!known.contains(name)) note("unexpected", name);
  require(wrong.empty(), "[grad_scaler] the state does not fit: ", wrong, " (at ", describe(w),
          "); names are those of state()");
  for (auto& [name, tensor] : known) weights.read(name, tensor);
}

void GradScaler::to(const Device& device) {
  for (auto& [name, tensor] : state()) Tensor(tensor).move_to(device);
  found_.move_to(device);
}

}  // namespace tilewright
