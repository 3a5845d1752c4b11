// The section models: whole steps of Llama with random weights.
#include "tools/bench/models.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/bench/device_clock.h"
#include "tools/bench/kernel_case.h"
#include "tools/measure.h"

namespace tilewright::tools {

StepSizes step_sizes(const BenchSettings& settings) {
  if (settings.tiny) return {20, 32, {16}};
  return {1024, 2048, {128, 2048}};
}

Device device_of_tensors(const BenchSettings& settings) {
  return settings.device.memory() != nullptr ? settings.device : Device::cpu();
}

std::unique_ptr<Llama> model_on_device(const std::string& name, const BenchSettings& settings) {
  auto model = std::make_unique<Llama>(
      llama_config(name),
      LlamaOptions{.max_positions = step_sizes(settings).cache, .dtype = bf16, .init = Init::none});
  RandomData data(device_of_tensors(settings));
  for (NamedParameter& p : model->named_parameters())
    p.tensor = data.make(bf16, p.tensor.shape(), p.tensor.rank() == 1 ? 1 : 0.02);
  model->to(device_of_tensors(settings));
  return model;
}

Tensor ids_of(std::int64_t rows, const LlamaConfig& config, const Device& device) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < rows; ++i) ids.push_back(i * 7919 % config.vocabulary);
  return Tensor::from(ids, {1, rows}).to(device);
}

Tensor position_of(std::int64_t position, const Device& device) {
  return Tensor::from(std::vector<std::int64_t>{position}, {1}).to(device);
}

std::vector<std::string> model_names(const BenchSettings& settings) {
  if (settings.tiny) return {"tiny"};
  return {"llama3_2_1b", "llama3_2_3b"};
}

namespace {

Compiled step_of(Llama& model, const BenchSettings& settings) {
  return compile([&model](const Tensor& ids,
                          const Tensor& position) { return model.forward_last(ids, position); },
                 {.mode = settings.mode, .fullgraph = true, .device = settings.device});
}

// Bytes that a decode step must read: all weights but the table of embeddings (unless it is the
// head too), and the cache up to the position.
double step_bytes(Llama& model, std::int64_t position) {
  const LlamaConfig& c = model.config();
  double weights = static_cast<double>(model.parameter_count()) * 2;
  if (!c.tied_embeddings) weights -= static_cast<double>(c.vocabulary * c.hidden) * 2;
  return weights + 4.0 * static_cast<double>(c.layers * c.kv_heads * c.head_size * position);
}

// The logits after a prompt, by one call and by a shorter one and a step: the two ways share
// hardly any kernel, and must agree.
double disagreement(const Compiled& step, Llama& model, const Device& device, std::int64_t rows) {
  Tensor ids = ids_of(rows, model.config(), device);
  Tensor whole = step(ids, position_of(0, device)).to(Device::cpu()).clone();
  step(ids.slice(1, 0, rows - 1).clone(), position_of(0, device));
  Tensor stepped =
      step(ids.slice(1, rows - 1, rows).clone(), position_of(rows - 1, device)).to(Device::cpu());
  return relative_error(stepped, whole);
}

nlohmann::json timed(const BenchSettings& settings, const std::function<void()>& action) {
  double start = now_s();
  action();
  settings.device.synchronize();
  double first_call_s = now_s() - start;
  Timing time =
      device_times(settings.device, {action}, settings.rounds, settings.tiny ? 0 : 5e-3).front();
  return {{"seconds", time.median},
          {"least", time.least},
          {"p90", time.p90},
          {"first_call_s", first_call_s}};
}

nlohmann::json decode_row(Llama& model, const Compiled& step, const BenchSettings& settings) {
  Device device = device_of_tensors(settings);
  StepSizes sizes = step_sizes(settings);
  Tensor ids = ids_of(1, model.config(), device), at = position_of(sizes.context, device);
  nlohmann::json row = timed(settings, [&] { step(ids, at); });
  double bytes = step_bytes(model, sizes.context), seconds = row["seconds"];
  row["launches"] = step.report().back().launches;
  row["bytes"] = bytes;
  row["tokens_per_s"] = 1 / seconds;
  row["rate"] = bytes / 1e9 / seconds;
  row["unit"] = "GB/s";
  return row;
}

nlohmann::json prompt_row(Llama& model, const Compiled& step, std::int64_t rows,
                          const BenchSettings& settings) {
  Device device = device_of_tensors(settings);
  const LlamaConfig& c = model.config();
  Tensor ids = ids_of(rows, c, device), at = position_of(0, device);
  nlohmann::json row = timed(settings, [&] { step(ids, at); });
  auto tokens = static_cast<double>(rows), seconds = row["seconds"].get<double>();
  auto body = static_cast<double>(c.parameter_count() -
                                  c.vocabulary * c.hidden * (c.tied_embeddings ? 1 : 2));
  double flops = 2 * body * tokens + 2.0 * static_cast<double>(c.vocabulary * c.hidden) +
                 2 * tokens * tokens * static_cast<double>(c.layers * c.heads * c.head_size);
  row["flops"] = flops;
  row["tokens_per_s"] = tokens / seconds;
  row["rate"] = flops / 1e12 / seconds;
  row["unit"] = "TFLOP/s";
  return row;
}

}  // namespace

void bench_models(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  for (const std::string& name : model_names(settings)) {
    std::unique_ptr<Llama> model;
    std::optional<Compiled> step;
    auto ready = [&] {
      if (model == nullptr) model = model_on_device(name, settings);
      if (!step) step = step_of(*model, settings);
    };
    StepSizes sizes = step_sizes(settings);
    log.run(fmt::format("{} decode, context {}", name, sizes.context), [&] {
      ready();
      nlohmann::json row = decode_row(*model, *step, settings);
      double error = disagreement(*step, *model, device_of_tensors(settings), 9);
      row["error"] = std::isfinite(error) ? nlohmann::json(error) : nlohmann::json();
      row["ok"] = error < 0.05;
      if (!row["ok"]) row["note"] = "a prompt and a step after a shorter one give other logits";
      return row;
    });
    for (std::int64_t rows : sizes.prompts)
      log.run(fmt::format("{} prompt of {}", name, rows), [&] {
        ready();
        return prompt_row(*model, *step, rows, settings);
      });
  }
}

}  // namespace tilewright::tools
