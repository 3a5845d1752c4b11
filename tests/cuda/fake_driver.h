// A CUDA driver for tests, in which every function of driver.def has a meaning: the library's code
// for GPUs runs whole models with no GPU, and under the sanitizers.
//
// It is stricter than hardware wherever a mistake could pass there by luck:
//
//   * Work on streams is done as late as the rules allow: when the host waits for it, or when it is
//     needed by what the host waits for. A wait that is missing shows as wrong data in every run.
//   * Nothing waits that is not documented to. cuMemFree waits for the device; but unloading a
//     module or freeing pinned memory that pending work uses makes that work fault.
//   * Device memory begins as random bytes, its addresses never return, and the host cannot touch
//     it: it is mapped only while work is done. Kernels and copies fault outside of what is
//     allocated. Every fault loses the context, as on hardware; `fault()` says what it was.
//   * Handles are never used twice; one that is not live is CUDA_ERROR_INVALID_HANDLE.
//   * In graphs, of the kernels that may run the one that was added last goes first.
//
// Kernels are the tile programs from which PTX was made in this process (or in the one that made
// the linked image), run by the emulator. A FakeDriver is in place from construction to
// destruction, and then expects that all was given back.
//
//   FakeDriver fake({.devices = {{.memory_bytes = 64 << 20}}});
//   fake.fail("cuMemAlloc", 3, Result::out_of_memory);   // the third from now
//   ...
//   EXPECT_EQ(fake.calls("cuLaunchKernelEx"), 2);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/driver/driver.h"

namespace tilewright {
class Setting;
}

namespace tilewright::cuda {

struct FakeDevice {
  std::string name = "Fake H100";
  int major = 9, minor = 0;  // compute capability
  int multiprocessors = 4;
  std::size_t memory_bytes = std::size_t{1} << 30;
};

struct FakeOptions {
  std::vector<FakeDevice> devices = {FakeDevice{}};
  int version = 13000;            // of CUDA
  bool peers = true;              // GPUs reach each other's memory
  int spilled_bytes = 0;          // of kernels whose text does not say how many registers they have
  std::string cache_dir = "off";  // what TILEWRIGHT_CACHE_DIR is meanwhile
};

namespace fake {
struct State;
}

class FakeDriver {
 public:
  explicit FakeDriver(FakeOptions options = {});
  // Takes the driver out of place, and what belongs to it; expects that nothing is left.
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  // The n-th call from now (1: the next) of the function, and so many in all, have no effect and
  // give `result`. One after which contexts are lost loses that of the calling thread.
  void fail(std::string_view function, std::int64_t nth, Result result, std::int64_t times = 1);
  // The n-th kernel from now that runs, of a graph or not, faults, and with it the context is lost.
  void fault_at_kernel(std::int64_t nth);
  // Cancels the failures that were asked for.
  void fail_nothing();

  // Names of all functions.
  static std::vector<std::string> functions();
  std::int64_t calls(std::string_view function) const;
  std::int64_t kernels_run() const;
  std::size_t memory_in_use(int device = 0) const;  // bytes
  // The first fault, as text; empty if there was none.
  std::string fault() const;
  // The live objects: "3 allocations of device memory (4096 bytes), 1 stream"; empty if there are
  // none.
  std::string leaks() const;
  // The destructor does not look for leaks, because releasing something was made to fail.
  void forgive_leaks() { forgives_leaks_ = true; }

  // The functions of the driver that is in place, by name; null for others.
  static void* find_function(std::string_view function);

 private:
  std::unique_ptr<Setting> cache_;
  std::unique_ptr<fake::State> state_;
  fake::State* former_;
  std::unique_ptr<ScopedDriver> in_place_;
  bool forgives_leaks_ = false;
};

}  // namespace tilewright::cuda
