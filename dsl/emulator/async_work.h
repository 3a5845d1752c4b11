// Asynchronous work: operations that have been issued and are not finished.
//
// Four kinds: copies by cp.async, awaited by the thread that issued them; loads of tensors, awaited
// at barriers in shared memory; stores of tensors, awaited by their thread; products of a
// warpgroup, awaited by it. All of it is finished as late as the waits allow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "dsl/emulator/call_site.h"
#include "dsl/emulator/clocks.h"
#include "dsl/emulator/tensor_map.h"

namespace tilewright::dsl::emulator {

struct ClusterState;

// The operations that a thread issues in groups: those of no group yet, and the groups, oldest
// first.
template <typename Work>
struct Groups {
  std::vector<Work> open;
  std::deque<std::vector<Work>> committed;
};

// A copy by cp.async: `read_bytes` from the source, zeros up to `bytes`.
struct SharedCopy {
  std::byte* target;
  const std::byte* source;
  int read_bytes, bytes;
  const CallSite* site;
};

using Coordinates = std::array<std::int32_t, 5>;  // innermost first

struct TensorStore {
  TensorMap map;
  const std::byte* source;
  Coordinates place;
};

// Into one block; a load for several blocks is as many of these.
struct TensorLoad {
  TensorMap map;
  ThreadBlock* block;  // whose shared memory is written
  std::byte* target;
  std::int64_t barrier;  // offset in that block's shared memory
  Coordinates place;
  const Thread* issuer;
  const CallSite* site;
};

// A barrier in shared memory.
struct MemoryBarrier {
  int expected = 0;        // arrivals a phase
  int pending = 0;         // arrivals that are missing in this phase
  std::int64_t bytes = 0;  // that are expected and have not come
  std::uint32_t phase = 0;
  int initialiser = 0;  // the thread, by its number in the cluster, and when
  Time initialised = 0;
  Clocks::Knowledge gathered, completed;  // of those who arrived; of the last complete phase
  std::vector<const Call*> waiting;
};

using MemoryBarriers = std::map<std::int64_t, MemoryBarrier>;  // by offset

// Finishes one load, chosen at random; false if none is left.
bool finish_a_load(ClusterState& cluster);

// One wgmma: operands as they were issued; accumulators before, and after it is finished.
struct Product {
  const CallSite* site = nullptr;
  std::uint32_t serial = 0;
  int group = 0;
  bool is_finished = false, adds = true;
  std::uint64_t a = 0, b = 0;              // descriptors
  std::vector<std::uint32_t> a_registers;  // 4 a thread
  std::vector<std::uint32_t> accumulators;
};

// A warpgroup's products, oldest first. Those of groups below `committed` can be awaited; finished
// ones stay for a while, since registers refer to them (see meanings/products.cpp).
struct ProductQueue {
  std::deque<Product> products;
  int committed = 0;
  std::uint32_t serial = 0;
  bool is_fenced = false;
};

}  // namespace tilewright::dsl::emulator
