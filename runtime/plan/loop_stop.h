// Stopping loops from outside: a condition that never becomes false is a bug of the user's data or
// program, and a loop may just take too long; the caller has a deadline, or a user at a keyboard.
//
//   std::atomic<bool> stop = false;  // set by another thread, or by a handler of a signal
//   StoppableLoops stoppable(stop);
//   Tensor y = fast(x);              // an Error "[while_loop] was stopped after 5210 turns"
//
// A separate thread would not do: it could not be ended while it runs. Without one of these, and
// without a handler, a signal ends the process, in a loop as elsewhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace tilewright {

// While it lives, the loops that this thread runs, while_loop and scan, at once or in compiled
// functions, look at the flag before each turn, and raise `Error` where it is set. Tensors that a
// compiled function writes in place are then written or not; it can be called again. If they are
// nested, the innermost counts. The flag must outlive it.
class StoppableLoops {
 public:
  explicit StoppableLoops(const std::atomic<bool>& stop);
  ~StoppableLoops();
  StoppableLoops(const StoppableLoops&) = delete;
  StoppableLoops& operator=(const StoppableLoops&) = delete;

 private:
  const std::atomic<bool>* around_;
};

// For one loop, which begins here.
class LoopStop {
 public:
  explicit LoopStop(std::string_view loop);
  // Before a turn; `done` were made before.
  void look(std::int64_t done) const {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) [[unlikely]]
      raise(done);
  }

 private:
  [[noreturn]] void raise(std::int64_t done) const;

  std::string_view loop_;  // a literal
  const std::atomic<bool>* stop_;
};

}  // namespace tilewright
