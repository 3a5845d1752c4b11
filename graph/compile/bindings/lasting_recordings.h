// Recordings of one executable whose results are never overwritten while somebody holds them.
//
// A recording (runtime/plan/recording.h) leaves its results in the same memory at each run. Where
// results of several runs are in use at once, as those of a segment that a loop comes to again and
// again, each run takes a recording whose results nobody holds any more, or makes another one. Past
// a few recordings the launches run with new memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/plan/recording.h"

namespace tilewright::graph {

// Not thread safe; results may be held and given up by any thread.
class LastingRecordings {
 public:
  LastingRecordings(std::shared_ptr<const Executable> executable,
                    std::shared_ptr<SharedArena> arena);
  // Results on the host of which a few sets may be kept in every mode: making memory for them, and
  // lists of arguments, would take longer than launches of that size.
  static bool are_small(const Executable& executable);
  // Replaces `results`.
  void run(std::span<void* const> inputs, std::vector<std::shared_ptr<Buffer>>& results,
           LaunchTimes* measured = nullptr);

 private:
  struct Entry {
    Recording recording;
    std::vector<std::shared_ptr<Buffer>> results;
    std::vector<long> owners;  // of each result, where nobody else holds it
    bool is_free() const;
  };
  std::shared_ptr<const Executable> executable_;
  std::shared_ptr<SharedArena> arena_;
  std::vector<Entry> entries_;
  std::size_t latest_ = 0;
};

}  // namespace tilewright::graph
