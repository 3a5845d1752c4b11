// One cluster of an emulated kernel: the blocks that run together, and the waits between their
// threads.
//
// Most kernels know nothing of clusters, and then each block is a cluster of its own. Blocks of one
// cluster reach each other's shared memory, so their threads are fibers of one thread of the host.
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
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "dsl/emulator/clocks.h"
#include "dsl/emulator/cluster_state.h"
#include "dsl/emulator/fiber.h"
#include "dsl/emulator/thread_block.h"

namespace tilewright::dsl::emulator {

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

  int size() const { return state_.kernel->cluster; }
  ThreadBlock& block(int rank) { return *blocks_[static_cast<std::size_t>(rank)]; }
  // The block in whose range of addresses for shared memory an address lies, or null.
  ThreadBlock* block_with(const void* address);
  // The block whose shared memory the address of a call belongs to; visited, if it is another one
  // than the caller's.
  ThreadBlock& owner_of(const Call& call, const void* address);

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
  void finish(Thread& thread);
  bool finish_async_work();
  void cancel();
  void complete_barrier_if_all_came();
  [[noreturn]] void report_deadlock();

  ClusterState state_;
  const void* arguments_ = nullptr;
  std::vector<std::unique_ptr<ThreadBlock>> blocks_;
  Barrier barrier_;
  std::unique_ptr<Stacks> stacks_;
  int unfinished_ = 0;
  std::exception_ptr fault_;
};

}  // namespace tilewright::dsl::emulator
