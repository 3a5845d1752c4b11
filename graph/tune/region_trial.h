// Running one region by itself, on memory made for the purpose: what tuning times and checks.
//
// Floating elements are random, so that nothing is faster than it will be; integers that may be
// rows of something are zero, and one that decides how much there is to do, as an attention's
// position in a cache, has several values in turn. Where the memory of one run fits into caches
// that in a model would hold other things by then, runs go round several copies of it.
#pragma once

#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "autotune/measure/failure.h"
#include "dsl/launch/device.h"
#include "graph/lower/lowering.h"
#include "runtime/buffer.h"

namespace tilewright::graph {

// A region compiled with some block sizes, or why it could not be.
struct RegionCandidate {
  LoweredRegion lowered;
  std::vector<std::shared_ptr<const Artifact>> artifacts;
  autotune::Failure failure;
};

// Tuning was asked to end before it was over.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "tuning was stopped"; }
};

// The time was over before a trial had its memory.
struct TimeIsUp : std::exception {
  const char* what() const noexcept override { return "there was no time for a trial"; }
};

class RegionTrial {
 public:
  // All must outlive the trial. Raises `OutOfMemory` before it allocates any where running and
  // comparing needs more than half of the machine's free memory, `Error` where memory cannot be
  // had, and `TimeIsUp` where it is not filled by that moment (of `steady_seconds`). Once the token
  // says so nothing compiles, and timing raises `Stopped`.
  RegionTrial(const TaskList& list, const Region& region, const Device& device,
              std::stop_token stop = {}, double until = std::numeric_limits<double>::infinity());

  void raise_if_stopped() const;  // `Stopped`
  // Never raises; thread safe.
  RegionCandidate compile(const BlockSizes& blocks) const;
  // Seconds a run, of as many as take `at_least_seconds`, at least one for each amount
  // of work. On a GPU by its own clock, inside a CUDA graph.
  double seconds(const RegionCandidate& candidate, double at_least_seconds);
  // About how long `results` and a `difference` take beside the run, by how long it took to fill
  // the memory.
  double results_seconds() const { return results_seconds_; }
  // The results that the region stores, starting from the same memory each time.
  std::vector<std::vector<std::byte>> results(const RegionCandidate& candidate);
  // Where two such results differ by more than other orders of adding explain; empty: nowhere.
  std::string difference(const std::vector<std::vector<std::byte>>& expected,
                         const std::vector<std::vector<std::byte>>& actual) const;

 private:
  using Memory = std::vector<std::shared_ptr<Buffer>>;  // a storage each
  // Copies have the values of such an element in turn.
  void set_values(const std::vector<WorkElement>& elements);
  void require_room(std::int64_t bytes_of_copies, std::int64_t bytes_of_results) const;
  void require_time() const;  // `TimeIsUp`
  void add_copy();
  // `before_each` piece, which is some MiB.
  void fill(
      const Memory& memory, bool stored_only,
      const std::function<void()>& before_each = [] {}) const;
  void provide_scratch(const RegionCandidate& candidate);
  std::vector<Argument> arguments_of(const LoweredProgram& program, const Memory& memory) const;
  void run(const RegionCandidate& candidate, const Memory& memory);
  double seconds_on_gpu(const RegionCandidate& candidate, double at_least_seconds);

  const TaskList& list_;
  const Region& region_;
  Device device_;
  std::vector<StorageId> storages_;
  std::vector<bool> stored_;                      // of each storage
  std::vector<std::int64_t> sizes_;               // of each, in bytes
  std::vector<std::vector<std::byte>> contents_;  // that each begins with, again and again
  std::vector<Memory> copies_;
  std::size_t next_copy_ = 0;
  std::int64_t turns_ = 1;  // of values
  Memory scratch_;
  std::stop_token stop_;
  double until_, results_seconds_ = 0;
};

}  // namespace tilewright::graph
