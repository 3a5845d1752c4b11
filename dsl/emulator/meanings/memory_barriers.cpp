// Barriers in shared memory: they count arrivals and bytes, phase after phase.
#include "dsl/emulator/meanings/memory_barriers.h"

#include "dsl/emulator/cluster.h"
#include "dsl/emulator/meanings.h"

namespace tilewright::dsl::emulator {
namespace {

constexpr int barrier_bytes = 8;
constexpr int most_arrivals = (1 << 20) - 1;

// A barrier, in the shared memory of `block`.
struct BarrierInBlock {
  ThreadBlock& block;
  std::int64_t offset;
  MemoryBarrier& barrier;
};

void complete_if_all_came(const BarrierInBlock& place) {
  MemoryBarrier& barrier = place.barrier;
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  for (const TensorLoad& load : place.block.loads())
    if (load.block == &place.block && load.barrier == place.offset)
      load.issuer->block->fault(
          *load.issuer, *load.site,
          concat("the mbarrier at shared address ", place.offset, " of block ",
                 place.block.place()[0],
                 " is complete before this load: it expects fewer bytes than loads bring"));
  barrier.phase ^= 1;
  barrier.pending = barrier.expected;
  barrier.completed = barrier.gathered;
  for (const Call* waiting : barrier.waiting) place.block.wake(waiting->thread);
  barrier.waiting.clear();
}

BarrierInBlock place_of(const Call& call, ThreadBlock& block, const std::byte* address) {
  block.check_shared_place(call, address, barrier_bytes, barrier_bytes);
  std::int64_t offset = block.shared().offset(address);
  auto found = block.barriers().find(offset);
  if (found == block.barriers().end())
    call.block.fault(call.thread, call.site,
                     concat("no mbarrier was initialised at shared address ", offset));
  MemoryBarrier& barrier = found->second;
  if (!block.clocks().happened_before(barrier.initialiser, barrier.initialised, call.thread.number))
    call.block.fault(call.thread, call.site,
                     concat("race with the initialisation of the mbarrier by ",
                            call.block.describe_thread(barrier.initialiser)));
  return {block, offset, barrier};
}

// The barrier that a call names by its first operand.
BarrierInBlock place_of(const Call& call) {
  return place_of(call, call.block, call.operands[0].pointer);
}

void arrive(const Call& call, const BarrierInBlock& place) {
  call.block.clocks().release(call.thread.number, place.barrier.gathered);
  if (--place.barrier.pending < 0)
    call.block.fault(call.thread, call.site,
                     concat("more threads arrive than the ", place.barrier.expected,
                            " that the mbarrier expects in a phase"));
  complete_if_all_came(place);
}

}  // namespace

void bytes_came(ThreadBlock& block, std::int64_t barrier_offset, std::int64_t bytes) {
  MemoryBarrier& barrier = block.barriers().at(barrier_offset);
  block.clocks().release(block.clocks().engine(block.rank()), barrier.gathered);
  barrier.bytes -= bytes;
  complete_if_all_came({block, barrier_offset, barrier});
}

void mbarrier_init(const Call& call) {
  ThreadBlock& block = call.block;
  std::byte* address = call.operands[0].pointer;
  int expected = call.operands[1].i32;
  block.access_shared(call, AccessMode::write, address, barrier_bytes, barrier_bytes);
  if (expected < 1 || expected > most_arrivals)
    block.fault(call.thread, call.site,
                concat("an mbarrier expects 1 to ", most_arrivals, " arrivals, not ", expected));
  MemoryBarrier barrier;
  barrier.expected = barrier.pending = expected;
  barrier.initialiser = call.thread.number;
  barrier.initialised = block.clocks().now(call.thread.number);
  auto [place, is_new] = block.barriers().emplace(block.shared().offset(address), barrier);
  if (!is_new)
    block.fault(call.thread, call.site,
                "the mbarrier is initialised already; mbarrier_inval comes before another use");
}

void mbarrier_inval(const Call& call) { call.block.barriers().erase(place_of(call).offset); }

void mbarrier_arrive(const Call& call) { arrive(call, place_of(call)); }

void mbarrier_arrive_cluster(const Call& call) {
  const std::byte* address = call.operands[0].pointer;
  arrive(call, place_of(call, call.block.cluster().owner_of(call, address), address));
}

void mbarrier_arrive_expect_tx(const Call& call) {
  BarrierInBlock place = place_of(call);
  place.barrier.bytes += call.operands[1].i32;
  arrive(call, place);
}

void mbarrier_expect_tx(const Call& call) { place_of(call).barrier.bytes += call.operands[1].i32; }

// On a GPU this may time out. Here it waits until the phase is complete, so that a wait that never
// ends differs from a long one.
void mbarrier_try_wait_parity(const Call& call) {
  MemoryBarrier& barrier = place_of(call).barrier;
  if (barrier.phase == (call.operands[1].u32 & 1)) {
    barrier.waiting.push_back(&call);
    call.block.wait(call);
  }
  call.block.clocks().acquire(call.thread.number, barrier.completed);
  call.results[0].flag = 1;
}

void fence_async(const Call& call) { call.block.clocks().fence(call.thread.number); }

void check_barrier_of_load(const Call& call, ThreadBlock& block, const std::byte* address) {
  MemoryBarrier& barrier = place_of(call, block, address).barrier;
  if (!block.clocks().is_fenced(barrier.initialiser, barrier.initialised))
    call.block.fault(
        call.thread, call.site,
        concat("the mbarrier was initialised by ", call.block.describe_thread(barrier.initialiser),
               " without fence_mbarrier_init after"));
}

}  // namespace tilewright::dsl::emulator
