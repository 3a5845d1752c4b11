// Kernels whose threads miss each other: at collectives, at barriers, and in polls without end.
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::convergence_faults_test {
namespace {

TEST(EmulationFaults, LanesAtDifferentCollectives) {
  expect_contains(fault_of(R"(
  %low = icmp ult i32 %lane, 7
  br i1 %low, label %one, label %two
one:
  %v = call i32 @td.shuffle_xor(i32 %tid, i32 1)
  ret void
two:
  %w = call i32 @td.shuffle_idx(i32 %tid, i32 1)
  ret void)"),
                  "divergence: thread ");
}

TEST(EmulationFaults, ACollectiveAfterALaneHasFinished) {
  expect_contains(fault_of(R"(
  %low = icmp ult i32 %lane, 7
  br i1 %low, label %one, label %two
one:
  %v = call i32 @td.shuffle_xor(i32 %tid, i32 1)
  ret void
two:
  ret void)"),
                  "has finished and will never come to this call");
}

TEST(EmulationFaults, DivergenceAtABarrier) {
  expect_contains(fault_of(R"(
  %low = icmp ult i32 %lane, 7
  br i1 %low, label %one, label %two
one:
  call void @td.barrier()
  ret void
two:
  call void @td.barrier()
  ret void)"),
                  "divergence: thread ");
}

TEST(EmulationFaults, DeadlockWhereAThreadMissesABarrier) {
  std::string fault = fault_of(R"(
  %low = icmp ult i32 %warp, 1
  br i1 %low, label %one, label %two
one:
  call void @td.barrier()
  ret void
two:
  ret void)",
                               64);
  expect_contains(fault, "deadlock: no thread can go on: 32 threads from thread 0 on wait at");
  expect_contains(fault, "at barrier 0 32 of 64 threads have arrived; 32 threads have finished");
}

TEST(EmulationFaults, ANamedBarrierForMoreThanTheBlock) {
  expect_contains(fault_of(R"(
  %low = icmp ult i32 %warp, 1
  br i1 %low, label %one, label %two
one:
  call void @td.named_barrier_sync(i32 3, i32 96)
  ret void
two:
  call void @td.named_barrier_arrive(i32 3, i32 96)
  ret void)",
                           96),
                  "no fault");
  expect_contains(fault_of("call void @td.named_barrier_sync(i32 3, i32 64)\n ret void", 32),
                  "barrier 3 expects 64 threads of a block of 32");
}

// Thread 0 polls a word of shared memory that thread 40 sets.
std::string poll(const std::string& value) {
  return R"(
  %is_first = icmp eq i32 %tid, 0
  br i1 %is_first, label %init, label %start
init:
  store atomic i32 0, ptr addrspace(3) %shared monotonic, align 4
  br label %start
start:
  call void @td.barrier()
  %is_poller = icmp eq i32 %tid, 0
  br i1 %is_poller, label %poll, label %set
poll:
  %seen = atomicrmw add ptr addrspace(3) %shared, i32 0 monotonic
  %is_set = icmp eq i32 %seen, 1
  br i1 %is_set, label %exit, label %poll
set:
  %is_setter = icmp eq i32 %tid, 40
  br i1 %is_setter, label %write, label %exit
write:
  %before = atomicrmw add ptr addrspace(3) %shared, i32 )" +
         value + R"( monotonic
  br label %exit
exit:
  ret void)";
}

TEST(EmulationFaults, AThreadThatPollsForEver) {
  EXPECT_EQ(fault_of(poll("1"), 64), "no fault");
  expect_contains(fault_of(poll("2"), 64),
                  "thread 0, atomic: the thread goes round for ever, and nothing else happens");
}

TEST(EmulationFaults, ANamedBarrierWithTwoCounts) {
  expect_contains(fault_of(R"(
  %low = icmp ult i32 %warp, 1
  %count = select i1 %low, i32 64, i32 96
  call void @td.named_barrier_sync(i32 1, i32 %count)
  ret void)",
                           96),
                  "barrier 1 expects ");
}

}  // namespace
}  // namespace tilewright::dsl::convergence_faults_test
