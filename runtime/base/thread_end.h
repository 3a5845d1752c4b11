// Work to do when a thread ends, registered in a way that can fail. A `thread_local` object with a
// destructor notes it too, but glibc ends the process where there is no memory for that note.
#pragma once

#include <cxxabi.h>
#include <pthread.h>

#include <new>
#include <system_error>

namespace tilewright {

// The exception by which the system unwinds the stack of a thread that ends by pthread_exit or
// pthread_cancel. A handler of all exceptions that keeps its own for later must let this one pass
// (`catch (const ForcedUnwind&) { throw; }`): where it stops, the system ends the process.
using ForcedUnwind = abi::__forced_unwind;

// A function that threads call as they end, while the object lives: one of namespace scope is made
// before the pool of threads, and so outlives it. Thread safe.
class ThreadEnd {
 public:
  // Raises std::system_error where the process has no more keys for threads' values.
  explicit ThreadEnd(void (*function)(void*)) {
    if (int error = pthread_key_create(&key_, function); error != 0)
      throw std::system_error(error, std::generic_category(), "what a thread does at its end");
  }
  ~ThreadEnd() { pthread_key_delete(key_); }
  ThreadEnd(const ThreadEnd&) = delete;
  ThreadEnd& operator=(const ThreadEnd&) = delete;

  // The calling thread will call the function with `argument`, which is not null; once, however
  // often it is noted. Raises std::bad_alloc.
  void note(void* argument) const {
    if (pthread_setspecific(key_, argument) != 0) throw std::bad_alloc();
  }

 private:
  pthread_key_t key_;
};

}  // namespace tilewright
