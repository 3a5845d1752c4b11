// A library for LD_PRELOAD with another clock than the machine's.
//
//   DRILL_CLOCK="at -2000000000"   the calendar begins at this second since 1970, and goes on
//   DRILL_CLOCK=frozen             no clock moves
//   DRILL_CLOCK="times 1000"       all clocks run so much faster
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr long long second_ns = 1'000'000'000;

long long real_ns(clockid_t clock) {
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  return now.tv_sec * second_ns + now.tv_nsec;
}

struct Plan {
  long long start_s = 0, factor = 1;
  bool is_moved = false, is_frozen = false;
  long long begin_ns[2];  // real, of the calendar and of the steady clock
};

const Plan& plan() {
  static const Plan made = [] {
    Plan plan;
    const char* text = getenv("DRILL_CLOCK");
    plan.begin_ns[0] = real_ns(CLOCK_REALTIME);
    plan.begin_ns[1] = real_ns(CLOCK_MONOTONIC);
    if (text == nullptr) return plan;
    plan.is_frozen = strcmp(text, "frozen") == 0;
    plan.is_moved = sscanf(text, "at %lld", &plan.start_s) == 1;
    sscanf(text, "times %lld", &plan.factor);
    return plan;
  }();
  return made;
}

long long told_ns(clockid_t clock) {
  const Plan& p = plan();
  bool is_steady = clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE;
  long long begin = p.begin_ns[is_steady ? 1 : 0];
  long long passed = p.is_frozen ? 0 : (real_ns(clock) - begin) * p.factor;
  return (p.is_moved && !is_steady ? p.start_s * second_ns : begin) + passed;
}

bool is_told(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME_COARSE ||
         clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME || clock == CLOCK_MONOTONIC_RAW;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* to) noexcept {
  if (!is_told(clock)) return static_cast<int>(syscall(SYS_clock_gettime, clock, to));
  long long ns = told_ns(clock);
  long long rest = (ns % second_ns + second_ns) % second_ns;
  to->tv_sec = (ns - rest) / second_ns;
  to->tv_nsec = rest;
  return 0;
}

time_t time(time_t* to) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != nullptr) *to = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(timeval* to, void*) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  to->tv_sec = now.tv_sec;
  to->tv_usec = now.tv_nsec / 1000;
  return 0;
}

}  // extern "C"
