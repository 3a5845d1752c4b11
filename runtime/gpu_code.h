// A kernel for a GPU as plain data: its PTX, and the further facts that a launch needs.
//
// A kernel takes the parameters of its program in their order. A persistent kernel, whose blocks go
// through several programs of the grid, is launched with as many blocks as run at the same time,
// along axis 0; it takes after the program's parameters a tensor map for each of `tensor_maps`
// (128 bytes by value, aligned to 64), then the three sizes of the grid of programs (i32).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/tensor_map.h"

namespace tilewright {

struct GpuCode {
  std::string text;  // PTX
  std::string entry;
  int threads = 0;                // of a block
  std::int64_t shared_bytes = 0;  // of a block, allocated at launch
  bool persistent = false;
  std::vector<TensorMapSpec> tensor_maps;
  // Blocks that run together and reach each other's shared memory: neighbours along axis 0, of
  // whose number the launch has a multiple. The text says so too (.reqnctapercluster).
  int cluster = 1;
  Hash key;  // of the PTX
};

// NVIDIA's compilers spill registers of some kernels so that more blocks run at once, unless the
// text says how many registers a thread may have. This returns the text with as many as a block of
// this many threads may have. Nothing if it already states a number, or if it has local memory of
// its own (for printing), since then local memory does not show a spill.
std::optional<std::string> with_all_registers(const std::string& ptx, int threads);

}  // namespace tilewright
