// Blocks that run together and reach each other's shared memory.
#include "tests/emulator/cluster_barrier.h"
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::clusters_test {
namespace {

using namespace testing_clusters;

// %rank, and %theirs: this thread's word in the shared memory of the next block.
const std::string neighbour = R"(
  %rank = call i32 @td.cluster_rank()
  %following = add i32 %rank, 1
  %peer = urem i32 %following, %n
  %mine = getelementptr i32, ptr addrspace(3) %shared, i32 %tid
  %theirs = call ptr addrspace(7) @td.mapa(ptr addrspace(3) %mine, i32 %peer)
)";

std::string cluster_fault(const std::string& body, int blocks = 2, std::uint64_t seed = 1) {
  alignas(64) static std::byte memory[64 << 10];
  try {
    EmulatorOptions options;
    options.seed = seed;
    run_emulated(kernel_text(body), {32, 8192, blocks},
                 {pointer_argument(memory), {}, {}, integer_argument(blocks)}, blocks, options);
  } catch (const EmulationFault& fault) {
    return fault.what();
  }
  return "no fault";
}

// Whatever the order of threads.
void expect_fault_of_any_order(const std::string& body, const std::string& text) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    expect_contains(cluster_fault(body, 2, seed), text);
}

TEST(EmulatedClusters, ReadEachOthersSharedMemory) {
  for (int blocks : {1, 2, 4, 8}) {
    // Two clusters; every thread gives the number of the block after its own.
    std::vector<std::int32_t> given(static_cast<std::size_t>(2 * blocks * 32), -1);
    run_emulated(kernel_text(neighbour + R"(
  %block = call i32 @td.block_id_x()
  store i32 %block, ptr addrspace(3) %mine
)" + meet + R"(
  %v = load i32, ptr addrspace(7) %theirs
  %first = mul i32 %block, 32
  %at = add i32 %first, %tid
  %to = getelementptr i32, ptr addrspace(1) %a, i32 %at
  store i32 %v, ptr addrspace(1) %to
  call void @td.cluster_barrier_arrive()
  call void @td.cluster_barrier_wait()
  ret void)"),
                 {32, 4096, blocks},
                 {pointer_argument(given.data()), {}, {}, integer_argument(blocks)}, 2 * blocks);
    for (int block = 0; block < 2 * blocks; ++block)
      for (int thread = 0; thread < 32; ++thread)
        EXPECT_EQ(given[static_cast<std::size_t>(block * 32 + thread)],
                  block / blocks * blocks + (block + 1) % blocks);
  }
}

TEST(EmulatedClusters, WriteEachOthersSharedMemory) {
  std::vector<std::int32_t> given(64, -1);
  run_emulated(kernel_text(neighbour + meet + R"(
  store i32 %rank, ptr addrspace(7) %theirs
)" + meet + R"(
  %v = load i32, ptr addrspace(3) %mine
  %first = mul i32 %rank, 32
  %at = add i32 %first, %tid
  %to = getelementptr i32, ptr addrspace(1) %a, i32 %at
  store i32 %v, ptr addrspace(1) %to
  ret void)"),
               {32, 4096, 2}, {pointer_argument(given.data()), {}, {}, integer_argument(2)}, 2);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(given[i], i < 32 ? 1 : 0);
}

TEST(EmulatedClusters, ThreadsThatHaveFinishedAreNotWaitedFor) {
  EXPECT_EQ(cluster_fault(R"(
  %some = icmp ult i32 %tid, 7
  br i1 %some, label %out, label %on
on:
  call void @td.cluster_barrier_arrive()
  call void @td.cluster_barrier_wait()
  br label %out
out:
  ret void)"),
            "no fault");
}

TEST(EmulatedClusters, HaveOneTwoFourOrEightBlocks) {
  expect_contains(error_of([] {
                    run_emulated(kernel_text("ret void"), {32, 0, 3}, {});
                  }),
                  "kernel k has clusters of 3 blocks; they have 1, 2, 4 or 8");
  expect_contains(error_of([] {
                    run_emulated(kernel_text("ret void"), {32, 0, 2}, {}, 5);
                  }),
                  "has clusters of 2 blocks along axis 0, where the grid has 5; it must be a "
                  "multiple");
}

TEST(EmulationFaults, RanksOutsideTheCluster) {
  expect_contains(
      cluster_fault("%p = call ptr addrspace(7) @td.mapa(ptr addrspace(3) %shared, i32 2)\n ret "
                    "void"),
      "mapa: there is no block of rank 2 in a cluster of 2");
}

TEST(EmulationFaults, RemoteAccessBeforeTheOtherBlockHasBegun) {
  expect_fault_of_any_order(neighbour + R"(
  store i32 0, ptr addrspace(7) %theirs
)" + meet + "ret void",
                            "of the cluster may not have begun; a barrier of the cluster comes "
                            "before its shared memory is touched");
}

TEST(EmulationFaults, RemoteAccessAfterTheOtherBlockMayHaveEnded) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::string fault = cluster_fault(neighbour + R"(
  store i32 %rank, ptr addrspace(3) %mine
)" + meet + R"(
  %v = load i32, ptr addrspace(7) %theirs
  ret void)",
                                      2, seed);
    EXPECT_TRUE(fault.find("the block may end before thread ") != std::string::npos ||
                fault.find("of the cluster has ended, and its shared memory is gone") !=
                    std::string::npos)
        << fault;
    expect_contains(fault, "a barrier of the cluster comes before the end");
  }
}

TEST(EmulationFaults, RemoteWriteRacesWithALocalRead) {
  expect_fault_of_any_order(neighbour + R"(
  store i32 0, ptr addrspace(3) %mine
)" + meet + R"(
  store i32 1, ptr addrspace(7) %theirs
  %v = load i32, ptr addrspace(3) %mine
)" + meet + "ret void",
                            "race with a ");
  expect_contains(cluster_fault(neighbour + R"(
  store i32 0, ptr addrspace(3) %mine
)" + meet + R"(
  store i32 1, ptr addrspace(7) %theirs
  %v = load i32, ptr addrspace(3) %mine
)" + meet + "ret void"),
                  " of the block of rank ");
}

TEST(EmulationFaults, MisusesOfTheClustersBarrier) {
  expect_contains(cluster_fault("call void @td.cluster_barrier_wait()\n ret void"),
                  "the thread waits where it has not arrived");
  expect_contains(cluster_fault("call void @td.cluster_barrier_arrive()\n"
                                "call void @td.cluster_barrier_arrive()\n ret void"),
                  "the thread has arrived before, and not waited since");
}

TEST(EmulatedClusters, ArriveAtEachOthersMbarriers) {
  // Block 1 writes into block 0 and arrives there; block 0 waits for that alone.
  std::string body = R"(
  %rank = call i32 @td.cluster_rank()
  %word = getelementptr i32, ptr addrspace(3) %shared, i32 16
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %init, label %ready
init:
  call void @td.mbarrier_init(ptr addrspace(3) %shared, i32 1)
  call void @td.fence_mbarrier_init()
  br label %ready
ready:
)" + meet + R"(
  %sends = icmp eq i32 %rank, 1
  br i1 %sends, label %send, label %await
send:
  br i1 %first, label %one, label %end
one:
  %there = call ptr addrspace(7) @td.mapa(ptr addrspace(3) %word, i32 0)
  store i32 42, ptr addrspace(7) %there
  %barrier = call ptr addrspace(7) @td.mapa(ptr addrspace(3) %shared, i32 0)
  call void @td.mbarrier_arrive_cluster(ptr addrspace(7) %barrier)
  br label %end
await:
  %ok = call i1 @td.mbarrier_try_wait_parity(ptr addrspace(3) %shared, i32 0)
  br i1 %ok, label %arrived, label %await
arrived:
  %v = load i32, ptr addrspace(3) %word
  store i32 %v, ptr addrspace(1) %a
  br label %end
end:
  ret void)";
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_EQ(cluster_fault(body, 2, seed), "no fault");
}

}  // namespace
}  // namespace tilewright::dsl::clusters_test
