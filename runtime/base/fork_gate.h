// Makes forks safe: a fork waits until no other thread is inside the library.
//
// A child has only the thread that forked. A lock that another thread of the parent held at that
// moment is held for ever in the child, and the data that it guarded may be half done: a
// compilation that has begun and never ends, a pool of memory amid a change. So any code that takes
// a lock of the library on behalf of a caller says that it is inside. A fork waits until no other
// thread is, and a thread that wants in waits for the fork.
//
// The wait is bounded, since a thread inside may itself wait for the one that forks (a user's
// function that is being captured, say): after `patience` the fork goes on, and the child may find
// locks that those threads held. A thread that forks while it is inside waits next to not at all.
//
// Being inside costs an uncontended atomic addition at the outermost level, and a counter of the
// thread within.
#pragma once

#include <mutex>

namespace tilewright {

// Inside from construction to destruction, on one thread. Nests.
class InsideLibrary {
 public:
  InsideLibrary() noexcept {
    if (depth_++ == 0) enter();
  }
  ~InsideLibrary() {
    if (--depth_ == 0) leave();
  }
  InsideLibrary(const InsideLibrary&) = delete;
  InsideLibrary& operator=(const InsideLibrary&) = delete;

  // On a thread that works for one that is inside and is waited for by it: counts as that one, so
  // that a fork which waits for both does not keep it out.
  class OnBehalf {
   public:
    OnBehalf() noexcept { ++depth_; }
    ~OnBehalf() { --depth_; }
  };

  static int depth() { return depth_; }  // of this thread

 private:
  static void enter() noexcept;
  static void leave() noexcept;
  static thread_local constinit int depth_;
};

// The work of a part of the library around a fork, on the thread that forks. It takes its locks
// once no other thread is inside: before that, a thread inside may wait for such a lock, and the
// fork for that thread. Each is registered once, for ever.
struct ForkHandlers {
  void (*before)();
  void (*after_in_parent)();
  void (*after_in_child)();
};
void at_forks(const ForkHandlers& added);

// A lock that is held inside.
template <typename Mutex>
class GatedLock {
 public:
  explicit GatedLock(Mutex& mutex) : lock_(mutex) {}

 private:
  InsideLibrary inside_;
  std::lock_guard<Mutex> lock_;
};

}  // namespace tilewright
