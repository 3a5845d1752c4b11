// How long a process waits for others on account of its databases: some seconds in all, however
// many databases, statements and attempts there are. Tuning only makes programs faster, so one that
// is stopped while it holds a lock, or a server that does not answer, must not cost more than that.
//
// A wait that succeeds is not counted, so that processes that share a busy database lose nothing;
// only waits in vain are. Thread safe.
#pragma once

#include <chrono>

namespace tilewright::autotune {

// One wait, which may go in steps.
class Patience {
 public:
  static constexpr std::chrono::milliseconds of_process{6000};
  static std::chrono::milliseconds left();  // of the process; 0: nothing is waited for any more

  // Sleeps so long, or as long as the process may yet; false if it may not at all.
  bool sleep(std::chrono::microseconds wish);
  void take(std::chrono::microseconds waited);  // by another means
  void give_back();                             // the awaited event came
  bool has_waited() const { return taken_.count() > 0; }

 private:
  std::chrono::microseconds taken_{};
};

}  // namespace tilewright::autotune
