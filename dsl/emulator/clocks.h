// The knowledge of each thread about the others: vector clocks, by which races are found.
//
// Every thread counts how often it has published its accesses (barriers, arrivals). An access at
// time t of thread a happened before what thread b does now if b knows a's time t. Two accesses of
// one byte, one of them a write, of which neither happened before the other, are a race: whatever
// order this run had, another could have had the other. Clocks are those of FastTrack (Flanagan and
// Freund 2009). Threads of all blocks of a cluster are numbered together, block after block; one
// row more for each block stands for the engine that does the asynchronous copies into its shared
// memory. A barrier of a whole block is kept apart as one row that all its threads know, so that
// within a block it costs the number of threads and not its square.
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

  // Without `are_kept` everything counts as ordered.
  void reset(int blocks, int threads_of_block, bool are_kept) {
    are_kept_ = are_kept;
    blocks_ = static_cast<std::size_t>(blocks);
    block_threads_ = static_cast<std::size_t>(threads_of_block);
    threads_ = blocks_ * block_threads_;
    width_ = threads_ + blocks_;
    now_.assign(width_, 1);
    fenced_.assign(width_, 0);
    all_know_.assign(blocks_ * width_, 0);
    rows_.assign(are_kept ? width_ * width_ : 0, 0);
  }

  int engine(int block) const { return static_cast<int>(threads_) + block; }
  bool is_engine(int thread) const { return thread >= static_cast<int>(threads_); }
  Time now(int thread) const { return now_[static_cast<std::size_t>(thread)]; }

  bool happened_before(int thread, Time time, int reader) const {
    if (!are_kept_ || thread == reader) return true;
    auto column = static_cast<std::size_t>(thread), row = static_cast<std::size_t>(reader);
    return time <= all_know_[block_of(row) * width_ + column] ||
           time <= rows_[row * width_ + column];
  }

  // Adds all that `thread` did and knew so far to `knowledge`, for those who acquire it.
  void release(int thread, Knowledge& knowledge) {
    if (!are_kept_) return;
    knowledge.resize(width_, 0);
    auto column = static_cast<std::size_t>(thread);
    join(knowledge.data(), row(column));
    // Knowledge of a whole block matters to other blocks only.
    if (blocks_ > 1) join(knowledge.data(), &all_know_[block_of(column) * width_]);
    knowledge[column] = std::max(knowledge[column], now_[column]);
    ++now_[column];
  }
  void acquire(int thread, const Knowledge& knowledge) {
    if (!knowledge.empty()) join(row(static_cast<std::size_t>(thread)), knowledge.data());
  }

  // All threads of a block met.
  void meet_all(int block) {
    if (!are_kept_) return;
    std::size_t first = static_cast<std::size_t>(block) * block_threads_;
    std::size_t last = first + block_threads_;
    Time* all = &all_know_[static_cast<std::size_t>(block) * width_];
    for (std::size_t thread = first; thread < last; ++thread) {
      const Time* known = row(thread);
      for (std::size_t i = 0; i < first; ++i) all[i] = std::max(all[i], known[i]);
      for (std::size_t i = last; i < width_; ++i) all[i] = std::max(all[i], known[i]);
      all[thread] = now_[thread]++;
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
  Time* row(std::size_t thread) { return rows_.data() + thread * width_; }
  std::size_t block_of(std::size_t thread) const {
    return thread < threads_ ? thread / block_threads_ : thread - threads_;
  }
  void join(Time* to, const Time* from) const {
    for (std::size_t i = 0; i < width_; ++i) to[i] = std::max(to[i], from[i]);
  }

  bool are_kept_ = true;
  std::size_t blocks_ = 0, block_threads_ = 0, threads_ = 0, width_ = 0;
  std::vector<Time> now_, fenced_, all_know_, rows_;
};

}  // namespace tilewright::dsl::emulator
