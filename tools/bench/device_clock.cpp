#include "tools/bench/device_clock.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "runtime/cuda/context.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

// Seconds of `count` calls.
double sample(const std::function<void()>& action, int count) {
  double start = now_s();
  for (int i = 0; i < count; ++i) action();
  return now_s() - start;
}

class GpuSamples {
 public:
  GpuSamples(cuda::Context& context, std::size_t actions) {
    for (std::size_t i = 0; i < 2 * actions; ++i) events_.emplace_back(context);
  }
  void take(std::size_t i, const std::function<void()>& action, int count) {
    events_[2 * i].record();
    for (int n = 0; n < count; ++n) action();
    events_[2 * i + 1].record();
  }
  double seconds(std::size_t i) {
    events_[2 * i + 1].wait();
    return events_[2 * i + 1].seconds_since(events_[2 * i]);
  }

 private:
  std::deque<cuda::Event> events_;
};

}  // namespace

double seconds_of(const Device& device, const std::function<void()>& call) {
  const double start = now_s();
  call();
  device.synchronize();
  return now_s() - start;
}

Timing timing_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  return {samples[samples.size() / 2], samples.front(), samples[samples.size() * 9 / 10]};
}

std::vector<Timing> device_times(const Device& device,
                                 const std::vector<std::function<void()>>& actions, int rounds,
                                 double shortest_s) {
  std::optional<GpuSamples> gpu;
  if (device.is_cuda()) gpu.emplace(cuda::context(device.ordinal()), actions.size());
  std::vector<int> counts;
  for (const auto& action : actions) {
    action();
    device.synchronize();
    double once = 0;
    if (gpu) {
      gpu->take(counts.size(), action, 1);
      once = gpu->seconds(counts.size());
    } else {
      once = sample(action, 1);
    }
    counts.push_back(static_cast<int>(std::clamp(shortest_s / std::max(once, 1e-7), 1.0, 1000.0)));
  }
  std::vector<std::vector<double>> samples(actions.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (gpu)
        gpu->take(i, actions[i], counts[i]);
      else
        samples[i].push_back(sample(actions[i], counts[i]) / counts[i]);
    }
    if (!gpu) continue;
    for (std::size_t i = 0; i < actions.size(); ++i)
      samples[i].push_back(gpu->seconds(i) / counts[i]);
  }
  device.synchronize();
  std::vector<Timing> times;
  for (auto& list : samples) times.push_back(timing_of(std::move(list)));
  return times;
}

}  // namespace tilewright::tools
