// Timing whole calls of several plans of one graph, on memory of their own.
//
// A region is timed by itself (graph/tune/region_trial.h): then its operands are in other caches
// than in a call, and the states of the threads differ. So choices for regions are timed again
// here, with all launches in a row, as they are recorded (runtime/plan/recording.h). What a call
// writes in place is a copy, put back before each run where it is small, so that a counter does not
// run away; positions in caches are those by which regions are timed, in turn, whatever the first
// call of a function has.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "graph/run/plan.h"
#include "graph/tensor/tensor.h"
#include "runtime/plan/recording.h"

namespace tilewright::graph {

struct CachePosition;  // plan_body.h

// The inputs of a call of a graph, concrete, with bodies of their own, so that nobody moves them;
// the first `arguments` of them are the call's, and `written` those that the graph mutates.
struct StepInputs {
  std::vector<Tensor> inputs;
  std::size_t arguments = 0;
  std::vector<std::size_t> written;
};

// The inputs of a graph as a trial may use them. Arguments and whatever is written are copied,
// perhaps while others write them; that is harmless, since nobody reads the results. Weights are
// used in place. Not thread safe.
class StepMemory {
 public:
  // Copies lie in the device's memory. Raises `Error` where it has too little.
  StepMemory(StepInputs from, const Device& device);

  const Device& device() const { return device_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  // The addresses of the first elements of all inputs.
  const std::vector<void*>& addresses() const { return addresses_; }
  // Sets the positions in caches, where they are copies, to the value that they have at this turn,
  // modulo how many each has.
  void set_positions(std::span<const CachePosition> positions, std::int64_t turn);
  // Puts back what calls have written: all of it, or only what is so small that it takes no time.
  void restore_all() { restore(copies_); }
  void restore_small() { restore(small_); }

 private:
  struct Copy {
    std::shared_ptr<Buffer> now, before;  // before: null for what no call writes
    std::int64_t bytes = 0;
    std::size_t input = 0;
  };
  void add_copy(std::size_t input, bool is_written);
  void copy_bytes(Buffer& to, const Buffer& from, std::int64_t bytes) const;
  void restore(const std::vector<Copy>& copies) const;

  Device device_;
  std::vector<Tensor> inputs_;
  std::vector<void*> addresses_;
  std::vector<Copy> copies_, small_;
};

// Plans of the graph that the memory is for, which must outlive the trial.
class StepTrial {
 public:
  StepTrial(StepMemory& memory, std::stop_token stop) : memory_(memory), stop_(std::move(stop)) {}
  void add(std::shared_ptr<const Plan> plan);
  // Seconds a call of the plan that was added at this index. If one call takes `at_least_seconds`,
  // times one, and the next time one at the next position in the cache; else times calls at all
  // positions, as often as needed. Raises `Stopped` (region_trial.h) once the token says so.
  double seconds(std::size_t plan, double at_least_seconds);

 private:
  struct Candidate {
    std::unique_ptr<Recording> recording;
    std::vector<std::shared_ptr<Buffer>> packed_weights;
    std::vector<void*> addresses;
    std::span<const CachePosition> positions;
    std::int64_t calls = 0;  // of `seconds`
  };
  StepMemory& memory_;
  std::stop_token stop_;
  std::vector<Candidate> candidates_;
};

}  // namespace tilewright::graph
