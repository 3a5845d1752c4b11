// Small models that are trained, and their losses beside PyTorch's: two classifiers of digits and a
// GPT of characters. Each step is one compiled function of loss, gradients, clipping, update and
// schedule.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"

namespace tilewright::tools {

// The dtypes of a run: those of the parameters, and of products within autocast, by the list for
// CPUs. Losses in f16 are scaled.
struct RunDtypes {
  DType parameters = DType::f32;
  std::optional<DType> autocast = {};
};

struct ModelRun {
  std::string name;  // "mlp", "cnn" or "gpt"
  int steps = 0;
  double losses = 0, norms = 0;  // the largest distances from PyTorch's f64
  double peer = 0;               // that of the losses of PyTorch's own run in such dtypes
  double allowed = 0;            // for losses
  double last_loss = 0;
  double seconds = 0;  // a step, without the first
  std::size_t plans = 0;
  bool is_right() const { return losses <= allowed && plans == 1; }
};

// Trains the model by the weights and batches of a folder that has `digits` and `nanogpt`, at most
// that many steps.
ModelRun trained_beside_pytorch(const std::filesystem::path& folder, const std::string& model,
                                const RunDtypes& dtypes, int most_steps);

}  // namespace tilewright::tools
