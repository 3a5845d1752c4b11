// One thread of an emulated block: a fiber, what it waits for, and what it has issued.
#pragma once

#include <cstdint>

#include "dsl/emulator/async_work.h"
#include "dsl/emulator/call_site.h"
#include "dsl/emulator/fiber.h"

namespace tilewright::dsl::emulator {

inline constexpr int warp_lanes = 32;
inline constexpr int warpgroup_threads = 128;

struct Thread {
  ThreadBlock* block = nullptr;
  int index = 0;   // in the block
  int number = 0;  // in the cluster: by it clocks and histories know the thread
  Context context;
  bool is_started = false, is_finished = false;
  const Call* waits_in = nullptr;  // the call, while the thread waits
  int calls = 0;                   // since others had their turn
  int turns = 0;                   // that it has had since anything happened in the cluster
  std::uint64_t seen_events = 0;
  std::int64_t awaited_phase = 0;  // of the cluster's barrier, once it has arrived there
  Groups<SharedCopy> copies;
  Groups<TensorStore> stores;
};

}  // namespace tilewright::dsl::emulator
