// The arenas of all recordings of one function: one in each memory, since only one of them runs at
// a time.
#pragma once

#include <map>
#include <memory>

#include "runtime/plan/shared_arena.h"

namespace tilewright::graph {

class SharedArenas {
 public:
  const std::shared_ptr<SharedArena>& in(DeviceMemory* memory) {
    std::shared_ptr<SharedArena>& arena = arenas_[memory];
    if (!arena) arena = std::make_shared<SharedArena>(memory);
    return arena;
  }

 private:
  std::map<DeviceMemory*, std::shared_ptr<SharedArena>> arenas_;
};

}  // namespace tilewright::graph
