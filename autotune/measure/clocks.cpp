#include "autotune/measure/clocks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "autotune/database/row/record.h"
#include "runtime/cuda/driver/driver.h"

namespace tilewright::autotune {
namespace {

constexpr double much_lower = 0.95;
constexpr int tries = 3, turns = 256, additions = 64;  // a turn

}  // namespace

std::optional<double> core_mhz() {
#ifdef __x86_64__
  double best = 0;  // whatever disturbs a try makes it slower
  for (int i = 0; i < tries; ++i) {
    std::uint64_t sum = 1;
    auto begin = std::chrono::steady_clock::now();
    // Both operands are registers: additions of small constants are free on some processors.
    for (int turn = 0; turn < turns; ++turn)
      asm volatile(".rept %c1\n\tadd %0, %0\n\t.endr" : "+r"(sum) : "i"(additions) : "cc");
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    best = std::max(best, turns * additions / spent.count());
  }
  return best * 1e-6;
#else
  return {};
#endif
}

void ClockWatch::look() {
  if (!device_.is_cuda()) {
    if (std::optional<double> mhz = core_mhz()) saw(*mhz);
  } else if (cuda::why_no_driver().empty()) {
    if (auto clocks = cuda::clocks_of(cuda::context(device_.ordinal()).facts())) saw(*clocks);
  }
}

void ClockWatch::saw(double mhz) {
  fell_ = fell_ || mhz < much_lower * most_;
  least_ = most_ == 0 ? mhz : std::min(least_, mhz);
  most_ = std::max(most_, mhz);
}

void ClockWatch::saw(const cuda::GpuClocks& clocks) {
  if (!gpu_) gpu_ = clocks;
  gpu_->sm_mhz = std::min(gpu_->sm_mhz, clocks.sm_mhz);
  gpu_->memory_mhz = std::min(gpu_->memory_mhz, clocks.memory_mhz);
  if (clocks.throttle != cuda::Throttle::none) gpu_->throttle = clocks.throttle;
}

std::string ClockWatch::text() const {
  if (gpu_)
    return Record()
        .set("sm", gpu_->sm_mhz)
        .set("memory", gpu_->memory_mhz)
        .set("throttled", name_of(gpu_->throttle))
        .text();
  if (most_ == 0) return {};
  return Record().set("core", std::llround(least_)).set("throttled", fell_ ? "yes" : "no").text();
}

}  // namespace tilewright::autotune
