#include "runtime/base/fork_gate.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

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

// Handlers run on the thread that forks.
void before_fork() {
  ++gate.forking;
  int own = InsideLibrary::depth() > 0 ? 1 : 0;
  auto until = Clock::now() + (own > 0 ? Clock::duration(patience_inside) : patience);
  while (gate.inside > own && Clock::now() < until) std::this_thread::sleep_for(look_again);
}
void after_fork_in_parent() { --gate.forking; }
void after_fork_in_child() {
  gate.forking = 0;
  gate.inside = InsideLibrary::depth() > 0 ? 1 : 0;
}

// Before main, so that it is there for every fork of the program.
const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

}  // namespace

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
