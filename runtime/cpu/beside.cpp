#include "runtime/cpu/beside.h"

#include <exception>
#include <new>
#include <system_error>
#include <thread>

#include "runtime/base/fork_gate.h"
#include "runtime/cpu/parallel.h"

namespace tilewright {

void run_beside(const std::function<void()>& work) {
  std::exception_ptr here, there;
  auto caught = [&](std::exception_ptr& failure) {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  std::thread second;
  try {
    second = std::thread([&, limit = ThreadLimit::of_thread()] {
      InsideLibrary::OnBehalf of_the_first;
      ThreadLimit same_limit(limit);
      caught(there);
    });
  } catch (const std::system_error&) {  // one thread does it all
  } catch (const std::bad_alloc&) {
  }
  caught(here);
  if (second.joinable()) second.join();
  if (here) std::rethrow_exception(here);
  if (there) std::rethrow_exception(there);
}

}  // namespace tilewright
