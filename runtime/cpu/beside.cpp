#include "runtime/cpu/beside.h"

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/base/fork_gate.h"
#include "runtime/cpu/parallel.h"

namespace tilewright {

void run_beside(std::size_t pieces, const std::function<void()>& work) {
  constexpr int most_threads = 16;
  const auto threads = static_cast<std::size_t>(std::clamp(thread_count(), 2, most_threads));
  std::vector<std::exception_ptr> failures(std::max<std::size_t>(std::min(pieces, threads), 1));
  auto caught = [&](std::exception_ptr& failure) {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(failures.size());
  try {
    while (others.size() + 1 < failures.size())
      others.emplace_back(
          [&, &failure = failures[others.size() + 1], limit = ThreadLimit::of_thread()] {
            InsideLibrary::OnBehalf of_the_first;
            ThreadLimit same_limit(limit);
            caught(failure);
          });
  } catch (const std::system_error&) {  // those that there are do it all
  } catch (const std::bad_alloc&) {
  }
  caught(failures.front());
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace tilewright
