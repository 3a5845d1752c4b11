#include "autotune/measure/clocks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "autotune/database/record.h"

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
  if (!is_host_) return;
  if (std::optional<double> mhz = core_mhz()) saw(*mhz);
}

void ClockWatch::saw(double mhz) {
  fell_ = fell_ || mhz < much_lower * most_;
  least_ = most_ == 0 ? mhz : std::min(least_, mhz);
  most_ = std::max(most_, mhz);
}

std::string ClockWatch::text() const {
  if (most_ == 0) return {};
  return Record().set("core", std::llround(least_)).set("throttled", fell_ ? "yes" : "no").text();
}

}  // namespace tilewright::autotune
