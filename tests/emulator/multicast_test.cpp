// Copies of one block of a cluster to the shared memory of several.
#include "dsl/emulator/tensor_map.h"
#include "tests/emulator/cluster_barrier.h"
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::multicast_test {
namespace {

using namespace testing_clusters;

using emulator::Swizzle;
using emulator::TensorMap;

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

}  // namespace
}  // namespace tilewright::dsl::multicast_test
