// Counts how a block's warps use the memory, for an AccessReport.
//
// On a GPU the lanes of a warp access memory together; here each lane runs by itself. The n-th time
// that a lane reaches a place in the code counts as its part of the n-th request of its warp there.
// This is right as long as the lanes of a warp take the same path; lanes whose predicate is off are
// counted too.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "dsl/emulator/call_site.h"
#include "dsl/emulator/options.h"

namespace tilewright::dsl::emulator {

class AccessCounter {
 public:
  enum class Memory : std::uint8_t { shared, global };

  // A lane's access; a null address is one whose predicate is off.
  void note(const CallSite& site, int thread, Memory memory, const void* address, int bytes);
  // Adds the counts to the report and restarts.
  void finish(AccessReport& report);

 private:
  struct Request {
    Memory memory = Memory::shared;
    int bytes = 0, arrived = 0;
    std::array<std::uintptr_t, 32> addresses{};  // by lane, 0: none
  };
  struct Sequence {
    std::deque<Request> open;             // not all lanes have come
    std::int64_t closed = 0;              // requests before the first open one
    std::array<std::int64_t, 32> next{};  // by lane
  };
  static void tally(const Request& request, AccessCount& count);

  std::map<std::pair<const CallSite*, int>, Sequence> sequences_;  // by place and warp
  std::map<const CallSite*, AccessCount> counts_;
};

}  // namespace tilewright::dsl::emulator
