// The operations that sm_90a adds, one at a time.
#include "dsl/emulator/tensor_map.h"
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::hopper_operations_test {
namespace {

using emulator::Swizzle;
using emulator::TensorMap;

// Four words a lane through stmatrix, and what ldmatrix gives of it.
std::vector<std::uint32_t> through_shared_memory(const std::string& store,
                                                 const std::string& load) {
  std::vector<std::uint32_t> out(128);
  run_emulated(kernel_text(R"(
  %bytes = mul i32 %tid, 16
  %row = getelementptr i8, ptr addrspace(3) %shared, i32 %bytes
  %x0 = mul i32 %tid, 65537
  %x1 = add i32 %x0, 32
  %x2 = add i32 %x0, 64
  %x3 = add i32 %x0, 96
  call void @td.)" + store +
                           R"((ptr addrspace(3) %row, i32 %x0, i32 %x1, i32 %x2, i32 %x3)
  call void @td.warp_barrier()
  %m = call {i32, i32, i32, i32} @td.)" +
                           load + R"((ptr addrspace(3) %row)
  %place = getelementptr i8, ptr addrspace(1) %c, i32 %bytes
  store {i32, i32, i32, i32} %m, ptr addrspace(1) %place
  ret void)"),
               {32, 512}, {{}, {}, pointer_argument(out.data()), {}});
  return out;
}

TEST(EmulatedStmatrix, IsTheInverseOfLdmatrix) {
  for (const char* kind : {"", "_trans"}) {
    auto out =
        through_shared_memory(std::string("stmatrix_x4") + kind, std::string("ldmatrix_x4") + kind);
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      for (std::uint32_t m = 0; m < 4; ++m) EXPECT_EQ(out[lane * 4 + m], lane * 65537 + 32 * m);
  }
}

TEST(EmulatedStmatrix, TransposesWhereLdmatrixDoesNot) {
  auto out = through_shared_memory("stmatrix_x4_trans", "ldmatrix_x4");
  // Lane 0 gets elements (0, 0) and (0, 1) of matrix 0, which were (0, 0) and (1, 0): of lanes
  // 0, 4.
  EXPECT_EQ(out[0], 0U | 4U << 16);
}

TEST(EmulatedLanes, ElectOneOfAWarp) {
  std::vector<std::int32_t> out(64);
  run_emulated(kernel_text(R"(
  %e = call {i32, i1} @td.elect()
  %is = extractvalue {i32, i1} %e, 1
  %value = zext i1 %is to i32
  %place = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  store i32 %value, ptr addrspace(1) %place
  ret void)"),
               {64, 0}, {pointer_argument(out.data()), {}, {}, {}});
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i % 32 == 0);
}

// Loads a box to shared memory and stores it at another place; the maps are %a and %b.
const std::string box_copy = R"(
  %map_a = addrspacecast ptr addrspace(1) %a to ptr
  %map_b = addrspacecast ptr addrspace(1) %b to ptr
  %bar = getelementptr i8, ptr addrspace(3) %shared, i32 4096
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %copy, label %exit
copy:
  call void @td.prefetch_tensormap(ptr %map_a)
  call void @td.mbarrier_init(ptr addrspace(3) %bar, i32 1)
  call void @td.fence_mbarrier_init()
  call void @td.mbarrier_expect_tx(ptr addrspace(3) %bar, i32 512)
  call void @td.tma_load_3d(ptr addrspace(3) %shared, ptr addrspace(3) %bar, ptr %map_a, )"
                             R"(i32 -2, i32 1, i32 0)
  call void @td.mbarrier_arrive(ptr addrspace(3) %bar)
  %ok = call i1 @td.mbarrier_try_wait_parity(ptr addrspace(3) %bar, i32 0)
  call void @td.tma_store_3d(ptr addrspace(3) %shared, ptr %map_b, i32 0, i32 0, i32 0)
  call void @td.bulk_commit()
  call void @td.bulk_wait_read_0()
  call void @td.bulk_wait_0()
  call void @td.mbarrier_inval(ptr addrspace(3) %bar)
  br label %exit
exit:
  ret void)";

TensorMap box_of(std::vector<float>& data, int x, int y, int z, Swizzle swizzle) {
  TensorMap map;
  map.rank = 3;
  map.element_bytes = 4;
  map.swizzle = swizzle;
  map.base = reinterpret_cast<std::byte*>(data.data());
  map.sizes = {x, y, z};
  map.strides_bytes = {x * 4, x * y * 4};
  map.box = {8, 4, 4};
  return map;
}

TEST(EmulatedTensorCopies, MoveBoxesOfThreeDimensions) {
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32}) {
    std::vector<float> from(10 * 6 * 3), to(8 * 4 * 4, -1.0F);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i + 1);
    TensorMap map_from = box_of(from, 10, 6, 3, swizzle), map_to = box_of(to, 8, 4, 4, swizzle);
    run_emulated(kernel_text(box_copy), {32, 8192},
                 {pointer_argument(&map_from), pointer_argument(&map_to), {}, {}});
    for (int z = 0; z < 4; ++z)
      for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 8; ++x) {
          bool is_inside = x >= 2 && z < 3;
          int at = (z * 6 + y + 1) * 10 + x - 2;
          EXPECT_EQ(to[static_cast<std::size_t>((z * 4 + y) * 8 + x)],
                    is_inside ? static_cast<float>(at + 1) : 0.0F);
        }
  }
}

TEST(EmulatedTensorCopies, RefuseWhatIsNoTensorMap) {
  expect_contains(fault_of(box_copy, 32, {}, 8192), "the tensor map is not one of the emulator's");
}

TEST(EmulatedTensorCopies, RefuseMemoryOutsideTheRanges) {
  std::vector<float> from(10 * 6 * 3), to(8 * 4 * 4);
  TensorMap map_from = box_of(from, 10, 6, 3, Swizzle::none);
  TensorMap map_to = box_of(to, 8, 4, 4, Swizzle::none);
  EmulatorOptions options;
  options.ranges = std::make_shared<GlobalRanges>();
  options.ranges->register_range(from.data(), 10 * 6 * 3 * 4);
  expect_contains(error_of([&] {
                    run_emulated(kernel_text(box_copy), {32, 8192},
                                 {pointer_argument(&map_from), pointer_argument(&map_to), {}, {}},
                                 1, options);
                  }),
                  "bulk_wait_read_0: out of bounds: the tensor is in no registered range");
}

TEST(EmulationFaults, BlockThatEndsBeforeALoad) {
  std::string body = box_copy;
  auto wait = body.find("  %ok = ");
  body.erase(wait, body.find("  br label %exit", wait) - wait);
  std::vector<float> from(10 * 6 * 3);
  TensorMap map = box_of(from, 10, 6, 3, Swizzle::none);
  expect_contains(
      error_of([&] {
        run_emulated(kernel_text(body), {32, 8192}, {pointer_argument(&map), {}, {}, {}});
      }),
      "tma_load_3d: the block ends before the load is finished");
}

TEST(EmulationFaults, AnMbarrierThatIsInitialisedTwice) {
  expect_contains(fault_of(R"(
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %init, label %exit
init:
  call void @td.mbarrier_init(ptr addrspace(3) %shared, i32 1)
  call void @td.mbarrier_init(ptr addrspace(3) %shared, i32 1)
  br label %exit
exit:
  ret void)"),
                  "the mbarrier is initialised already");
}

}  // namespace
}  // namespace tilewright::dsl::hopper_operations_test
