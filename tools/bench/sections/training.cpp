// The section training: whole steps of training (forward, backward, clipping, optimizer), each one
// compiled function, beside PyTorch's.
#include <cmath>

#include "models/training/training_step.h"
#include "tools/bench/beside.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/sections/training_networks.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

nlohmann::json measure(const TrainedNetwork& network, const BenchSettings& settings) {
  TrainingStepOptions options;
  if (network.clip > 0) options.clip = DynamicScalar(network.clip);
  const Device device = settings.device;
  if (device.memory() != nullptr) {
    network.module->to(device);
    network.optimizer->to(device);
    if (options.clip) Tensor(options.clip->tensor()).move_to(device);
  }
  const auto step = training_step(*network.module, network.loss, *network.optimizer, options);
  auto train = compile([&](const Tensor& x, const Tensor& y) { return step(x, y); },
                       {.mode = settings.mode, .fullgraph = true, .device = device});
  const double start = now_s();
  const double first = train(network.x, network.y).to(Device::cpu()).item<double>();
  const double first_call_s = now_s() - start;
  nlohmann::json row;
  auto action = [&] { train(network.x, network.y); };
  if (is_host(settings)) {
    nlohmann::json question = network.question;
    question["op"] = "training";
    time_beside(row, {.ours = action, .question = std::move(question)}, settings);
  } else {
    const Timing time = device_times(device, {action}, settings.rounds).front();
    row = {{"seconds", time.median}, {"least", time.least}, {"p90", time.p90}};
  }
  // The same batch in each step, which a network learns by heart.
  const double last = train(network.x, network.y).to(Device::cpu()).item<double>();
  const PlanReport report = train.report().front();
  row.update({{"parameters", network.module->parameter_count()},
              {"first_loss", first},
              {"last_loss", last},
              {"launches", report.launches},
              {"arena_bytes", report.arena_bytes},
              {"first_call_s", first_call_s},
              {"ok", std::isfinite(last) && last < first}});
  return row;
}

}  // namespace

void bench_training(BenchLog& log) {
  for (const auto& [name, make] : training_networks(log.settings().tiny))
    log.run(name, [&] { return measure(make(), log.settings()); });
}

}  // namespace tilewright::tools
