// The rate that is lowered when a metric no longer gets better, as ReduceLROnPlateau:
//
//   ReduceLrOnPlateau plateau(optimizer, {.factor = 0.5, .patience = 5});
//   plateau.step(validation_loss);
//
// The metric is a tensor of one element and everything is decided on the device, so that the call
// may stand in a captured function and never waits for the metric. Misuse raises `Error`. Neither
// copied nor moved; the optimizer must outlive it.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/functions/dynamic_scalar.h"
#include "models/optimizers/optimizer.h"
#include "models/optimizers/schedules/lr_schedule.h"

namespace tilewright {

enum class PlateauMode : std::uint8_t { min, max };       // the metrics that are better
enum class PlateauThreshold : std::uint8_t { rel, abs };  // relative to the best, or as it is
struct PlateauOptions {
  PlateauMode mode = PlateauMode::min;
  double factor = 0.1;         // of the rate, below 1
  std::int64_t patience = 10;  // steps without a better metric that are allowed
  double threshold = 1e-4;     // by which a better metric is better
  PlateauThreshold threshold_mode = PlateauThreshold::rel;
  std::int64_t cooldown = 0;  // steps after the rate was lowered that do not count
  PerGroup min_lr = 0.0;
  double eps = 1e-8;  // changes that are not above it are not made
};

class ReduceLrOnPlateau {
 public:
  explicit ReduceLrOnPlateau(Optimizer& optimizer, const PlateauOptions& options = {},
                             std::source_location w = std::source_location::current());
  ReduceLrOnPlateau(const ReduceLrOnPlateau&) = delete;
  ReduceLrOnPlateau& operator=(const ReduceLrOnPlateau&) = delete;

  void step(const Tensor& metric, std::source_location w = std::source_location::current());

  // "best", "num_bad_epochs" and "cooldown_counter"; handles that share their bytes.
  NamedTensors state() const;
  void load(const Weights& weights, std::source_location w = std::source_location::current());
  void to(const Device& device);

 private:
  Tensor is_better(const Tensor& metric) const;
  void count(const Tensor& metric);

  Optimizer& optimizer_;
  PlateauOptions options_;
  DynamicScalar best_, bad_steps_{0, DType::f64}, cooldown_{0, DType::f64};
};

}  // namespace tilewright
