// The CUDA runtime on a driver that fails: at every call, in every way that matters. Each failure
// is an error that says what it was, or is overcome; nothing leaks, and what can go on does.
#include <gmock/gmock.h>

#include "runtime/cuda/driver/error.h"
#include "tests/cuda/fake_driver.h"
#include "tests/cuda/workload.h"
#include "tests/errors.h"

namespace tilewright::cuda::faults_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr std::int64_t for_ever = 1'000'000;

const Workload& workload() {
  static const Workload workload;
  return workload;
}

FakeOptions two_gpus() { return {.devices = {{}, {}}}; }

std::int64_t calls_of_one_run(const std::string& function) {
  FakeDriver fake(two_gpus());
  workload().run();
  return fake.calls(function);
}

// Functions whose failure leaves what they were to give back.
bool gives_back(const std::string& function) {
  for (const char* part : {"Destroy", "Free", "Unload", "Release"})
    if (function.find(part) != std::string::npos) return true;
  return false;
}

TEST(CudaFaults, WorkIsRightOnADriverThatDoesNotFail) {
  FakeDriver fake(two_gpus());
  workload().run();
  std::string live = fake.leaks();
  std::int64_t allocations = fake.calls("cuMemAlloc"), links = fake.calls("cuLinkCreate");
  workload().run();
  EXPECT_EQ(fake.leaks(), live);
  EXPECT_EQ(fake.calls("cuMemAlloc"), allocations) << "memory comes from the pool";
  EXPECT_EQ(fake.calls("cuLinkCreate"), links) << "kernels are compiled once";
}

// Memory that is short from some allocation on, and for one alone.
void run_short_of_memory(std::int64_t times) {
  std::int64_t nth = 1;
  for (;; ++nth) {
    SCOPED_TRACE(concat("allocation ", nth));
    ASSERT_LT(nth, 50);
    FakeDriver fake;
    fake.fail("cuMemAlloc", nth, Result::out_of_memory, times);
    bool fails = false;
    try {
      workload().run();
    } catch (const OutOfMemory& error) {
      fails = true;
      EXPECT_THAT(error.what(), HasSubstr("cuda:0 (Fake H100) has no memory for "));
      EXPECT_THAT(error.what(), HasSubstr(" are in use"));
      EXPECT_THAT(error.what(), HasSubstr("free tensors"));
    }
    if (!fails && fake.calls("cuMemAlloc") < nth) break;
    EXPECT_EQ(fails, times > 1) << "a single failure is overcome";
    fake.fail_nothing();
    workload().run();
  }
  EXPECT_GE(nth, 3) << "few allocations could fail";
}

TEST(CudaFaults, MemoryThatIsShortFromOneAllocationOn) { run_short_of_memory(for_ever); }
TEST(CudaFaults, MemoryThatIsShortForAMoment) { run_short_of_memory(1); }

TEST(CudaFaults, OutOfMemoryNamesWhoHasIt) {
  FakeDriver fake({.devices = {{.memory_bytes = 64 << 20}}});
  Context& gpu = context(0);
  MemoryOwner weights("weights");
  Taken held(gpu, std::int64_t{20} << 20);
  MemoryOwner arena("arena");
  Taken more(gpu, std::int64_t{30} << 20);
  std::string error = error_of([&] { Taken(gpu, std::int64_t{40} << 20); });
  EXPECT_THAT(error, HasSubstr("50 MiB are in use (by arena 30 MiB, weights 20 MiB)"));
  EXPECT_THAT(error, HasSubstr("no memory for 40 MiB more"));
  EXPECT_THAT(error, HasSubstr("64 MiB"));
}

// Every row of the table is used: what is not called cannot be let fail.
TEST(CudaFaults, TheWorkCallsWhatTheTableHas) {
  FakeDriver fake(two_gpus());
  workload().run();
  for (const std::string& function : FakeDriver::functions()) {
    if (gives_back(function) || function.starts_with("cuGetError") ||
        function.starts_with("cuCtxSynchronize") || function == "cuMemGetInfo")
      continue;  // at the end, and where something is wrong
    EXPECT_GT(fake.calls(function), 0) << function;
  }
}

// Every call of every function, one after the other.
class EveryCall : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Of, EveryCall, testing::ValuesIn(FakeDriver::functions()),
                         [](const auto& test) { return test.param; });

TEST_P(EveryCall, MayFailWithoutHarm) {
  const std::string& function = GetParam();
  std::int64_t calls = calls_of_one_run(function);
  for (std::int64_t nth = 1; nth <= calls; ++nth) {
    SCOPED_TRACE(concat("call ", nth, " of ", calls));
    FakeDriver fake(two_gpus());
    fake.fail(function, nth, Result::unknown);
    std::string error = error_of([] { workload().run(); });
    EXPECT_THAT(error, AnyOf("no error", HasSubstr("CUDA_ERROR_UNKNOWN (999)")));
    fake.fail_nothing();
    workload().run();
    if (gives_back(function)) fake.forgive_leaks();
  }
}

TEST_P(EveryCall, MayFindTheContextLost) {
  const std::string& function = GetParam();
  std::int64_t calls = calls_of_one_run(function);
  for (std::int64_t nth = 1; nth <= calls; ++nth) {
    SCOPED_TRACE(concat("call ", nth, " of ", calls));
    FakeDriver fake(two_gpus());
    fake.fail(function, nth, Result::illegal_address);
    try {
      workload().run();
    } catch (const ContextLost& error) {
      EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
    }
    if (gives_back(function)) fake.forgive_leaks();
  }
}

TEST(CudaFaults, AKernelThatFaultsIsNamed) {
  for (std::int64_t nth = 1;; ++nth) {
    SCOPED_TRACE(concat("kernel ", nth));
    ASSERT_LT(nth, 50);
    FakeDriver fake;
    fake.fault_at_kernel(nth);
    std::string error = error_of([] { workload().run(); });
    if (error == "no error" && fake.kernels_run() < nth) break;
    EXPECT_THAT(error, HasSubstr("the context is lost"));
    EXPECT_THAT(error, HasSubstr(nth == 1 ? "tw_product_" : nth < 4 ? "tw_pair_" : "tw_scale_"));
    // It stays lost, and says so.
    EXPECT_THROW(workload().run(), ContextLost);
  }
}

}  // namespace
}  // namespace tilewright::cuda::faults_test
