// How well kernels use the memory, as the report counts it.
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::access_counter_test {
namespace {

emulator::AccessCount counted(const std::string& body, const std::string& place) {
  EmulatorOptions options;
  options.report = std::make_shared<AccessReport>();
  EXPECT_EQ(fault_of(body, 64, options, 64 << 10), "no fault");
  return options.report->counts()[place];
}

emulator::AccessCount stored_with_stride(int words) {
  return counted("%at = mul i32 %tid, " + std::to_string(words) + R"(
  %place = getelementptr i32, ptr addrspace(3) %shared, i32 %at
  store i32 1, ptr addrspace(3) %place
  ret void)",
                 "store");
}

TEST(AccessReport, CountsBankConflicts) {
  EXPECT_EQ(stored_with_stride(1).requests, 2);
  EXPECT_EQ(stored_with_stride(1).wavefronts, 2);
  EXPECT_EQ(stored_with_stride(2).wavefronts, 4);
  EXPECT_EQ(stored_with_stride(32).wavefronts, 64);
  EXPECT_EQ(stored_with_stride(33).wavefronts, 2);
  EXPECT_EQ(stored_with_stride(32).ideal_wavefronts, 2);
}

TEST(AccessReport, ServesWideAccessesInParts) {
  auto count = counted(R"(
  %at = mul i32 %tid, 16
  %place = getelementptr i8, ptr addrspace(3) %shared, i32 %at
  store <4 x i32> zeroinitializer, ptr addrspace(3) %place
  ret void)",
                       "store");
  EXPECT_EQ(count.wavefronts, 8);
  EXPECT_EQ(count.ideal_wavefronts, 8);
}

TEST(AccessReport, CountsSectors) {
  auto load = [](int stride) {
    return counted("%at = mul i32 %tid, " + std::to_string(stride) + R"(
  %place = getelementptr i32, ptr addrspace(1) %a, i32 %at
  %even = icmp ult i32 %lane, 16
  %v = call i32 @td.load_global_v1(ptr addrspace(1) %place, i1 %even)
  ret void)",
                   "load_global_v1");
  };
  EXPECT_EQ(load(1).requests, 2);
  EXPECT_EQ(load(1).sectors, 4);
  EXPECT_EQ(load(1).ideal_sectors, 4);
  EXPECT_EQ(load(8).sectors, 32);
}

}  // namespace
}  // namespace tilewright::dsl::access_counter_test
