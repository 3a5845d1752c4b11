// An executable with all of its memory fixed, outputs included: a call patches the addresses of
// inputs into a flat list of launches and runs it, on a GPU as one graph. Nothing is allocated or
// looked up. Separate from `run_executable` because that makes memory for each call, and this never
// does.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/plan/executable.h"
#include "runtime/plan/shared_arena.h"

namespace tilewright {

// An output is valid until the next call. Not thread safe.
class Recording {
 public:
  // The arena may be shared with other recordings that do not run at the same time.
  explicit Recording(std::shared_ptr<const Executable> executable,
                     std::shared_ptr<SharedArena> arena = {});
  Recording(Recording&&) noexcept;
  ~Recording();
  // All steps, `times` times over. The results are the same buffers at every call, null where a
  // result is an input's memory. On the host steps can be timed.
  const std::vector<std::shared_ptr<Buffer>>& run(std::span<void* const> inputs,
                                                  std::int64_t times = 1,
                                                  LaunchTimes* measured = nullptr);
  // Launches of a GPU's graph that were changed so far because an address had.
  std::int64_t updates() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace tilewright
