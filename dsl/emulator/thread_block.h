// One block of an emulated kernel: its threads as fibers, and who waits for whom.
//
// A thread runs until it must wait: for the lanes of its warp at a collective, for a barrier, for
// an asynchronous copy. Then another thread that can go on is chosen, at random by the seed. A wait
// is never a loop: whoever completes what is awaited wakes the waiters. So a block in which no
// thread can go on, and no asynchronous work is left to finish, is a deadlock, and is reported with
// what everybody waits for.
//
// A thread that polls memory waits for nothing that is known here; after some thousand calls it
// lets others go on, and if for long nothing else happens, that is a fault too.
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
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dsl/emulator/access_counter.h"
#include "dsl/emulator/async_work.h"
#include "dsl/emulator/call_site.h"
#include "dsl/emulator/fiber.h"
#include "dsl/emulator/options.h"
#include "dsl/emulator/shared_memory.h"

namespace tilewright::dsl::emulator {

inline constexpr int warp_lanes = 32;
inline constexpr int warpgroup_threads = 128;

// One thread of the block.
struct Thread {
  int index = 0;
  Context context;
  bool is_started = false, is_finished = false;
  const Call* waits_in = nullptr;  // the call, while the thread waits
  int calls = 0;                   // since others had their turn
  int turns = 0;                   // that it has had since anything happened in the block
  std::uint64_t seen_events = 0;
  Groups<SharedCopy> copies;
  Groups<TensorStore> stores;
};

// What a block runs; alive as long as the code.
struct EmulatedKernel {
  std::string name;
  int threads = 0;
  std::int64_t shared_bytes = 0;
  void (*body)(const void* arguments) = nullptr;
  std::deque<CallSite> sites;  // stable addresses
  EmulatorOptions options;
};

// Threads that must all arrive before any goes on.
struct Gathering {
  std::vector<const Call*> arrived;
};

struct NamedBarrier {
  int expected = 0;  // threads, 0 if nobody has come
  int arrived = 0;
  std::vector<const Call*> waiting;
  std::array<const Call*, 32> first_of_warp{};  // that waits
  Clocks::Knowledge knowledge;
};

class ThreadBlock {
 public:
  ThreadBlock();
  ~ThreadBlock();

  // Runs the block at `place` of a grid; raises EmulationFault. The block can be run again.
  void run(const EmulatedKernel& kernel, const void* arguments,
           const std::array<std::int64_t, 3>& place, const std::array<std::int64_t, 3>& grid);
  // The block that this thread of the host runs now.
  static ThreadBlock& current();
  void run_call(const CallSite& site, const Slot* operands, Slot* results);

  const EmulatedKernel& kernel() const { return *kernel_; }
  const std::array<std::int64_t, 3>& place() const { return place_; }
  const std::array<std::int64_t, 3>& grid() const { return grid_; }
  SharedMemory& shared() { return shared_; }
  Clocks& clocks() { return clocks_; }
  AsyncEngine& engine() { return engine_; }
  ProductQueue& products(const Thread& thread) {
    return products_[static_cast<std::size_t>(thread.index / warpgroup_threads)];
  }
  std::size_t random_below(std::size_t bound);
  Thread& thread(int index) { return threads_[static_cast<std::size_t>(index)]; }

  // Waits until `lanes` neighbouring threads (32: a warp, 128: a warpgroup) are at this call; the
  // last to come runs `complete` on all calls, in order of threads.
  using Complete = void (*)(ThreadBlock&, std::span<const Call* const>);
  void gather(const Call& call, int lanes, Complete complete);

  // A barrier for `expected` threads; one that does not wait only arrives.
  void barrier(const Call& call, int id, int expected, bool waits);

  // Stops the calling thread until `wake`.
  void wait(const Call& call);
  void wake(Thread& thread);

  // Raises EmulationFault with place and line.
  [[noreturn]] void fault(const Thread& thread, const CallSite& site,
                          const std::string& what) const;

  // Checks and notes an access of shared memory by the thread of a call, or raises a fault.
  void access_shared(const Call& call, Access access, const void* address, int bytes,
                     int alignment);
  // The same for bounds and alignment alone.
  void check_shared_place(const Call& call, const void* address, std::int64_t bytes,
                          int alignment) const;
  void check_global(const Call& call, const void* address, std::int64_t bytes, int alignment) const;
  // Counts an access of a lane, where a report was asked for.
  void count(const Call& call, AccessCounter::Memory memory, const void* address, int bytes);
  void raise_if(const Collision& collision, const Call& call, Access access,
                const void* address) const;

 private:
  static void enter_thread();
  void run_threads();
  Thread& next_ready();
  void go_on_with(Thread& thread, Context& from);
  void take_turns(const Call& call);
  void finish(Thread& thread);
  void end_block();
  bool finish_async_work();
  void cancel();
  void complete_barrier(NamedBarrier& barrier, bool is_all);
  void check_gathering(const Call& call, const Gathering& gathering, int first, int lanes) const;
  [[noreturn]] void report_deadlock();
  std::string describe_waits() const;

  const EmulatedKernel* kernel_ = nullptr;
  const void* arguments_ = nullptr;
  std::array<std::int64_t, 3> place_{}, grid_{};
  SharedMemory shared_;
  Clocks clocks_;
  AsyncEngine engine_;
  AccessCounter counter_;
  std::vector<ProductQueue> products_;
  std::unique_ptr<Stacks> stacks_;
  std::vector<Thread> threads_;
  std::vector<Thread*> ready_;
  std::vector<Gathering> warps_, warpgroups_;
  std::array<NamedBarrier, 16> barriers_;
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
