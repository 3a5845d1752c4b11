// Synchronisation of steps and readers over memory that is used again and again.
//
// A function compiled with reduce-overhead leaves its results where the last call left them: a
// result is valid until the next call. Each result knows the call it belongs to, its step, and the
// function keeps count; reading one that a later step has overwritten is an error at once, not
// wrong numbers. A step waits for readers, also in other threads, and a reader waits for the step
// under way: so a reader sees either the result or the error.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <source_location>
#include <string_view>
#include <vector>

namespace tilewright::graph {

struct StepCount {
  std::atomic<std::int64_t> latest = 0;
  mutable std::shared_mutex memory;  // a step holds it while it writes, readers share it
};

// What a tensor over such memory carries.
struct StepToken {
  std::shared_ptr<const StepCount> count;  // null: the memory is the tensor's own
  std::int64_t step = 0;
  int output = 0;  // which of the step's results
};

// Raises `Error` that names both steps, `operation` and its line, where it is known, if a later
// step has begun.
void require_current(const StepToken& token, std::string_view operation,
                     std::optional<std::source_location> where);

// Holds memory of steps while it is read and written. Everything that one operation uses is locked
// together, in one global order, so that there is no deadlock; whoever holds such locks must not
// start another access. Costs nothing if no tensor has a token.
class StepAccess {
 public:
  StepAccess() = default;
  // As add and begin.
  StepAccess(const StepToken& token, std::string_view operation,
             std::optional<std::source_location> where) {
    add(token);
    begin(operation, where);
  }
  StepAccess(const StepAccess&) = delete;
  StepAccess& operator=(const StepAccess&) = delete;
  ~StepAccess();
  // The token of a tensor that is read, which outlives this.
  void add(const StepToken& token) {
    if (token.count != nullptr) [[unlikely]]
      entries_.push_back({token.count.get(), &token});
  }
  // A step that is about to write its results; one at most.
  void add_step(const StepCount& count) { step_ = &count; }
  // Waits until nobody writes what was added, and for a step until nobody reads. Raises `Error` as
  // require_current does, holding nothing.
  void begin(std::string_view operation, std::optional<std::source_location> where);

 private:
  struct Entry {
    const StepCount* count;
    const StepToken* token;  // null: to be written
  };
  void hold_all();
  void release() noexcept;
  const StepCount* step_ = nullptr;
  std::vector<Entry> entries_;  // of what has a token, and then of the step
  bool is_held_ = false;
};

}  // namespace tilewright::graph
