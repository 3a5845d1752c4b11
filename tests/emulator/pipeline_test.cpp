// The matrix product of pipeline_kernel.h in the emulator, and the same with one line left out or
// wrong.
#include <cmath>

#include "tests/emulator/emulated.h"
#include "tests/emulator/pipeline_kernel.h"

namespace tilewright::dsl::pipeline_test {
namespace {

using namespace testing_pipeline;

TEST(EmulatedPipeline, MultipliesMatrices) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Problem problem(64, 64, 320);
    problem.run(gemm(), seed);
    problem.expect_right();
  }
}

TEST(EmulatedPipeline, FillsWithZerosOutsideTheTensors) {
  Problem problem(50, 44, 152);
  problem.run(gemm());
  problem.expect_right();
}

// The fault of the pipeline with one text for another.
std::string fault_with(const std::string& what, const std::string& by) {
  std::string text = gemm();
  EXPECT_NE(text.find(what), std::string::npos) << what;
  Problem problem(64, 64, 320);
  return error_of([&] { problem.run(replaced(text, what, by)); });
}

std::string fault_without(const std::string& line) { return fault_with(line, ""); }

TEST(PipelineFaults, BarriersThatTheEngineDoesNotKnow) {
  expect_contains(fault_without("call void @td.fence_mbarrier_init()"),
                  "without fence_mbarrier_init after");
}

TEST(PipelineFaults, BarriersThatOthersDoNotKnow) {
  std::string fault = fault_without("call void @td.barrier()");
  EXPECT_TRUE(fault.find("race with the initialisation of the mbarrier") != std::string::npos ||
              fault.find("no mbarrier was initialised") != std::string::npos)
      << fault;
}

TEST(PipelineFaults, MoreArrivalsThanExpected) {
  expect_contains(
      fault_with("%ok = call i1 @td.mbarrier_try_wait_parity(ptr addrspace(3) %eb, i32 %parity)",
                 "%ok = icmp eq i32 0, 0"),
      "more threads arrive than the 1 that the mbarrier expects in a phase");
}

TEST(PipelineFaults, AStageThatIsReadBeforeItWasLoaded) {
  expect_contains(
      fault_with("%cok = call i1 @td.mbarrier_try_wait_parity(ptr addrspace(3) %cfb, i32 %cph)",
                 "%cok = icmp eq i32 0, 0"),
      "wgmma_m64n64k16_bf16_ss: reads shared address ");
}

TEST(PipelineFaults, AStageThatIsNeverReleased) {
  std::string fault = fault_without("call void @td.mbarrier_arrive(ptr addrspace(3) %ceb)");
  expect_contains(fault, "deadlock: no thread can go on");
  expect_contains(fault, "lacks 1 of 1 arrivals and 0 bytes");
}

TEST(PipelineFaults, MoreBytesExpectedThanCome) {
  std::string fault =
      fault_with("ptr addrspace(3) %fb, i32 16384", "ptr addrspace(3) %fb, i32 16400");
  expect_contains(fault, "deadlock: no thread can go on");
  expect_contains(fault, "lacks 0 of 1 arrivals and 16 bytes");
}

TEST(PipelineFaults, AWrongParity) {
  expect_contains(fault_with("%parity = xor i32 %ph, 1", "%parity = xor i32 %ph, 0"), "deadlock");
}

TEST(PipelineFaults, AnMbarrierThatIsNone) {
  expect_contains(fault_without("call void @td.mbarrier_init(ptr addrspace(3) %empty1, i32 1)"),
                  "no mbarrier was initialised at shared address 32792");
}

TEST(PipelineFaults, RegistersWithoutAFence) {
  expect_contains(fault_without("call void @td.wgmma_fence()"), "without wgmma_fence");
}

TEST(PipelineFaults, AccumulatorsThatNoWaitWasPassed) {
  std::string text = gemm();
  text = replaced(text, "= extractvalue " + floats() + " %done, ",
                  "= extractvalue " + floats() + " %sum, ");
  Problem problem(64, 64, 64);
  problem.run(text);
  EXPECT_TRUE(std::isnan(problem.c[0]));
}

TEST(PipelineFaults, AStageThatIsReleasedWhileAProductReadsIt) {
  expect_contains(fault_with("@td.wgmma_wait_0_f32", "@td.wgmma_wait_1_f32"),
                  "an asynchronous read of it is not finished");
}

TEST(PipelineFaults, AStoreOfWhatWasNotFenced) {
  expect_contains(fault_without("call void @td.fence_proxy_async()"),
                  "tma_store_2d: reads shared address ");
}

TEST(PipelineFaults, AStoreBeforeOthersHaveWritten) {
  expect_contains(fault_without("call void @td.named_barrier_sync(i32 1, i32 128)"),
                  "tma_store_2d: reads shared address ");
}

TEST(PipelineFaults, AStoreThatIsNotAwaited) {
  expect_contains(fault_without("call void @td.bulk_wait_read_0()"),
                  "the thread ends before its tensor stores have read their source");
}

TEST(PipelineFaults, TooLittleSharedMemory) {
  Problem problem(64, 64, 64);
  expect_contains(error_of([&] { problem.run(gemm(), 1, 33792 + 4096); }), "out of bounds");
}

}  // namespace
}  // namespace tilewright::dsl::pipeline_test
