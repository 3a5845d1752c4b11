#include "autotune/database/sql/patience.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace tilewright::autotune {
namespace {

std::atomic<std::chrono::milliseconds::rep> spent_ms = 0;

}  // namespace

std::chrono::milliseconds Patience::left() {
  return std::max(std::chrono::milliseconds(0),
                  of_process - std::chrono::milliseconds(spent_ms.load()));
}

bool Patience::sleep(std::chrono::milliseconds wish) {
  std::chrono::milliseconds time = std::min(wish, left());
  if (time.count() <= 0) return false;
  take(time);
  std::this_thread::sleep_for(time);
  return true;
}

void Patience::take(std::chrono::milliseconds waited) {
  taken_ += waited;
  spent_ms += waited.count();
}

void Patience::give_back() {
  spent_ms -= taken_.count();
  taken_ = {};
}

}  // namespace tilewright::autotune
