// A fixed set of threads that run the pieces of one parallel loop at a time.
//
// Separate from parallel.h, which owns the one pool of the process: this class knows nothing of
// settings, hooks or forks, so that it can be tested and measured by itself.
//
// How a loop runs. The caller splits [0, count) into one slice a worker and opens the loop; it then
// takes pieces of its own slice from the front, and when that is empty takes half of another
// slice's rest from the back. A worker that is awake joins and does the same. The caller never
// waits for a worker that has not joined: it closes the loop when no piece is left, and waits only
// for those inside. So a loop of a microsecond costs no more for a worker that sleeps than the
// system call that wakes it, and uneven programs balance.
//
// A worker without work spins for `spin_ns` and then sleeps in the kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/fork_gate.h"
#include "runtime/cpu/range_body.h"

namespace tilewright {

class ThreadPool {
 public:
  static constexpr int max_workers = 1024;
  static constexpr std::int64_t spin_ns = 20'000;

  // `workers` counts the calling thread: workers - 1 threads are started. Raises `Error` where the
  // system refuses one.
  explicit ThreadPool(int workers);
  ~ThreadPool();  // joins; no loop may be running
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const { return workers_; }

  // Runs the loop with at most `limit` workers and returns when every piece is done. One call at a
  // time. The caller is worker 0; the others are numbered in the order in which they join.
  void run(std::int64_t count, int limit, RangeBody body, void* context);

  // Worker index of the calling thread inside a body of any pool, -1 outside.
  static int current_worker();

  // Marks the calling thread as inside a body, as `worker`, while it lives.
  class InsideBody {
   public:
    explicit InsideBody(int worker);
    ~InsideBody();
    InsideBody(const InsideBody&) = delete;
    InsideBody& operator=(const InsideBody&) = delete;

   private:
    InsideLibrary::OnBehalf of_the_caller_;
    int former_;
  };

 private:
  // The remaining work of one worker: begin in the low half, end in the high half, in units of
  // `unit_`.
  struct alignas(64) Slice {
    std::atomic<std::uint64_t> range{0};
  };

  void work(int worker);  // takes pieces until none is left
  void serve();           // the life of a thread
  bool join(std::uint32_t& seen);
  void leave();
  void wait_until_left();
  void run_piece(std::uint64_t begin, std::uint64_t end, int worker);
  void stop();

  const int workers_;
  // The loop that runs; written by the caller while no worker is inside.
  RangeBody body_ = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0, unit_ = 1;
  int slices_ = 0;
  std::atomic<int> next_worker_{1};  // of the loop, to join
  std::atomic<bool> stopping_{false};
  // Number of the loop, whether it is open, whether the caller sleeps, workers inside (see .cpp).
  alignas(64) std::atomic<std::uint32_t> state_{0};
  alignas(64) std::atomic<std::int32_t> sleepers_{0};
  std::unique_ptr<Slice[]> slice_;
  std::vector<std::thread> threads_;
};

}  // namespace tilewright
