// Scaling of losses, so that gradients of f16 are in its range, as torch.amp.GradScaler.
//
//   GradScaler scaler;
//   auto step = compile([&](const Tensor& x, const Tensor& y) {
//     auto loss_of = autocast([&](const Tensor& a, const Tensor& b) {
//       const Tensor loss = cross_entropy(net.forward(a), b);
//       return std::pair{scaler.scale(loss), loss};
//     }, f16);
//     auto [losses, scaled] = value_and_grad(net, loss_of)(x, y);
//     auto [gradients, is_infinite] = scaler.unscale(scaled);
//     optimizer.step_unless(is_infinite, clip_by_global_norm(gradients, 1.0).gradients);
//     scaler.update();
//     return losses.second;
//   });
//
// Where a gradient is infinite or NaN the step is left out and the scale shrinks; after so many
// steps without one it grows. All of this is computed where the parameters lie: the host waits for
// nothing, and a scale that changes compiles nothing.
//
// Misuse raises `Error` with the line of the call. Neither copied nor moved, as an Optimizer is;
// one call at a time.
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "graph/functions/dynamic_scalar.h"
#include "graph/tensor/tensor.h"
#include "models/layers/gradients.h"
#include "models/optimizers/optimizer.h"
#include "models/weights/weights.h"

namespace tilewright {

// PyTorch's defaults.
struct GradScalerOptions {
  double init_scale = 65536, growth_factor = 2, backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;  // steps without infinite gradients
};

class GradScaler {
 public:
  explicit GradScaler(const GradScalerOptions& options = {},
                      std::source_location w = std::source_location::current());
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;

  // The loss times the scale, in f32, or f64 if the loss is.
  Tensor scale(const Tensor& loss) const;

  // Gradients of the scaled loss divided by the scale, those of 16 bits in f32, and whether one of
  // them was infinite or NaN (bool, without axes). Clipping stands between this and the step.
  template <typename Gradients>
  struct Unscaled {
    Gradients gradients;
    Tensor is_infinite;
  };
  Unscaled<NamedTensors> unscale(const NamedTensors& gradients,
                                 std::source_location w = std::source_location::current());
  Unscaled<std::vector<Tensor>> unscale(const std::vector<Tensor>& gradients,
                                        std::source_location w = std::source_location::current());
  // Both, without clipping: a step of the optimizer by gradients of the scaled loss.
  void step(Optimizer& optimizer, const NamedTensors& scaled,
            std::source_location w = std::source_location::current());

  // Ends a step: the scale shrinks if a gradient was infinite since the last call, or grows if its
  // time has come, unless it were infinite then.
  void update(std::source_location w = std::source_location::current());

  // f32 and i32, without axes, on the device.
  const Tensor& scale() const { return scale_.tensor(); }
  const Tensor& growth_tracker() const { return tracker_.tensor(); }

  // Under the names of PyTorch's state_dict: "scale", "growth_factor", "backoff_factor",
  // "growth_interval" and "_growth_tracker". Handles that share their bytes.
  NamedTensors state() const;
  // Writes these in place; compiled functions go on from there. Raises `Error` that lists names
  // that are missing or unexpected, before anything is written.
  void load(const Weights& weights, std::source_location w = std::source_location::current());

  // Moves all of it to a device, after the parameters.
  void to(const Device& device);

 private:
  DynamicScalar scale_, growth_, backoff_, interval_, tracker_;
  Tensor found_;  // bool: an infinite gradient since the last update
};

}  // namespace tilewright
