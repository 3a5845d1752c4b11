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

namespace tilewright::graph {

class CallGate {
 public:
  void enter() noexcept {
    if (word_.fetch_add(one, std::memory_order_acquire) >= one) turn_.acquire();
  }
  // Lets in who waits. True: nobody is left and the end has come, so the caller destroys what is
  // behind the gate, which the gate itself may be a part of.
  [[nodiscard]] bool leave() noexcept {
    const std::uint32_t before = word_.fetch_sub(one, std::memory_order_acq_rel);
    if (before >= 2 * one) turn_.release();
    return before == (one | ended);
  }
  // Nobody comes from now on. True: nobody is there, and the caller destroys.
  [[nodiscard]] bool end() noexcept {
    return word_.fetch_or(ended, std::memory_order_acq_rel) < one;
  }

 private:
  static constexpr std::uint32_t ended = 1, one = 2;
  std::atomic<std::uint32_t> word_ =
      0;  // threads that are inside or wait, and whether it has ended
  std::counting_semaphore<> turn_{0};
};

}  // namespace tilewright::graph
