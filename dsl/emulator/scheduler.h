// Which thread of a cluster runs, and which waits.
//
// A thread runs until it must wait: for the lanes of its warp at a collective, for a barrier, for
// an asynchronous copy. Then another thread that can go on is chosen, at random by the seed. A wait
// is never a loop: whoever completes what is awaited wakes the waiters. So a cluster in which no
// thread can go on, and no asynchronous work is left to finish, is a deadlock, and is reported with
// what everybody waits for.
//
// The scheduler cannot know what a thread that polls memory waits for. After some thousand calls
// such a thread lets others go on, and if nothing else happens for long, that is a fault too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dsl/emulator/thread.h"

namespace tilewright::dsl::emulator {

class Scheduler {
 public:
  // Thrown through the C++ frames of a thread whose cluster has failed, and nowhere else.
  struct Cancelled {};

  // Forgets former threads. The order is drawn from `random`, which is not 0.
  void reset(std::uint64_t random);
  void make_ready(Thread& thread) { ready_.push_back(&thread); }
  bool is_any_ready() const { return !ready_.empty(); }
  // Runs a thread that is ready, and others after it, until none is or one leaves.
  void run() { go_on_with(next_ready(), main_); }
  // Has a thread leave its wait by `Cancelled`.
  void cancel(Thread& thread);

  Thread* running() const { return running_; }
  // The first that a thread does on its stack, and the last.
  Thread& enter();
  [[noreturn]] void leave(Thread& thread);

  // Stops the calling thread until `wake`.
  void wait(const Call& call);
  void wake(Thread& thread);
  // Something happened but for wakes: a thread finished.
  void note_event() { ++events_; }
  // After a call of the running thread: lets others go on if it has made many. False if it has had
  // so many turns while nothing else happened that it will never end.
  bool take_turns(Thread& thread);
  std::size_t random_below(std::size_t bound);

 private:
  Thread& next_ready();
  void go_on_with(Thread& thread, Context& from);

  std::vector<Thread*> ready_;
  Context main_;
  Context* left_ = nullptr;  // that was left for the thread which runs
  Thread* running_ = nullptr;
  std::uint64_t events_ = 0;  // waits that ended, threads that finished
  std::uint64_t random_ = 1;
  bool is_cancelled_ = false;
};

}  // namespace tilewright::dsl::emulator
