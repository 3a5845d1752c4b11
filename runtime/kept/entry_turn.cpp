#include "runtime/kept/entry_turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace tilewright {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::microseconds shortest_sleep = 500us, longest_sleep = 5ms;

}  // namespace

EntryTurn::EntryTurn(std::filesystem::path file, std::chrono::milliseconds most)
    : file_(std::move(file)) {
  if (file_.empty()) return;
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return;
  // No signal ends a wait for a lock after a time, so the lock is asked for again and again.
  const auto end = std::chrono::steady_clock::now() + most;
  std::chrono::microseconds sleep = shortest_sleep;
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const bool is_taken = errno == EWOULDBLOCK || errno == EINTR;
    if (!is_taken || std::chrono::steady_clock::now() >= end) {
      ::close(descriptor_);
      descriptor_ = -1;
      return;
    }
    std::this_thread::sleep_for(sleep);
    sleep = std::min(2 * sleep, longest_sleep);
  }
}

// The file goes first: a process that comes later makes a new one. Those that wait for this one get
// its lock one after the other, and find the entry. Closing alone would not unlock it where the
// process has been forked meanwhile.
EntryTurn::~EntryTurn() {
  if (descriptor_ < 0) return;
  ::unlink(file_.c_str());
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

}  // namespace tilewright
