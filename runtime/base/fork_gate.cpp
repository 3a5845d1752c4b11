#include "runtime/base/fork_gate.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <thread>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto patience = 10s;  // of a fork with threads that are inside
// for a thread that is itself inside, and for which the others may be waiting
constexpr auto patience_inside = 100ms;
constexpr auto look_again = 50us;

struct Gate {
  std::atomic<int> inside{0};   // threads
  std::atomic<int> forking{0};  // threads that are about to fork
};
Gate gate;

// Those of threads and queues, in the order of their registration. Never removed.
constexpr std::size_t most_handlers = 8;
std::array<ForkHandlers, most_handlers> handlers;
std::atomic<std::size_t> handler_count{0};
thread_local constinit std::size_t handled = 0;  // those that the fork of this thread has run

// Handlers run on the thread that forks.
void before_fork() {
  ++gate.forking;
  int own = InsideLibrary::depth() > 0 ? 1 : 0;
  auto until = Clock::now() + (own > 0 ? Clock::duration(patience_inside) : patience);
  while (gate.inside > own && Clock::now() < until) std::this_thread::sleep_for(look_again);
  handled = handler_count;
  for (std::size_t i = 0; i < handled; ++i) handlers[i].before();
}
void after_fork_in_parent() {
  for (std::size_t i = handled; i-- > 0;) handlers[i].after_in_parent();
  --gate.forking;
}
void after_fork_in_child() {
  for (std::size_t i = handled; i-- > 0;) handlers[i].after_in_child();
  gate.forking = 0;
  gate.inside = InsideLibrary::depth() > 0 ? 1 : 0;
}

// Before main, so that it is there for every fork of the program.
const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

}  // namespace

void at_forks(const ForkHandlers& added) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  check(handler_count < most_handlers, "there are more handlers of forks than places for them");
  handlers[handler_count] = added;
  ++handler_count;
}

thread_local constinit int InsideLibrary::depth_ = 0;

void InsideLibrary::enter() noexcept {
  while (true) {
    ++gate.inside;
    if (gate.forking == 0) [[likely]]
      return;
    --gate.inside;
    while (gate.forking != 0) std::this_thread::sleep_for(look_again);
  }
}

void InsideLibrary::leave() noexcept { --gate.inside; }

}  // namespace tilewright
