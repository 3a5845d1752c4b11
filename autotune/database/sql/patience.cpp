#include "autotune/database/sql/patience.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace tilewright::autotune {
namespace {

using std::chrono::microseconds, std::chrono::milliseconds;

std::atomic<microseconds::rep> spent_us = 0;

microseconds still_left() {
  return std::max(microseconds(0), Patience::of_process - microseconds(spent_us.load()));
}

}  // namespace

milliseconds Patience::left() { return std::chrono::ceil<milliseconds>(still_left()); }

bool Patience::sleep(microseconds wish) {
  microseconds time = std::min(wish, still_left());
  if (time.count() <= 0) return false;
  take(time);
  std::this_thread::sleep_for(time);
  return true;
}

void Patience::take(microseconds waited) {
  taken_ += waited;
  spent_us += waited.count();
}

void Patience::give_back() {
  spent_us -= taken_.count();
  taken_ = {};
}

}  // namespace tilewright::autotune
