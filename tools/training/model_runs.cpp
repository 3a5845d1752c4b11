#include "tools/training/model_runs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "graph/compile/compile.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/tensor/precision/autocast.h"
#include "models/layers/containers.h"
#include "models/layers/convolutions.h"
#include "models/layers/norms.h"
#include "models/layers/stateless.h"
#include "models/optimizers/clipping.h"
#include "models/optimizers/loss_scale.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/sgd.h"
#include "models/optimizers/schedules/lr_scheduler.h"
#include "models/weights/safetensors.h"
#include "runtime/base/error.h"
#include "tools/training/character_gpt.h"

namespace tilewright::tools {
namespace {

struct DigitsMlp : Module {
  Linear hidden1{64, 64}, hidden2{64, 32}, output{32, 10};
  DigitsMlp() {
    register_module("hidden1", hidden1);
    register_module("hidden2", hidden2);
    register_module("output", output);
  }
  Tensor forward(const Tensor& images) const {
    return output(relu(hidden2(relu(hidden1(images.reshape({-1, 64}))))));
  }
};

struct DigitsCnn : Module {
  Conv2d conv1{1, 8, 3, {.padding = 1, .bias = false}},
      conv2{8, 16, 3, {.padding = 1, .bias = false}};
  BatchNorm2d norm1{8}, norm2{16};
  MaxPool2d pool{{2, 2}};
  Linear output{64, 10};
  DigitsCnn() {
    register_module("conv1", conv1);
    register_module("norm1", norm1);
    register_module("conv2", conv2);
    register_module("norm2", norm2);
    register_module("output", output);
  }
  Tensor forward(const Tensor& images) {
    const Tensor first = pool(relu(norm1(conv1(images))));
    return output(pool(relu(norm2(conv2(first)))).reshape({-1, 64}));
  }
};

using Batch = std::pair<Tensor, Tensor>;

// A model in training: its batches, its step, and the losses that it should have.
struct Run {
  std::vector<Batch> batches;
  std::function<std::pair<Tensor, Tensor>(const Tensor& x, const Tensor& y)> step;
  // PyTorch's. Peer losses are undefined where `peer` is their distance, norms where nothing is
  // clipped.
  Tensor losses, peer_losses, norms;
  double peer = 0, allowed = 0;
};

double difference(const Tensor& a, const Tensor& b) {
  return std::abs(a.to(f64).item<double>() - b.to(f64).item<double>());
}

ModelRun train(const std::string& name, Run run, int most_steps) {
  using Clock = std::chrono::steady_clock;
  ModelRun result{.name = name, .peer = run.peer, .allowed = run.allowed};
  auto step = compile(run.step, {.fullgraph = true});
  result.steps = std::min(most_steps, static_cast<int>(run.batches.size()));
  auto begin = Clock::now();
  for (int k = 0; k < result.steps; ++k) {
    if (k == 1) begin = Clock::now();
    const auto [loss, norm] = step(run.batches[k].first, run.batches[k].second);
    const Tensor wanted = run.losses.select(0, k);
    result.losses = std::max(result.losses, difference(loss, wanted));
    if (run.peer_losses.defined())
      result.peer = std::max(result.peer, difference(run.peer_losses.select(0, k), wanted));
    if (run.norms.defined())
      result.norms = std::max(result.norms, difference(norm, run.norms.select(0, k)));
    result.last_loss = loss.to(f64).item<double>();
  }
  const std::chrono::duration<double> spent = Clock::now() - begin;
  result.seconds = spent.count() / std::max(1, result.steps - 1);
  result.plans = step.report().size();
  return result;
}

// Batches of images in [0, 1] and labels.
std::vector<Batch> digit_batches(const std::filesystem::path& folder, DType dtype, bool is_planar) {
  const Safetensors data = Safetensors::open(folder / "data.safetensors");
  const Tensor images = data.tensor("images").to(dtype) / 16,
               labels = data.tensor("labels").to(i64), order = data.tensor("order").to(i64);
  std::vector<Batch> batches;
  for (std::int64_t k = 0; k < order.size(0); ++k) {
    const Tensor rows = order.select(0, k);
    const Tensor chosen = index_select(images, 0, rows).contiguous();
    batches.emplace_back(is_planar ? chosen.unsqueeze(1) : chosen,
                         index_select(labels, 0, rows).contiguous());
  }
  return batches;
}

// The loss of a model and the gradients of its parameters, in these dtypes.
template <typename Model>
std::pair<Tensor, NamedTensors> differentiated(Model& model, const RunDtypes& dtypes,
                                               const GradScaler& scaler, const Tensor& x,
                                               const Tensor& y) {
  auto loss_of = [&](const Tensor& a, const Tensor& b) {
    const AutocastScope scope({.dtype = dtypes.autocast.value_or(bf16),
                               .lists = AutocastLists::cpu,
                               .enabled = dtypes.autocast.has_value()});
    const Tensor loss = cross_entropy(model.forward(a), b);
    return std::pair{dtypes.autocast == f16 ? scaler.scale(loss) : loss, loss};
  };
  auto [losses, gradients] = value_and_grad(model, loss_of)(x, y);
  return {losses.second, std::move(gradients)};
}

// Momentum makes rounding grow: PyTorch's own runs in 16 bits end 0.1 from f64's losses.
constexpr double peer_of_digits = 0.0998, allowed_of_digits = 0.2;

template <typename Model, typename Optimizer>
Run digits_run(const std::filesystem::path& folder, const std::string& kind, Model& model,
               Optimizer& optimizer, GradScaler& scaler, const RunDtypes& dtypes) {
  const Safetensors stored = Safetensors::open(folder / (kind + ".result.safetensors"));
  auto step = [&, dtypes](const Tensor& x, const Tensor& y) -> std::pair<Tensor, Tensor> {
    auto [loss, gradients] = differentiated(model, dtypes, scaler, x, y);
    if (dtypes.autocast == f16) {
      scaler.step(optimizer, gradients);
      scaler.update();
    } else {
      optimizer.step(gradients);
    }
    return {loss, loss + 0.0};
  };
  Run run{digit_batches(folder, dtypes.parameters, kind == "cnn"),
          step,
          stored.tensor("loss.f64"),
          {},
          {}};
  run.peer = peer_of_digits;
  run.allowed = allowed_of_digits;
  if (dtypes.autocast) return run;
  run.peer_losses = stored.tensor("loss.f32");
  run.peer = 0;
  run.allowed = dtypes.parameters == f64 ? 1e-12 : 5e-6;
  return run;
}

template <typename Model>
void load_initial(Model& model, const std::filesystem::path& file, DType dtype) {
  model.to(dtype);
  model.load(Weights::of(Safetensors::open(file)));
}

ModelRun trained_mlp(const std::filesystem::path& folder, const RunDtypes& dtypes, int most_steps) {
  DigitsMlp model;
  load_initial(model, folder / "mlp.initial.safetensors", dtypes.parameters);
  Sgd optimizer(model, {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4});
  GradScaler scaler;
  return train("mlp", digits_run(folder, "mlp", model, optimizer, scaler, dtypes), most_steps);
}

ModelRun trained_cnn(const std::filesystem::path& folder, const RunDtypes& dtypes, int most_steps) {
  DigitsCnn model;
  load_initial(model, folder / "cnn.initial.safetensors", dtypes.parameters);
  AdamW optimizer(model, {.lr = 3e-3, .weight_decay = 0.01});
  GradScaler scaler;
  return train("cnn", digits_run(folder, "cnn", model, optimizer, scaler, dtypes), most_steps);
}

ModelRun trained_gpt(const std::filesystem::path& folder, const RunDtypes& dtypes, int most_steps) {
  CharacterGpt model;
  load_initial(model, folder / "initial.safetensors", dtypes.parameters);
  const auto optimizer_of_model = character_optimizer(model);
  AdamW& optimizer = *optimizer_of_model;
  LrScheduler scheduler(optimizer, schedules::lambda(character_rate));
  GradScaler scaler;
  auto step = [&](const Tensor& x, const Tensor& y) -> std::pair<Tensor, Tensor> {
    auto [loss, scaled] = differentiated(model, dtypes, scaler, x, y);
    Tensor is_infinite = full({}, 0, boolean);
    NamedTensors gradients = scaled;
    if (dtypes.autocast == f16) {
      auto unscaled = scaler.unscale(scaled);
      gradients = unscaled.gradients;
      is_infinite = unscaled.is_infinite;
      scaler.update();
    }
    auto [clipped, norm] = clip_by_global_norm(gradients, 1.0);
    optimizer.step_unless(is_infinite, clipped);
    scheduler.step_unless(is_infinite);
    return {loss, norm};
  };
  const Tensor windows = Safetensors::open(folder / "batches.safetensors").tensor("train").to(i64);
  std::vector<Batch> batches;
  for (std::int64_t k = 0; k < windows.size(0) && k < most_steps; ++k) {
    const Tensor window = windows.select(0, k);
    batches.emplace_back(window.slice(1, 0, 64).contiguous(),
                         window.slice(1, 1, 65).contiguous().reshape({-1}));
  }
  const Safetensors stored = Safetensors::open(folder / "curves.safetensors");
  const bool is_mixed = dtypes.autocast.has_value();
  Run run{std::move(batches), step, stored.tensor("loss.f64"),
          stored.tensor(is_mixed ? "loss.bf16" : "loss.f32"), stored.tensor("norm.f64")};
  run.allowed = is_mixed ? 5e-3 : dtypes.parameters == f64 ? 1e-12 : 2e-6;
  return train("gpt", std::move(run), most_steps);
}

}  // namespace

ModelRun trained_beside_pytorch(const std::filesystem::path& folder, const std::string& model,
                                const RunDtypes& dtypes, int most_steps) {
  if (model == "mlp") return trained_mlp(folder / "digits", dtypes, most_steps);
  if (model == "cnn") return trained_cnn(folder / "digits", dtypes, most_steps);
  require(model == "gpt", "[training_runs] there is no model ", model, "; mlp, cnn and gpt are");
  return trained_gpt(folder / "nanogpt", dtypes, most_steps);
}

}  // namespace tilewright::tools
