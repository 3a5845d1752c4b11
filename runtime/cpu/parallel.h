// Running the programs of a grid on the threads of the host.
//
// A launch splits [0, count) among workers. By default the library has a small pool of its own
// whose workers spin for a few microseconds and then sleep; a host program that owns its threads
// puts its own function in its place with `set_parallel_for`, and the library then starts no thread
// at all.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/cpu/range_body.h"

namespace tilewright {

// Runs body over [0, count) in pieces, returns when all of them are done, rethrows nothing: bodies
// must not throw.
using ParallelFor = std::function<void(std::int64_t count, RangeBody body, void* context)>;

// How many workers a launch may use. The default is the number of CPUs this process may run on, or
// TILEWRIGHT_THREADS. Raises `Error` for a count below 1 or above 1024. Not to be called while
// launches run.
void set_thread_count(int count);
// That number, or the limit of the calling thread if this is smaller.
int thread_count();

// Limits the launches of the calling thread to so many workers while it lives. The smallest
// of several limits holds. With a limit of 1 the thread runs its loops itself and needs no pool,
// which suits a server that has as many threads as the machine has processors.
class ThreadLimit {
 public:
  // 0: no limit. Raises `Error` for a count below 0 or above 1024.
  explicit ThreadLimit(int count);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

  static int of_thread();  // the calling one; 0: none

 private:
  int former_;
};

// The number of threads that programs are made for: how work is cut decides the order of sums. It
// is thread_count(), or that of the calling thread's PlannedThreads.
int planned_threads();
// While it lives, the calling thread plans programs for so many threads, whatever number runs them.
class PlannedThreads {
 public:
  // 0: as before. Raises `Error` for a count below 0 or above 1024.
  explicit PlannedThreads(int count);
  ~PlannedThreads();
  PlannedThreads(const PlannedThreads&) = delete;
  PlannedThreads& operator=(const PlannedThreads&) = delete;

 private:
  int former_;
};

// Replaces the pool (an empty function restores it) and ends the pool's threads. Must be called
// before the first launch or between launches. `hook` must call the body for every index once, with
// worker indices below `workers`, which becomes thread_count(); it may be called from several
// threads at once, because its threads are the host's to arrange.
void set_parallel_for(ParallelFor hook, int workers);

// Runs [0, count) on the present hook or pool; on the calling thread alone if count is 1, if there
// is one worker, or if it is called from within a body. The pool runs one loop at a time, with the
// workers that loops of other threads leave. A call that finds it in use works on its own thread,
// piece by piece, and hands the rest over once the pool is free; only a loop of more than some 25
// microseconds a worker waits for it. A child after fork() gets a pool of its own at its first
// loop.
void parallel_for(std::int64_t count, RangeBody body, void* context);

}  // namespace tilewright
