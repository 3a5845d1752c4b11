// Layers that normalise by statistics of channels, under PyTorch's names and those of its
// parameters and buffers. Norms over the last axis are in layers.h.
//
// x is [N, channels, ..] or, for a BatchNorm, [N, channels]. Misuse raises `Error` with the
// caller's line and, where the layer is registered in a module, its name there. The functions are
// those of graph/functions/reducing/norms.h.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "graph/tensor/guarded.h"
#include "graph/tensor/tensor.h"
#include "models/layers/layers.h"
#include "models/layers/module.h"

namespace tilewright {

struct BatchNormLayerOptions {
  double eps = 1e-5;
  // The part of a batch in the running statistics; absent: these are the mean over all batches.
  std::optional<double> momentum = 0.1;
  bool affine = true;               // has a weight and a bias, [channels]
  bool track_running_stats = true;  // else those of the batch are used when it is evaluated too
  LayerOptions layer = {};
};

// Normalises each channel over the batch. While it is trained, by the batch's statistics, towards
// which the running ones are moved; evaluated, by the running ones. The state has "weight", "bias",
// "running_mean", "running_var" and "num_batches_tracked".
class BatchNorm : public Module {
 public:
  using Options = BatchNormLayerOptions;
  explicit BatchNorm(std::int64_t channels, const BatchNormLayerOptions& options = {},
                     std::source_location w = std::source_location::current());
  Tensor forward(const Tensor& x, std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward(x, w);
  }
  void train(bool is_training = true) override;
  Tensor weight, bias;                                    // undefined where it is not affine
  Tensor running_mean, running_var, num_batches_tracked;  // undefined where they are not tracked

 private:
  Tensor trained(const Tensor& x, std::source_location w) const;

  std::int64_t channels_;
  BatchNormLayerOptions options_;
  Guarded<bool> is_training_{true, "training"};
};
using BatchNorm1d = BatchNorm;
using BatchNorm2d = BatchNorm;
using BatchNorm3d = BatchNorm;

// Normalises each of `groups` equal groups of channels of each element of the batch.
class GroupNorm : public Module {
 public:
  GroupNorm(std::int64_t groups, std::int64_t channels, double eps = 1e-5, bool affine = true,
            const LayerOptions& options = {},
            std::source_location w = std::source_location::current());
  Tensor forward(const Tensor& x, std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward(x, w);
  }
  Tensor weight, bias;  // [channels]; undefined where it is not affine

 private:
  std::int64_t groups_, channels_;
  double eps_;
};

// Normalises each channel of each element of the batch. By PyTorch's default there are no weights.
class InstanceNorm : public Module {
 public:
  explicit InstanceNorm(std::int64_t channels, double eps = 1e-5, bool affine = false,
                        const LayerOptions& options = {},
                        std::source_location w = std::source_location::current());
  Tensor forward(const Tensor& x, std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward(x, w);
  }
  Tensor weight, bias;  // [channels]; undefined where it is not affine

 private:
  std::int64_t channels_;
  double eps_;
};
using InstanceNorm1d = InstanceNorm;
using InstanceNorm2d = InstanceNorm;
using InstanceNorm3d = InstanceNorm;

}  // namespace tilewright
