// A compiled kernel as plain data: the code generator's output, and the input of the launch.
//
// For the host it is a function that runs a range of the programs of a grid; the shared pointer
// keeps the code alive. Nothing here knows tiles or tensors.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/hash.h"

namespace tilewright {

// One kernel argument: a pointer, or a scalar in the low bytes of `bits`.
union Argument {
  const void* pointer;
  std::int64_t integer;
  double floating;
  float single;
};

// Runs the programs [begin, end) of the linearised grid (axis 0 fastest). `scratch` points to
// `Artifact::scratch_bytes` bytes, aligned to 64, that belong to the caller's worker.
using HostFunction = void (*)(const Argument* arguments, const std::int64_t* grid,
                              std::int64_t begin, std::int64_t end, void* scratch);

// The function of a kernel, which may be exchanged for faster code with the same results while
// launches call it.
class HostEntry {
 public:
  HostEntry(HostFunction function = nullptr) : function_(function) {}
  HostEntry(const HostEntry& other) : function_(other.load()) {}
  HostEntry& operator=(const HostEntry& other) {
    store(other.load());
    return *this;
  }
  HostEntry& operator=(HostFunction function) {
    store(function);
    return *this;
  }
  HostFunction load() const { return function_.load(std::memory_order_acquire); }
  void store(HostFunction function) { function_.store(function, std::memory_order_release); }
  explicit operator bool() const { return load() != nullptr; }

 private:
  std::atomic<HostFunction> function_;
};

// The same for a program that only the emulator of a GPU can run.
using EmulatedLaunch = std::function<void(const Argument* arguments, const std::int64_t* grid,
                                          std::int64_t begin, std::int64_t end)>;

struct ArtifactParam {
  std::string name;
  bool is_pointer;
  DType dtype;  // pointee or scalar
};

struct GpuCode;      // runtime/gpu_code.h
struct LaunchTable;  // runtime/launch_table.h

struct Artifact {
  std::string name;
  Hash key;  // content hash of the program and the target
  std::vector<ArtifactParam> params;
  // One of three: code of the host, of a GPU that is emulated, or of a GPU (runtime/cuda/launch.h).
  HostEntry host;
  EmulatedLaunch emulated;
  std::shared_ptr<const GpuCode> gpu;
  // Set if a GPU's code takes a table of launches instead of the program's arguments.
  std::shared_ptr<const LaunchTable> table;
  std::int64_t scratch_bytes = 0;
  double compile_seconds = 0;
  std::shared_ptr<void> code;       // keeps the first function of `host` alive
  std::shared_ptr<void> full_code;  // and the one that took its place, if any did
  void run(const Argument* arguments, const std::int64_t* grid, std::int64_t begin,
           std::int64_t end, void* scratch) const {
    if (HostFunction function = host.load()) [[likely]]
      function(arguments, grid, begin, end, scratch);
    else
      emulated(arguments, grid, begin, end);
  }
};

struct Grid {
  std::int64_t size[3];
  Grid(std::int64_t x = 1, std::int64_t y = 1, std::int64_t z = 1) : size{x, y, z} {}
  Grid(const std::int64_t (&sizes)[3]) : size{sizes[0], sizes[1], sizes[2]} {}
  // `Error` for a negative size, and from 2^63 programs on.
  std::int64_t count() const {
    std::int64_t all = size[0];
    const bool fits = !__builtin_mul_overflow(all, size[1], &all) &&
                      !__builtin_mul_overflow(all, size[2], &all) &&
                      (size[0] | size[1] | size[2]) >= 0;
    if (!fits) [[unlikely]]
      raise_uncountable();
    return all;
  }

 private:
  [[noreturn]] void raise_uncountable() const;
};

// Runs the whole grid on the host's workers and returns when it is done. `arguments` has one entry
// a parameter. Thread safe; allocates nothing after a thread's first launch of a given scratch
// size. If an emulated program is at fault, its first fault is raised here, on the calling thread.
void launch(const Artifact& artifact, const Grid& grid, const Argument* arguments);
// Several launches as one, whose programs run in any order; the arguments of each follow those of
// the one before. Code for GPUs must have been generated for this (Artifact::table). With `spread`
// false all run on the calling thread, for launches too short to wake other threads.
void launch(const Artifact& artifact, std::span<const Grid> grids, const Argument* arguments,
            bool spread = true);

}  // namespace tilewright
