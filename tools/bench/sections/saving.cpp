// The section saving: steps of training that keep all values for their gradients beside steps that
// keep a share of them (Options::saved_share), in turns.
#include <deque>

#include "models/training/training_step.h"
#include "tools/bench/section.h"
#include "tools/bench/sections/training_networks.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

constexpr double shares[] = {1, 0.8, 0.7, 0.6, 0.5, 0.4};

nlohmann::json measure_shares(const TrainedNetwork& network, const BenchSettings& settings) {
  TrainingStepOptions options;
  if (network.clip > 0) options.clip = DynamicScalar(network.clip);
  if (settings.device.memory() != nullptr) {
    network.module->to(settings.device);
    network.optimizer->to(settings.device);
    if (options.clip) Tensor(options.clip->tensor()).move_to(settings.device);
  }
  const auto step = training_step(*network.module, network.loss, *network.optimizer, options);
  auto train = [&](const Tensor& x, const Tensor& y) { return step(x, y); };
  using Compiled = decltype(compile(train));
  std::deque<Compiled> compiled;
  std::vector<std::function<void()>> actions;
  nlohmann::json rows = nlohmann::json::array();
  for (double share : shares) {
    compiled.push_back(compile(train, {.mode = settings.mode,
                                       .fullgraph = true,
                                       .device = settings.device,
                                       .saved_share = share}));
    Compiled& own = compiled.back();
    const double start = now_s();
    own(network.x, network.y);
    settings.device.synchronize();
    const double first_call_s = now_s() - start;
    const PlanReport report = own.report().front();
    rows.push_back({{"share", share},
                    {"saved_bytes", report.saving.saved_bytes},
                    {"bytes_of_all", report.saving.bytes_of_all},
                    {"arena_bytes", report.arena_bytes},
                    {"first_call_s", first_call_s}});
    actions.push_back([&own, &network, &settings] {
      own(network.x, network.y);
      settings.device.synchronize();
    });
  }
  finish_compiling();
  const std::vector<double> seconds = interleaved_medians(actions, settings.rounds);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i]["seconds"] = seconds[i];
    rows[i]["of_all_seconds"] = seconds[i] / seconds[0];
  }
  return {{"seconds", seconds[0]}, {"shares", rows}, {"ok", true}};
}

}  // namespace

void bench_saving(BenchLog& log) {
  for (const auto& [name, make] : training_networks(log.settings().tiny))
    log.run(name, [&] { return measure_shares(make(), log.settings()); });
}

}  // namespace tilewright::tools
