// Barriers in shared memory: they count arrivals and bytes, phase after phase.
#include "dsl/emulator/meanings/memory_barriers.h"
#include "dsl/emulator/meanings.h"

namespace tilewright::dsl::emulator {
namespace {

constexpr int barrier_bytes = 8;
constexpr int most_arrivals = (1 << 20) - 1;

void complete_if_all_came(ThreadBlock& block, MemoryBarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.phase ^= 1;
  barrier.pending = barrier.expected;
  barrier.completed = barrier.gathered;
  for (const Call* waiting : barrier.waiting) block.wake(waiting->thread);
  barrier.waiting.clear();
}

// The barrier that a call names by its first operand.
MemoryBarrier& barrier_of(const Call& call) {
  ThreadBlock& block = call.block;
  const std::byte* address = call.operands[0].pointer;
  block.check_shared_place(call, address, barrier_bytes, barrier_bytes);
  auto found = block.engine().barriers.find(block.shared().offset(address));
  if (found == block.engine().barriers.end())
    block.fault(
        call.thread, call.site,
        concat("no mbarrier was initialised at shared address ", block.shared().offset(address)));
  MemoryBarrier& barrier = found->second;
  if (!block.clocks().happened_before(barrier.initialiser, barrier.initialised, call.thread.index))
    block.fault(
        call.thread, call.site,
        concat("race with the initialisation of the mbarrier by thread ", barrier.initialiser));
  return barrier;
}

void arrive(const Call& call, MemoryBarrier& barrier) {
  call.block.clocks().release(call.thread.index, barrier.gathered);
  if (--barrier.pending < 0)
    call.block.fault(call.thread, call.site,
                     concat("more threads arrive than the ", barrier.expected,
                            " that the mbarrier expects in a phase"));
  complete_if_all_came(call.block, barrier);
}

}  // namespace

void bytes_came(ThreadBlock& block, std::int64_t barrier_offset, std::int64_t bytes) {
  MemoryBarrier& barrier = block.engine().barriers.at(barrier_offset);
  block.clocks().release(block.clocks().engine(), barrier.gathered);
  barrier.bytes -= bytes;
  complete_if_all_came(block, barrier);
}

std::string describe_barriers(const AsyncEngine& engine) {
  std::string text;
  for (const auto& [offset, barrier] : engine.barriers)
    if (!barrier.waiting.empty())
      text += concat("; the mbarrier at shared address ", offset, " is in a phase of parity ",
                     barrier.phase, " and lacks ", barrier.pending, " of ", barrier.expected,
                     " arrivals and ", barrier.bytes, " bytes");
  return text;
}

void mbarrier_init(const Call& call) {
  ThreadBlock& block = call.block;
  std::byte* address = call.operands[0].pointer;
  int expected = call.operands[1].i32;
  block.access_shared(call, Access::write, address, barrier_bytes, barrier_bytes);
  if (expected < 1 || expected > most_arrivals)
    block.fault(call.thread, call.site,
                concat("an mbarrier expects 1 to ", most_arrivals, " arrivals, not ", expected));
  MemoryBarrier barrier;
  barrier.expected = barrier.pending = expected;
  barrier.initialiser = call.thread.index;
  barrier.initialised = block.clocks().now(call.thread.index);
  auto [place, is_new] = block.engine().barriers.emplace(block.shared().offset(address), barrier);
  if (!is_new)
    block.fault(call.thread, call.site,
                "the mbarrier is initialised already; mbarrier_inval comes before another use");
}

void mbarrier_inval(const Call& call) {
  barrier_of(call);
  call.block.engine().barriers.erase(call.block.shared().offset(call.operands[0].pointer));
}

void mbarrier_arrive(const Call& call) { arrive(call, barrier_of(call)); }

void mbarrier_arrive_expect_tx(const Call& call) {
  MemoryBarrier& barrier = barrier_of(call);
  barrier.bytes += call.operands[1].i32;
  arrive(call, barrier);
}

void mbarrier_expect_tx(const Call& call) { barrier_of(call).bytes += call.operands[1].i32; }

// On a GPU this may give up; here it waits until the phase is complete, which tells a wait that
// never ends from one that is long.
void mbarrier_try_wait_parity(const Call& call) {
  MemoryBarrier& barrier = barrier_of(call);
  if (barrier.phase == (call.operands[1].u32 & 1)) {
    barrier.waiting.push_back(&call);
    call.block.wait(call);
  }
  call.block.clocks().acquire(call.thread.index, barrier.completed);
  call.results[0].flag = 1;
}

void fence_async(const Call& call) { call.block.clocks().fence(call.thread.index); }

MemoryBarrier& barrier_of_load(const Call& call, const std::byte* address) {
  Slot slot{};
  slot.pointer = const_cast<std::byte*>(address);
  MemoryBarrier& barrier = barrier_of({call.block, call.thread, call.site, &slot, nullptr});
  if (!call.block.clocks().is_fenced(barrier.initialiser, barrier.initialised))
    call.block.fault(call.thread, call.site,
                     concat("the mbarrier was initialised by thread ", barrier.initialiser,
                            " without fence_mbarrier_init after"));
  return barrier;
}

}  // namespace tilewright::dsl::emulator
