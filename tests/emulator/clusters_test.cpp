// Blocks that run together and reach each other's shared memory.
#include "dsl/emulator/tensor_map.h"
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::clusters_test {
namespace {

using emulator::Swizzle;
using emulator::TensorMap;

const std::string meet = R"(
  call void @td.cluster_barrier_arrive()
  call void @td.cluster_barrier_wait()
)";

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

// Each block loads half of a row of 64 floats, at %tid 0, and has both get it. The barrier is
// behind the row.
struct Multicast {
  std::string mask = "3", expected = "256";
  std::string text() const {
    return R"(
  %rank = call i32 @td.cluster_rank()
  %full = getelementptr i8, ptr addrspace(3) %shared, i32 1024
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %init, label %ready
init:
  call void @td.mbarrier_init(ptr addrspace(3) %full, i32 1)
  call void @td.fence_mbarrier_init()
  br label %ready
ready:
)" + meet + R"(
  br i1 %first, label %load, label %await
load:
  call void @td.mbarrier_arrive_expect_tx(ptr addrspace(3) %full, i32 )" +
           expected +
           R"()
  %column = mul i32 %rank, 32
  %bytes = mul i32 %rank, 128
  %half = getelementptr i8, ptr addrspace(3) %shared, i32 %bytes
  %map = addrspacecast ptr addrspace(1) %a to ptr
  call void @td.tma_load_2d_multicast(ptr addrspace(3) %half, ptr addrspace(3) %full, )"
           R"(ptr %map, i32 %column, i32 0, i16 )" +
           mask + R"()
  br label %await
await:
  %ok = call i1 @td.mbarrier_try_wait_parity(ptr addrspace(3) %full, i32 0)
  br i1 %ok, label %arrived, label %await
arrived:
  %mine = getelementptr float, ptr addrspace(3) %shared, i32 %tid
  %other = getelementptr float, ptr addrspace(3) %mine, i32 32
  %v = load float, ptr addrspace(3) %mine
  %w = load float, ptr addrspace(3) %other
  %base = mul i32 %rank, 64
  %at = add i32 %base, %tid
  %to = getelementptr float, ptr addrspace(1) %b, i32 %at
  %to2 = getelementptr float, ptr addrspace(1) %to, i32 32
  store float %v, ptr addrspace(1) %to
  store float %w, ptr addrspace(1) %to2
  ret void
)";
  }
};

std::string multicast_fault(const Multicast& kernel, std::vector<float>& to,
                            std::uint64_t seed = 1) {
  std::vector<float> from(64);
  for (std::size_t i = 0; i < 64; ++i) from[i] = static_cast<float>(i + 1);
  TensorMap map;
  map.rank = 2;
  map.element_bytes = 4;
  map.swizzle = Swizzle::none;
  map.base = reinterpret_cast<std::byte*>(from.data());
  map.sizes = {64, 1};
  map.strides_bytes = {256};
  map.box = {32, 1};
  EmulatorOptions options;
  options.seed = seed;
  try {
    run_emulated(kernel_text(kernel.text()), {32, 8192, 2},
                 {pointer_argument(&map), pointer_argument(to.data()), {}, {}}, 2, options);
  } catch (const EmulationFault& fault) {
    return fault.what();
  }
  return "no fault";
}

TEST(EmulatedClusters, MulticastToTheSameOffsets) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::vector<float> to(128);
    EXPECT_EQ(multicast_fault({}, to, seed), "no fault");
    for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(to[i], static_cast<float>(i % 64 + 1));
  }
}

TEST(EmulationFaults, MasksOutsideTheCluster) {
  std::vector<float> to(128);
  for (const char* mask : {"5", "0"})
    expect_contains(multicast_fault({.mask = mask}, to),
                    concat("the mask ", mask, " names no block, or one outside the cluster of 2"));
}

TEST(EmulationFaults, MbarriersThatExpectFewerBytesThanMulticastBrings) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::vector<float> to(128);
    std::string fault = multicast_fault({.expected = "128"}, to, seed);
    EXPECT_TRUE(fault.find("it expects fewer bytes than loads bring") != std::string::npos ||
                fault.find("bytes fewer than loads brought") != std::string::npos)
        << fault;
  }
}

TEST(EmulationFaults, MbarriersThatExpectMoreBytesThanMulticastBrings) {
  std::vector<float> to(128);
  expect_contains(multicast_fault({.mask = "1", .expected = "256"}, to),
                  "deadlock: no thread can go on: ");
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
