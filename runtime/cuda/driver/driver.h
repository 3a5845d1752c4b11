// NVIDIA's driver as a table of functions, found at run time.
//
// Nothing of CUDA is linked: the driver's library is opened when a GPU is first asked for, and each
// function of driver.def is taken from it by name and version. A machine without it runs everything
// else, and hears why there are no GPUs only when it asks for one.
//
// The table is a value that can be replaced: tests install a driver of their own, which runs
// kernels in the emulator and fails on request. State of a driver (contexts, and with them memory
// and modules) is kept beside its table and goes with it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/cuda/driver/types.h"

namespace tilewright::cuda {

struct Driver {
#define TILEWRIGHT_CUDA(name, symbol, version, need, parameters) Result(*name) parameters = nullptr;
#include "runtime/cuda/driver/driver.def"
#undef TILEWRIGHT_CUDA
};

// The least version of CUDA that a driver must know, as cuDriverGetVersion gives it: 12.0.
constexpr int least_version = 12000;

// Gives a function's address by name and version of CUDA, or null.
using SymbolFinder = std::function<void*(const char* name, int version)>;

// Raises `Error` that names the function which is missing, or the version that is too old.
Driver load_driver(const SymbolFinder& find);

// The driver of this process, initialised. Raises `Error` with the reason if there is none, the
// same at every call. Thread safe. After a fork the child must not use it: that raises `Error` too.
const Driver& driver();
// Empty where there is one.
std::string why_no_driver();
// GPUs that it knows; 0 where there is no driver.
int device_count();

// State with the lifetime of the current driver; context.cpp keeps the contexts here.
std::shared_ptr<void>& belongings_of_driver();

// Puts another driver in place of the process's own for the life of the object. The former driver's
// state comes back with it. For tests; not while other threads use GPUs.
class ScopedDriver {
 public:
  explicit ScopedDriver(const Driver& driver);
  ~ScopedDriver();
  ScopedDriver(const ScopedDriver&) = delete;
  ScopedDriver& operator=(const ScopedDriver&) = delete;

 private:
  std::unique_ptr<struct DriverInPlace> former_;
};

}  // namespace tilewright::cuda
