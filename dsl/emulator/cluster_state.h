// What the blocks of a cluster share: the kernel that they run, the clocks of their threads, what
// the engines are moving, and the scheduler. Blocks see this; the cluster (cluster.h) owns it and
// them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "dsl/emulator/async_work.h"
#include "dsl/emulator/clocks.h"
#include "dsl/emulator/options.h"
#include "dsl/emulator/scheduler.h"

namespace tilewright::dsl::emulator {

// What a block runs; alive as long as the code.
struct EmulatedKernel {
  std::string name;
  int threads = 0;  // of a block
  std::int64_t shared_bytes = 0;
  int cluster = 1;  // blocks that run together, neighbours along axis 0
  void (*body)(const void* arguments) = nullptr;
  std::deque<CallSite> sites;  // stable addresses
  EmulatorOptions options;
};

struct ClusterState {
  const EmulatedKernel* kernel = nullptr;
  Clocks clocks;
  std::vector<TensorLoad> loads;  // under way, of all blocks
  Scheduler scheduler;
};

}  // namespace tilewright::dsl::emulator
