// One cluster of an emulated kernel: the blocks that run together, and who waits for whom.
//
// Most kernels know nothing of clusters, and then each block is a cluster of its own. Blocks of one
// cluster reach each other's shared memory, so their threads are fibers of one thread of the host.
//
// A thread runs until it must wait: for the lanes of its warp at a collective, for a barrier, for
// an asynchronous copy. Then another thread that can go on is chosen, at random by the seed. A wait
// is never a loop: whoever completes what is awaited wakes the waiters. So a cluster in which no
// thread can go on, and no asynchronous work is left to finish, is a deadlock, and is reported with
// what everybody waits for.
//
// The scheduler cannot know what a thread that polls memory waits for. After some thousand calls
// such a thread lets others go on, and if nothing else happens for long, that is a fault too.
//
// Asynchronous work is finished as late as its waits allow, when a thread waits for it and no other
// thread can go on, so that a wait that is missing shows in every run.
//
// A fault is an exception. It cannot pass through generated code, so it is kept where the generated
// code called out; then every other thread is woken to leave its wait, all stacks are given up, and
// `run` throws it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "dsl/emulator/async_work.h"
#include "dsl/emulator/clocks.h"
#include "dsl/emulator/fiber.h"
#include "dsl/emulator/thread_block.h"

namespace tilewright::dsl::emulator {

// What a block runs; alive as long as the code.
struct EmulatedKernel {
  std::string name;
  int threads = 0;  // of a block
  std::int64_t shared_bytes = 0;
  int cluster = 1;  // blocks that run together, neighbours along axis 0
  void (*body)(const void* arguments) = nullptr;
  std::deque<CallSite> sites;  // stable addresses
  EmulatorOptions options;
};

class Cluster {
 public:
  Cluster();
  ~Cluster();

  // Runs the blocks of a grid from `place` on; raises EmulationFault. Can be run again.
  void run(const EmulatedKernel& kernel, const void* arguments,
           const std::array<std::int64_t, 3>& place, const std::array<std::int64_t, 3>& grid);
  // The cluster that this thread of the host runs now.
  static Cluster& current();
  void run_call(const CallSite& site, const Slot* operands, Slot* results);

  const EmulatedKernel& kernel() const { return *kernel_; }
  int size() const { return kernel_->cluster; }
  ThreadBlock& block(int rank) { return *blocks_[static_cast<std::size_t>(rank)]; }
  // The block in whose range of addresses for shared memory an address lies, or null.
  ThreadBlock* block_with(const void* address);
  Clocks& clocks() { return clocks_; }
  // What the engines are moving, of all blocks.
  std::vector<TensorLoad>& loads() { return loads_; }
  const Thread* running() const { return running_; }
  std::size_t random_below(std::size_t bound);

  // Stops the calling thread until `wake`.
  void wait(const Call& call);
  void wake(Thread& thread);

  // The barrier of all threads that have not finished: a thread arrives, and later awaits the rest.
  void arrive_at_barrier(const Call& call);
  void await_barrier(const Call& call);

 private:
  struct Barrier {
    int arrived = 0;
    std::int64_t phase = 0;
    Clocks::Knowledge gathered, completed;  // of this phase so far; of the one before
    std::vector<Thread*> waiting;
  };

  static void enter_thread();
  void run_threads();
  Thread& next_ready();
  void go_on_with(Thread& thread, Context& from);
  void take_turns(const Call& call);
  void finish(Thread& thread);
  bool finish_async_work();
  void cancel();
  void complete_barrier_if_all_came();
  [[noreturn]] void report_deadlock();

  const EmulatedKernel* kernel_ = nullptr;
  const void* arguments_ = nullptr;
  std::vector<std::unique_ptr<ThreadBlock>> blocks_;
  Clocks clocks_;
  std::vector<TensorLoad> loads_;
  Barrier barrier_;
  std::unique_ptr<Stacks> stacks_;
  std::vector<Thread*> ready_;
  Context main_;
  Context* left_ = nullptr;  // that was left for the thread which runs
  Thread* running_ = nullptr;
  int unfinished_ = 0;
  std::uint64_t events_ = 0;  // waits that ended, threads that finished
  std::uint64_t random_ = 1;
  std::exception_ptr fault_;
  bool is_cancelled_ = false;
};

}  // namespace tilewright::dsl::emulator
