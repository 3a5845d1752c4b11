// Threads, barriers and the lanes of a warp.
#include <atomic>
#include <numeric>
#include <thread>

#include "tests/emulator/emulated.h"

namespace tilewright::dsl::threads_test {
namespace {

TEST(EmulatedThreads, KnowWhoTheyAre) {
  std::vector<std::int32_t> out(3 * 64);
  run_emulated(kernel_text(R"(
  %block = call i32 @td.block_id_x()
  %blocks = call i32 @td.grid_size_x()
  %first = mul i32 %block, 64
  %at = add i32 %first, %tid
  %place = getelementptr i32, ptr addrspace(1) %a, i32 %at
  %thousands = mul i32 %blocks, 1000
  %value = add i32 %at, %thousands
  store i32 %value, ptr addrspace(1) %place
  ret void)"),
               {64, 0}, {pointer_argument(out.data()), {}, {}, {}}, 3);
  for (int i = 0; i < 3 * 64; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 3000 + i);
}

// Each thread writes its number, and after a barrier reads that of the thread opposite.
constexpr const char* reversal = R"(
  %mine = getelementptr i32, ptr addrspace(3) %shared, i32 %tid
  store i32 %tid, ptr addrspace(3) %mine
  call void @td.barrier()
  %opposite = sub i32 127, %tid
  %theirs = getelementptr i32, ptr addrspace(3) %shared, i32 %opposite
  %value = load i32, ptr addrspace(3) %theirs
  %place = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  store i32 %value, ptr addrspace(1) %place
  ret void)";

TEST(EmulatedThreads, MeetAtBarriers) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::int32_t> out(128);
    EmulatorOptions options;
    options.seed = seed;
    run_emulated(kernel_text(reversal), {128, 512}, {pointer_argument(out.data()), {}, {}, {}}, 2,
                 options);
    for (int i = 0; i < 128; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 127 - i);
  }
}

TEST(EmulatedThreads, OfAWholeBlockOfAThousandRun) {
  std::vector<std::int32_t> out(1024);
  run_emulated(kernel_text(R"(
  call void @td.barrier()
  %place = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  store i32 %tid, ptr addrspace(1) %place
  ret void)"),
               {1024, 0}, {pointer_argument(out.data()), {}, {}, {}});
  EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0), 1023 * 512);
}

TEST(EmulatedThreads, OfSeveralBlocksRunSideBySide) {
  std::vector<std::int32_t> out(128);
  ParsedModule parsed = parse_kernel(kernel_text(reversal));
  EmulatedLaunch launch =
      link_emulated(std::move(parsed.module), std::move(parsed.context), "k", {128, 512});
  Argument arguments[4] = {pointer_argument(out.data())};
  std::int64_t grid[3] = {200, 1, 1};
  std::vector<std::thread> workers;
  std::atomic<int> faults = 0;
  for (int w = 0; w < 4; ++w)
    workers.emplace_back([&, w] {
      try {
        launch(arguments, grid, w * 50, w * 50 + 50);
      } catch (const EmulationFault&) {
        ++faults;
      }
    });
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(faults, 0);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 127 - i);
}

TEST(EmulatedThreads, RunAgainAfterAFault) {
  for (int i = 0; i < 3; ++i) {
    expect_contains(fault_of("%v = load i32, ptr addrspace(3) %shared\n ret void", 256),
                    "uninitialised");
    EXPECT_EQ(fault_of("call void @td.barrier()\n ret void", 256), "no fault");
  }
}

std::vector<std::int32_t> run_on_lanes(const std::string& body) {
  std::vector<std::int32_t> out(64, -1);
  run_emulated(kernel_text(body + R"(
  %place = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  store i32 %value, ptr addrspace(1) %place
  ret void)"),
               {64, 0}, {pointer_argument(out.data()), {}, {}, {}});
  return out;
}

TEST(EmulatedLanes, ShuffleByMask) {
  auto out = run_on_lanes("%value = call i32 @td.shuffle_xor(i32 %tid, i32 5)");
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i ^ 5);
}

TEST(EmulatedLanes, ShuffleByIndex) {
  auto out = run_on_lanes("%value = call i32 @td.shuffle_idx(i32 %tid, i32 7)");
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i / 32 * 32 + 7);
}

TEST(EmulatedLanes, PickBytesOfTwoWords) {
  auto out = run_on_lanes(
      "%value = call i32 @td.byte_perm(i32 u0x11223344, i32 u0x55667788, i32 u0x1724)");
  EXPECT_EQ(out[0], 0x33552288);
}

TEST(EmulatedLanes, RoundPairsToBf16) {  // ties go to even
  auto out = run_on_lanes(
      "%value = call i32 @td.to_bf16x2(float 0x3FF0100000000000, float 0x3FF0300000000000)");
  EXPECT_EQ(out[0], 0x3F803F82);
}

TEST(EmulatedLanes, SumInFiveSteps) {
  std::string body, value = "%tid";
  for (int mask = 16; mask > 0; mask /= 2) {
    std::string n = std::to_string(mask), sum = mask == 1 ? "%value" : "%sum" + n;
    body += "%other" + n + " = call i32 @td.shuffle_xor(i32 " + value + ", i32 " + n + ")\n" + sum +
            " = add i32 " + value + ", %other" + n + "\n";
    value = sum;
  }
  auto out = run_on_lanes(body);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[static_cast<std::size_t>(i)], i / 32 * 32 * 32 + 31 * 16);
}

TEST(EmulatedLanes, VoteAndReduce) {
  auto ballot = run_on_lanes(R"(
  %odd = trunc i32 %tid to i1
  %value = call i32 @td.vote_ballot(i1 %odd))");
  EXPECT_EQ(static_cast<std::uint32_t>(ballot[0]), 0xAAAAAAAAU);
  auto sum = run_on_lanes("%value = call i32 @td.redux_add(i32 %tid)");
  EXPECT_EQ(sum[40], 32 * 32 + 31 * 16);
  auto least = run_on_lanes("%value = call i32 @td.redux_min(i32 %tid)");
  EXPECT_EQ(least[40], 32);
  auto any = run_on_lanes(R"(
  %third = icmp eq i32 %tid, 3
  %voted = call i1 @td.vote_any(i1 %third)
  %value = zext i1 %voted to i32)");
  EXPECT_EQ(any[0], 1);
  EXPECT_EQ(any[40], 0);
}

TEST(EmulatedMemory, IsReadAndWrittenUnderPredicates) {
  alignas(16) std::uint32_t in[128], out[128];
  std::iota(in, in + 128, 1U);
  std::fill(out, out + 128, 7U);
  run_emulated(kernel_text(R"(
  %element = mul i32 %tid, 4
  %from = getelementptr i32, ptr addrspace(1) %a, i32 %element
  %to = getelementptr i32, ptr addrspace(1) %b, i32 %element
  %low = icmp ult i32 %tid, 20
  %lower = icmp ult i32 %tid, 10
  %v = call {i32, i32, i32, i32} @td.load_global_v4(ptr addrspace(1) %from, i1 %lower)
  %v0 = extractvalue {i32, i32, i32, i32} %v, 0
  %v1 = extractvalue {i32, i32, i32, i32} %v, 1
  %v2 = extractvalue {i32, i32, i32, i32} %v, 2
  %v3 = extractvalue {i32, i32, i32, i32} %v, 3
  call void @td.store_global_v4(ptr addrspace(1) %to, i32 %v3, i32 %v2, i32 %v1, i32 %v0, i1 %low)
  ret void)"),
               {32, 0}, {pointer_argument(in), pointer_argument(out), {}, {}});
  EXPECT_EQ(out[0], 4U);
  EXPECT_EQ(out[39], 37U);
  EXPECT_EQ(out[40], 0U);
  EXPECT_EQ(out[79], 0U);
  EXPECT_EQ(out[80], 7U);
}

TEST(EmulatedMemory, IsAddedToAtomically) {
  float sum = 0;
  run_emulated(kernel_text(R"(
  %before = call float @td.atomic_add_f32(ptr addrspace(1) %a, float 2.0, i1 true)
  ret void)"),
               {64, 0}, {pointer_argument(&sum), {}, {}, {}}, 4);
  EXPECT_EQ(sum, 512.0F);
}

TEST(EmulatedMemory, IsAddedToInPairsOfHalves) {  // 1 and 2 as f16, as bf16
  struct alignas(8) Pairs {
    std::uint32_t words[2] = {0, 0};
  } f16, bf16;
  run_emulated(kernel_text(R"(
  call void @td.reduce_add_f16x2_v2(ptr addrspace(1) %a, i32 u0x40003C00, i32 u0x3C004000)
  call void @td.reduce_add_bf16x2_v2(ptr addrspace(1) %b, i32 u0x40003F80, i32 u0x3F804000)
  %before = call i16 @td.atomic_add_bf16(ptr addrspace(1) %b, i16 u0x3F80)
  ret void)"),
               {64, 0}, {pointer_argument(&f16), pointer_argument(&bf16), {}, {}}, 2);
  EXPECT_EQ(f16.words[0], 0x5C005800U);  // 256, 128
  EXPECT_EQ(f16.words[1], 0x58005C00U);
  EXPECT_EQ(bf16.words[0], 0x43804380U);  // 256, 128 + 128
  EXPECT_EQ(bf16.words[1], 0x43004380U);
}

}  // namespace
}  // namespace tilewright::dsl::threads_test
