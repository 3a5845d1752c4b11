// Finding the driver, and what its results become.
#include "runtime/cuda/driver/driver.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "runtime/cuda/driver/error.h"
#include "tests/cuda/fake_driver.h"
#include "tests/errors.h"

namespace tilewright::cuda::driver_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Row {
  std::string name;
  bool is_required;
};
std::vector<Row> rows() {
  enum Need { optional, required };
  return {
#define TILEWRIGHT_CUDA(name, symbol, version, need, parameters) {#name, need == required},
#include "runtime/cuda/driver/driver.def"
#undef TILEWRIGHT_CUDA
  };
}

TEST(LoadDriver, TakesEveryFunctionByItsName) {
  FakeDriver fake;
  Driver loaded =
      load_driver([](const char* name, int) { return FakeDriver::find_function(name); });
#define TILEWRIGHT_CUDA(name, symbol, version, need, parameters) \
  EXPECT_EQ(reinterpret_cast<void*>(loaded.name), FakeDriver::find_function(#name)) << #name;
#include "runtime/cuda/driver/driver.def"
#undef TILEWRIGHT_CUDA
}

TEST(LoadDriver, NamesTheFunctionThatIsMissing) {
  FakeDriver fake;
  for (const Row& row : rows()) {
    std::string error = error_of([&] {
      load_driver([&](const char* name, int) {
        return name == row.name ? nullptr : FakeDriver::find_function(name);
      });
    });
    if (!row.is_required)
      EXPECT_EQ(error, "no error") << row.name;
    else if (row.name == "cuDriverGetVersion")
      EXPECT_THAT(error, HasSubstr("does not tell its version"));
    else
      EXPECT_THAT(error, HasSubstr("lacks " + row.name + ","));
  }
}

TEST(LoadDriver, SaysWhichVersionIsTooOld) {
  FakeDriver fake({.version = 11080});
  EXPECT_THAT(error_of([] {
                load_driver([](const char* name, int) { return FakeDriver::find_function(name); });
              }),
              HasSubstr("for CUDA 11.8, which is too old"));
}

TEST(ScopedDriver, RaisesWhereTheDriverDoesNotStart) {
  FakeDriver fake;
  Driver broken = driver();
  broken.cuInit = [](unsigned) { return Result::unknown; };
  EXPECT_THAT(error_of([&] { ScopedDriver in_place(broken); }),
              HasSubstr("cuInit gives CUDA_ERROR_UNKNOWN (999)"));
}

TEST(ScopedDriver, BringsBackWhatWasThereBefore) {
  FakeDriver outer({.devices = {{}, {}}});
  EXPECT_EQ(device_count(), 2);
  belongings_of_driver() = std::make_shared<int>(7);
  {
    FakeDriver inner({.devices = {}});
    EXPECT_EQ(device_count(), 0);
    EXPECT_EQ(belongings_of_driver(), nullptr);
  }
  EXPECT_EQ(device_count(), 2);
  EXPECT_EQ(*std::static_pointer_cast<int>(belongings_of_driver()), 7);
}

// Prints, in a new process, the reason why the driver that TILEWRIGHT_CUDA_DRIVER names is
// unusable.
void say_why_none(const char* library) {
  ::setenv("TILEWRIGHT_CUDA_DRIVER", library, 1);
  std::string raised = error_of([] { driver(); });
  bool is_the_same = raised == why_no_driver() && raised == error_of([] { driver(); });
  std::cerr << (is_the_same && device_count() == 0 ? raised : "two answers");
  std::exit(0);
}

TEST(ProcessDriverDeathTest, SaysWhyThereIsNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(say_why_none("/nowhere/libcuda.so.1"), testing::ExitedWithCode(0),
              "TILEWRIGHT_CUDA_DRIVER names /nowhere/libcuda.so.1, which cannot be opened");
  EXPECT_EXIT(say_why_none("libm.so.6"), testing::ExitedWithCode(0),
              "too old: it lacks cuGetProcAddress_v2");
}

TEST(ProcessDriver, IsRefusedAfterAFork) {
  FakeDriver fake;
  ASSERT_EQ(error_of([] { driver(); }), "no error");
  pid_t child = ::fork();
  if (child == 0) {
    std::string error = error_of([] { driver(); });
    ::_exit(error.find("this process was forked") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

std::string error_after(Result result) {
  return error_of([&] { must(result, "cuTestCall", "testing"); });
}

TEST(Must, NamesEveryResultOfTheDriver) {
  FakeDriver fake;
  EXPECT_NO_THROW(must(Result::success, "cuTestCall"));
  int named = 0;
  for (int code = 1; code < 1000; ++code) {
    const char* name = nullptr;
    Result result{code};
    if (driver().cuGetErrorName(result, &name) != Result::success) continue;
    ++named;
    EXPECT_THAT(error_after(result),
                HasSubstr(concat("[cuda] testing: cuTestCall gives ", name, " (", code, "): ")));
    if (is_sticky(result))
      EXPECT_THROW(must(result, "cuTestCall"), ContextLost) << name;
    else if (result == Result::out_of_memory)
      EXPECT_THROW(must(result, "cuTestCall"), OutOfMemory);
    else
      EXPECT_THROW(
          try { must(result, "cuTestCall"); } catch (const ContextLost&){}, Error)
          << name;
  }
  EXPECT_GT(named, 90);
  EXPECT_THAT(error_after(Result{12345}), HasSubstr("an unknown error (12345)"));
  EXPECT_THAT(error_after(Result::launch_out_of_resources), HasSubstr("choose smaller blocks"));
}

TEST(ContextLost, NamesTheKernelsThatMayHaveDoneIt) {
  FakeDriver fake;
  note_all_finished();
  EXPECT_THAT(error_after(Result::illegal_address), HasSubstr("No kernel was launched since"));
  const unsigned grid[3] = {4, 2, 1};
  static const char* const names[] = {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"};
  note_launch(names[0], grid, 128);
  note_launch(names[1], grid, 256);
  std::string error = error_after(Result::illegal_address);
  EXPECT_THAT(error,
              HasSubstr("the latest first: k1 (grid 4x2x1, 256 threads), k0 (grid 4x2x1, 128"));
  EXPECT_THAT(error, HasSubstr("TILEWRIGHT_SYNC=1"));
  for (int i = 2; i < 10; ++i) note_launch(names[i], grid, 32);
  error = error_after(Result::launch_failed);
  EXPECT_THAT(error, HasSubstr("first: k9 "));
  EXPECT_THAT(error, HasSubstr("k2 (grid 4x2x1, 32 threads) and 2 before them"));
  note_graph(std::make_shared<const std::string>("a graph of 2 kernels (a, b)"));
  EXPECT_THAT(error_after(Result::launch_failed),
              HasSubstr("first: a graph of 2 kernels (a, b), k9 (grid"));
  note_all_finished();
  EXPECT_THAT(error_after(Result::launch_failed), HasSubstr("No kernel was launched"));
}

TEST(Describe, SaysCodeAndText) {
  FakeDriver fake;
  EXPECT_EQ(describe(Result::invalid_value), "CUDA_ERROR_INVALID_VALUE (1): invalid value");
}

}  // namespace
}  // namespace tilewright::cuda::driver_test
