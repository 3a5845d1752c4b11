// What each thread knows of the others: vector clocks, by which races are found.
//
// Every thread counts the times at which it let others know what it did (barriers, arrivals). An
// access at time t of thread a happened before what thread b does now if b knows a's time t. Two
// accesses of one byte, one of them a write, of which neither happened before the other, are a
// race: whatever order this run had, another could have had the other. Clocks are those of
// FastTrack (Flanagan and Freund 2009). One row more than there are threads stands for the engine
// that does asynchronous copies. A barrier of the whole block is kept apart as one row that all
// know, so that it costs the number of threads and not its square.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::dsl::emulator {

using Time = std::uint32_t;  // 0: never

class Clocks {
 public:
  using Knowledge = std::vector<Time>;  // a time of each thread

  // Clocks that are not kept take everything for ordered.
  void reset(int threads, bool are_kept) {
    are_kept_ = are_kept;
    width_ = static_cast<std::size_t>(threads) + 1;
    now_.assign(width_, 1);
    fenced_.assign(width_, 0);
    all_know_.assign(width_, 0);
    rows_.assign(are_kept ? width_ * width_ : 0, 0);
  }

  int engine() const { return static_cast<int>(width_) - 1; }
  Time now(int thread) const { return now_[static_cast<std::size_t>(thread)]; }

  bool happened_before(int thread, Time time, int reader) const {
    auto column = static_cast<std::size_t>(thread);
    return !are_kept_ || thread == reader || time <= all_know_[column] ||
           time <= rows_[static_cast<std::size_t>(reader) * width_ + column];
  }

  // Whoever acquires `knowledge` will know all that `thread` did and knew so far.
  void release(int thread, Knowledge& knowledge) {
    if (!are_kept_) return;
    knowledge.resize(width_, 0);
    join(knowledge.data(), row(thread));
    auto column = static_cast<std::size_t>(thread);
    knowledge[column] = std::max(knowledge[column], now_[column]);
    ++now_[column];
  }
  void acquire(int thread, const Knowledge& knowledge) {
    if (!knowledge.empty()) join(row(thread), knowledge.data());
  }

  // All threads met.
  void meet_all() {
    if (!are_kept_) return;
    std::size_t engine_column = width_ - 1;
    for (std::size_t i = 0; i < engine_column; ++i) {
      all_know_[i] = now_[i]++;
      all_know_[engine_column] =
          std::max(all_know_[engine_column], rows_[i * width_ + engine_column]);
    }
  }

  // The thread's writes so far may be read by asynchronous operations.
  void fence(int thread) {
    auto column = static_cast<std::size_t>(thread);
    fenced_[column] = now_[column]++;
  }
  bool is_fenced(int thread, Time time) const {
    return !are_kept_ || time <= fenced_[static_cast<std::size_t>(thread)];
  }

 private:
  Time* row(int thread) { return rows_.data() + static_cast<std::size_t>(thread) * width_; }
  void join(Time* to, const Time* from) const {
    for (std::size_t i = 0; i < width_; ++i) to[i] = std::max(to[i], from[i]);
  }

  bool are_kept_ = true;
  std::size_t width_ = 0;
  std::vector<Time> now_, fenced_, all_know_, rows_;
};

}  // namespace tilewright::dsl::emulator
