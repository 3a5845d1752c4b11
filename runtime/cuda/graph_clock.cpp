#include "runtime/cuda/graph_clock.h"

namespace tilewright::cuda {
namespace {

constexpr std::int64_t most_times = 1 << 14;  // of work that takes no time at all

}  // namespace

GraphClock::GraphClock(Context& context, std::vector<PreparedLaunch> launches)
    : launches_(std::move(launches)), graph_(context, launches_), begin_(context), end_(context) {}

double GraphClock::seconds(double at_least_seconds) {
  seconds_of(1);
  for (std::int64_t times = 1;; times *= 2) {
    double spent = seconds_of(times);
    if (spent >= at_least_seconds || times >= most_times) return spent / static_cast<double>(times);
  }
}

double GraphClock::seconds_of(std::int64_t times) {
  begin_.record();
  for (std::int64_t i = 0; i < times; ++i) graph_.start();
  end_.record();
  end_.wait();
  return end_.seconds_since(begin_);
}

}  // namespace tilewright::cuda
