// Work that goes on while threads do other things: what has been issued and is not finished.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "dsl/emulator/call_site.h"

namespace tilewright::dsl::emulator {

// A copy by cp.async: `read_bytes` from the source, zeros up to `bytes`.
struct SharedCopy {
  std::byte* target;
  const std::byte* source;
  int read_bytes, bytes;
  const CallSite* site;
};

// A thread's copies: those of no group yet, and the groups, oldest first.
struct CopyGroups {
  std::vector<SharedCopy> open;
  std::deque<std::vector<SharedCopy>> committed;
};

}  // namespace tilewright::dsl::emulator
