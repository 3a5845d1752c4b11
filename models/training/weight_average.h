// Averages of a module's weights over the steps of training, as torch.optim.swa_utils.AveragedModel
// keeps them: an exponential moving average, or the mean of all updates (stochastic weight
// averaging, Izmailov et al., 2018).
//
//   AveragedWeights average(net, {.decay = 0.999});
//   auto step = compile([&](const Tensor& x, const Tensor& y) {
//     auto [loss, gradients] = value_and_grad(net, loss_of)(x, y);
//     optimizer.step(gradients);
//     average.update();
//     return loss;
//   });
//   average.exchange();   // evaluate the net with its averages; again: train on
//
// The first update copies the weights. Averages are computed in f32 (f64 of f64) and rounded to the
// dtype of the weight. Buffers are copied, or averaged too (`use_buffers`), which for integers
// truncates, as PyTorch does. The decay is a tensor on the device: setting it compiles nothing.
//
// Misuse raises `Error`. Neither copied nor moved; the module must outlive it. One call at a time.
#pragma once

#include <optional>
#include <source_location>
#include <vector>

#include "graph/functions/dynamic_scalar.h"
#include "graph/tensor/tensor.h"
#include "models/layers/gradients.h"
#include "models/layers/module.h"
#include "models/weights/weights.h"

namespace tilewright {

struct AverageOptions {
  // For an exponential moving average, in [0, 1]: the next average is decay times the average and 1
  // - decay times the weight. Absent: the mean of all updates.
  std::optional<double> decay = {};
  bool use_buffers = false;
};

class AveragedWeights {
 public:
  explicit AveragedWeights(Module& module, const AverageOptions& options = {},
                           std::source_location w = std::source_location::current());
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

  // Takes in the weights as they are now, within a captured function or at once.
  void update(std::source_location w = std::source_location::current());
  // An update that changes nothing where `skip` (bool, one element) is true, as
  // Optimizer::step_unless.
  void update_unless(const Tensor& skip, std::source_location w = std::source_location::current());
  // Swaps the averages with the weights of the module, in place.
  void exchange(std::source_location w = std::source_location::current());

  void set_decay(double decay, std::source_location w = std::source_location::current());
  // How many updates there were: i64, without axes.
  const Tensor& updates() const { return updates_; }
  // The average of the weight or buffer of this name in the module.
  Tensor average(std::string_view name,
                 std::source_location w = std::source_location::current()) const;

  // PyTorch's state_dict of an AveragedModel: "n_averaged", and "module.NAME" for each weight and
  // buffer; handles that share their bytes.
  NamedTensors state() const;
  // Raises `Error` that lists the names that are missing, unexpected or of another shape, before
  // anything is written.
  void load(const Weights& weights, std::source_location w = std::source_location::current());

  // Moves the averages to a device, after the module.
  void to(const Device& device);

 private:
  // A tensor of the module, with all of the names that it has there.
  struct Entry {
    std::vector<std::string> names;
    Tensor* source;
    Tensor average;
    bool is_buffer;
  };
  void add(const std::vector<NamedParameter>& tensors, bool are_buffers);
  Tensor averaged(const Entry& entry) const;
  void take_in(const Tensor& skip);

  std::vector<Entry> entries_;
  bool use_buffers_;
  std::optional<DynamicScalar> decay_;
  Tensor updates_;
};

}  // namespace tilewright
