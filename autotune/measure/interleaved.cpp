#include "autotune/measure/interleaved.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "autotune/database/row/statistics.h"
#include "autotune/space/random.h"

namespace tilewright::autotune {
namespace {

constexpr double disturbed = 1.5;  // times the median

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool Timing::failed() const { return samples.empty() || std::isinf(samples.back()); }
double Timing::seconds() const {
  return failed() ? std::numeric_limits<double>::infinity() : median(samples);
}

std::vector<Timing> time_interleaved(std::size_t programs, const RunOnce& run, const Rounds& rounds,
                                     Random& random) {
  std::vector<Timing> timings(programs);
  std::vector<std::size_t> running(programs);
  std::iota(running.begin(), running.end(), std::size_t{0});
  std::size_t runs = 0;
  auto is_over = [&, least = std::min<std::size_t>(programs, 2)] {
    return runs >= least && rounds.clock() >= rounds.until;
  };
  for (int round = 0; round < rounds.count && !running.empty(); ++round) {
    if (round > 0) std::ranges::shuffle(running, random);
    for (std::size_t program : running) {
      if (is_over()) return timings;
      timings[program].samples.push_back(run(program));
      ++runs;
    }
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t program : running) best = std::min(best, timings[program].seconds());
    std::erase_if(running, [&](std::size_t program) {
      Timing& timing = timings[program];
      if (timing.failed()) return true;
      if (program < rounds.always) return false;
      double least = *std::ranges::min_element(timing.samples);
      timing.was_dropped = (round >= 1 && least > best * rounds.hopeless) ||
                           (round >= 2 && least > best * rounds.behind);
      return timing.was_dropped;
    });
  }
  return timings;
}

std::vector<double> interleaved_medians(const std::vector<std::function<void()>>& functions,
                                        int rounds, double shortest) {
  auto seconds_of = [](const std::function<void()>& function, int calls) {
    const double start = steady_seconds();
    for (int call = 0; call < calls; ++call) function();
    return (steady_seconds() - start) / calls;
  };
  std::vector<int> calls;
  for (const auto& function : functions) {
    function();
    const double once = std::max(seconds_of(function, 1), 1e-9);
    calls.push_back(static_cast<int>(std::clamp(shortest / once, 1.0, 1e6)));
  }
  std::vector<std::vector<double>> samples(functions.size());
  for (int round = 0; round < std::max(rounds, 1); ++round)
    for (std::size_t i = 0; i < functions.size(); ++i)
      samples[i].push_back(seconds_of(functions[i], calls[i]));
  std::vector<double> medians;
  for (const std::vector<double>& list : samples) medians.push_back(median(list));
  return medians;
}

std::vector<double> beside(const Timing& timing, const Timing& preferred, double seconds) {
  std::vector<double> samples = timing.samples;
  if (preferred.failed()) return samples;
  double most = disturbed * preferred.seconds();
  for (std::size_t i = 0; i < std::min(samples.size(), preferred.samples.size()); ++i)
    samples[i] *= seconds / std::min(preferred.samples[i], most);
  return samples;
}

}  // namespace tilewright::autotune
