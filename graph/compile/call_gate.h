// One call at a time, and an end that waits for the last one without keeping anybody.
//
// A compiled function may be destroyed while another thread runs it, or waits to. Whoever is in the
// gate or before it therefore owns what is behind it, and the last one to leave destroys it if the
// function has gone meanwhile. A mutex and a shared pointer would say the same with two atomic
// operations more at each call, a tenth of what a call costs that does nothing: here one word
// counts who is there, locks, and remembers the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <semaphore>

#include "runtime/base/error.h"

namespace tilewright::graph {

class CallGate {
 public:
  // Raises `Error` on a thread that is inside already and would wait for itself: a custom op that
  // calls the compiled function which runs it.
  void enter() {
    if (word_.fetch_add(one, std::memory_order_acquire) >= one) {
      if (holder_.load(std::memory_order_relaxed) == this_thread()) {
        word_.fetch_sub(one, std::memory_order_relaxed);
        raise_error(
            "[compile] a compiled function is called, or asked for its report, by a custom op or "
            "callback that it runs itself, and would wait for itself without end; let the op call "
            "a function of its own");
      }
      turn_.acquire();
    }
    holder_.store(this_thread(), std::memory_order_relaxed);
  }
  // Lets the next thread in. True: nobody is left and the end has come, so the caller destroys what
  // is behind the gate, which the gate itself may be a part of.
  [[nodiscard]] bool leave() noexcept {
    holder_.store(nullptr, std::memory_order_relaxed);
    const std::uint32_t before = word_.fetch_sub(one, std::memory_order_acq_rel);
    if (before >= 2 * one) turn_.release();
    return before == (one | ended);
  }
  // Nobody comes from now on. True: nobody is there, and the caller destroys.
  [[nodiscard]] bool end() noexcept {
    return word_.fetch_or(ended, std::memory_order_acq_rel) < one;
  }

 private:
  static const void* this_thread() noexcept {
    static thread_local constinit char mark = 0;
    return &mark;
  }

  static constexpr std::uint32_t ended = 1, one = 2;
  std::atomic<std::uint32_t> word_ =
      0;  // threads that are inside or wait, and whether it has ended
  std::atomic<const void*> holder_ = nullptr;  // the thread that is inside
  std::counting_semaphore<> turn_{0};
};

}  // namespace tilewright::graph
