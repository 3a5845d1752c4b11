// One block of an emulated kernel: its threads, and what they alone share: memory, barriers by
// number, lanes that wait for each other. The cluster schedules them (cluster.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dsl/emulator/access_counter.h"
#include "dsl/emulator/async_work.h"
#include "dsl/emulator/call_site.h"
#include "dsl/emulator/cluster_state.h"
#include "dsl/emulator/shared_memory.h"
#include "dsl/emulator/thread.h"

namespace tilewright::dsl::emulator {

class Cluster;

// Threads that must all arrive before any goes on.
struct Gathering {
  std::vector<const Call*> arrived;
};

struct NamedBarrier {
  int expected = 0;  // threads, 0 if none has come
  int arrived = 0;
  std::vector<const Call*> waiting;
  std::array<const Call*, 32> first_of_warp{};  // that waits
  Clocks::Knowledge knowledge;
};

class ThreadBlock {
 public:
  ThreadBlock(Cluster& cluster, ClusterState& state, int rank)
      : cluster_(cluster), state_(state), rank_(rank) {}

  // Made ready to run at `place` of a grid.
  void reset(const std::array<std::int64_t, 3>& place, const std::array<std::int64_t, 3>& grid);
  // A thread has come to its end; after the last one the block is gone.
  void finish(Thread& thread);

  Cluster& cluster() const { return cluster_; }  // for operations that reach other blocks
  const EmulatedKernel& kernel() const { return *state_.kernel; }
  int rank() const { return rank_; }
  const std::array<std::int64_t, 3>& place() const { return place_; }
  const std::array<std::int64_t, 3>& grid() const { return grid_; }
  SharedMemory& shared() { return shared_; }
  Clocks& clocks() const { return state_.clocks; }
  std::vector<TensorLoad>& loads() const { return state_.loads; }
  MemoryBarriers& barriers() { return memory_barriers_; }
  AccessCounter& counter() { return counter_; }
  ProductQueue& products(const Thread& thread) {
    return products_[static_cast<std::size_t>(thread.index / warpgroup_threads)];
  }
  std::vector<Thread>& threads() { return threads_; }
  // By number in the cluster or, behind all of them, an engine's.
  std::string describe_thread(int number) const;
  std::string describe_waits() const;

  // Waits until `lanes` neighbouring threads (32: a warp, 128: a warpgroup) are at this call; the
  // last to come runs `complete` on all calls, in order of threads.
  using Complete = void (*)(ThreadBlock&, std::span<const Call* const>);
  void gather(const Call& call, int lanes, Complete complete);

  // A barrier for `expected` threads; one that does not wait only arrives.
  void barrier(const Call& call, int id, int expected, bool waits);

  // Stops the calling thread until `wake`.
  void wait(const Call& call) { state_.scheduler.wait(call); }
  void wake(Thread& thread) { state_.scheduler.wake(thread); }

  // Raises EmulationFault with place and line.
  [[noreturn]] void fault(const Thread& thread, const CallSite& site,
                          const std::string& what) const;

  // Checks and notes an access of this block's shared memory by the thread of a call, which may be
  // one of another block, or raises a fault.
  void access_shared(const Call& call, AccessMode access, const void* address, int bytes,
                     int alignment);
  // The same for bounds and alignment alone.
  void check_shared_place(const Call& call, const void* address, std::int64_t bytes,
                          int alignment) const;
  // Called when a thread of another block of the cluster accesses this one's shared memory: this
  // block must have begun, which the thread must know by synchronisation, and must not have ended.
  void check_present(const Call& call) const;
  // The same, and this block must not end before one of its threads knows of the access by
  // synchronisation.
  void visit(const Call& call);
  void check_global(const Call& call, const void* address, std::int64_t bytes, int alignment) const;
  // Counts an access of a lane, where a report was asked for.
  void count(const Call& call, AccessCounter::Memory memory, const void* address, int bytes);
  void raise_if(const Collision& collision, const Call& call, AccessMode access,
                const void* address) const;

 private:
  // The last visit of a thread of another block.
  struct Visit {
    int thread = 0;
    Time time = 0;
    const CallSite* site = nullptr;
  };

  void end();
  void complete_barrier(NamedBarrier& barrier, bool is_all);
  void check_gathering(const Call& call, const Gathering& gathering, int first, int lanes) const;
  bool is_known_here(int thread, Time time) const;  // by any thread of this block

  Cluster& cluster_;
  ClusterState& state_;
  int rank_;
  std::array<std::int64_t, 3> place_{}, grid_{};
  SharedMemory shared_;
  MemoryBarriers memory_barriers_;
  AccessCounter counter_;
  std::vector<ProductQueue> products_;
  std::vector<Thread> threads_;
  std::vector<Gathering> warps_, warpgroups_;
  std::array<NamedBarrier, 16> barriers_;
  std::vector<Visit> visits_;
  int unfinished_ = 0;
};

}  // namespace tilewright::dsl::emulator
