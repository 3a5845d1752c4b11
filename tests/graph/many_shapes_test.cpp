// A process that meets new shapes for ever takes no more memory than its bounds say, and what is
// given back harms nobody who runs it.
//
// A few hundred shapes; TILEWRIGHT_TEST_SHAPES says how many, and the nightly run tries 200,000
// within the bounds that programs have.
#include <gtest/gtest.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <latch>
#include <memory>
#include <optional>
#include <thread>

#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"
#include "dsl/launch/compile.h"
#include "graph/compile/compile.h"
#include "graph/tensor/eager_plans.h"
#include "runtime/base/env.h"
#include "runtime/kept/bounds.h"
#include "tests/every_device.h"
#include "tests/mappings.h"
#include "tests/setting.h"
#include "tests/tensors.h"

namespace tilewright::many_shapes_test {
namespace {

struct Process {
  std::int64_t resident_bytes = 0, mappings = 0;
};

Process process() {
  Process now;
  std::ifstream statm("/proc/self/statm");
  std::int64_t all = 0;
  statm >> all >> now.resident_bytes;
  now.resident_bytes *= ::sysconf(_SC_PAGESIZE);
  now.mappings = mappings().all;
  return now;
}

using Seconds = std::chrono::duration<double>;

// The seconds in which this thread ran.
double processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Calls that one thread makes, each with a shape that it has not met.
struct Caller {
  std::function<Tensor(const Tensor&)> call;
  std::function<float(float)> meaning;         // of an element
  std::vector<double> seconds = {};            // of each call
  std::vector<double> processor_seconds = {};  // of these, those in which the thread ran

  void run(const Tensor& all, const std::vector<std::int64_t>& lengths) {
    const auto* elements = static_cast<const float*>(all.const_data());
    for (std::int64_t length : lengths) {
      Tensor x = all.slice(0, 0, length);
      auto begin = std::chrono::steady_clock::now();
      const double ran = processor_time();
      Tensor y = call(x);
      processor_seconds.push_back(processor_time() - ran);
      seconds.push_back(Seconds(std::chrono::steady_clock::now() - begin).count());
      const auto last = static_cast<std::size_t>(length - 1);
      const auto* results = static_cast<const float*>(y.const_data());
      EXPECT_EQ(y.shape(), x.shape());
      EXPECT_EQ(results[last], meaning(elements[last])) << "at length " << length;
    }
  }
};

// Lengths 1 to `count` in an order without order: memory is soon as large as it gets.
std::vector<std::int64_t> lengths_of(std::int64_t count) {
  constexpr std::int64_t prime = 7919;
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < count; ++i) lengths.push_back(1 + i * prime % count);
  return lengths;
}

void call_beside(std::vector<Caller>& callers, const Tensor& all,
                 const std::vector<std::int64_t>& lengths) {
  std::vector<std::thread> threads;
  for (Caller& caller : callers) threads.emplace_back([&] { caller.run(all, lengths); });
  for (std::thread& thread : threads) thread.join();
}

void tell(const Process& now, const dsl::CompileStatistics& kernels, std::ptrdiff_t shapes) {
  std::cout << shapes << " shapes: " << (now.resident_bytes >> 20) << " MiB, " << now.mappings
            << " mappings, " << graph::eager_plans() << " eager plans, " << kernels.kept
            << " kernels kept (" << (kernels.kept_bytes >> 20) << " MiB), " << kernels.alive
            << " alive of " << kernels.compiled << "\n";
}

void tell_times(const char* name, std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const std::size_t n = seconds.size();
  std::cout << name << ": median " << seconds[n / 2] * 1e3 << " ms, 99.9 % "
            << seconds[n - 1 - n / 1000] * 1e3 << " ms, longest " << seconds[n - 1] * 1e3
            << " ms\n";
}

TEST(ManyShapes, TakeNoMoreThanTheirBounds) {
  TILEWRIGHT_ON_THE_HOST_ONLY("hundreds of compilations in a second");
  const env::integer asked = env::test_shapes();
  // Code that is loaded starts no LLVM; the first that is compiled would, somewhere in the middle.
  Setting compile_all("TILEWRIGHT_CACHE_DIR", "off");
  std::optional<Setting> few;
  if (!asked) few.emplace("TILEWRIGHT_KEPT_PLANS", "16");
  const std::int64_t count = asked.value_or(300);
  // Threads that come and go change arenas of malloc, and what is given back in one is no memory
  // for another: the process grows by what is kept once for each, which says nothing of us.
  mallopt(M_ARENA_MAX, 1);
  finish_compiling();
  const Tensor all = ramp({count});
  Compiled compiled =
      compile([](const Tensor& t) { return t * 2 + 1; }, {.past_limit = PastLimit::replace_oldest});
  std::vector<Caller> callers = {
      {[](const Tensor& t) { return t + t; }, [](float x) { return x + x; }},
      {compiled, [](float x) { return x * 2 + 1; }}};
  const std::vector<std::int64_t> lengths = lengths_of(count);
  constexpr std::ptrdiff_t parts = 20;
  const std::int64_t bound = bounds_of_tables().count, before = process().mappings;
  // Those that are kept, and those of eager plans and of the function's.
  const std::int64_t most_alive = dsl::compile_statistics().alive + 2 * bound + 8;
  std::int64_t most_resident = 0;  // in the first half
  for (std::ptrdiff_t part = 0; part < parts; ++part) {
    const auto begin = lengths.begin() + std::ssize(lengths) * part / parts,
               end = lengths.begin() + std::ssize(lengths) * (part + 1) / parts;
    call_beside(callers, all, {begin, end});
    const Process now = process();
    const dsl::CompileStatistics kernels = dsl::compile_statistics();
    if (asked) tell(now, kernels, end - lengths.begin());
    EXPECT_LE(graph::eager_plans(), bound);
    EXPECT_LE(kernels.kept, bound);
    EXPECT_LE(kernels.alive, most_alive);
    // Code, constants and what lies between them; threads have some of their own.
    EXPECT_LE(now.mappings, before + 3 * most_alive + 64);
    if (part < parts / 2) {
      most_resident = std::max(most_resident, now.resident_bytes);
      continue;
    }
#ifndef __SANITIZE_ADDRESS__  // which keeps for a while what was given back
    EXPECT_LE(now.resident_bytes, most_resident + most_resident / 20);
#endif
  }
  const dsl::CompileStatistics made = dsl::compile_statistics();
  EXPECT_GE(made.compiled, count) << "shapes shared their code";
  if (!asked) return;
  tell_times("eager", callers[0].seconds);
  tell_times("eager, of a processor", callers[0].processor_seconds);
  tell_times("compiled", callers[1].seconds);
  tell_times("compiled, of a processor", callers[1].processor_seconds);
}

TEST(ManyShapes, AreComputedOnWhilePlansOfOthersAreGivenUp) {
  TILEWRIGHT_ON_THE_HOST_ONLY("hundreds of compilations in a second");
  Setting one("TILEWRIGHT_KEPT_PLANS", "1");
  const Tensor all = ramp({64});
  std::atomic<int> under_way{2};
  // The plans of these two push each other out, while both run.
  auto repeat = [&](std::int64_t length) {
    Caller caller{[](const Tensor& t) { return t + t; }, [](float x) { return x + x; }};
    caller.run(all, std::vector<std::int64_t>(100, length));
    --under_way;
    while (under_way > 0) caller.run(all, {length});
  };
  std::thread other([&] { repeat(63); });
  repeat(64);
  other.join();
  EXPECT_EQ(graph::eager_plans(), 1);
}

TEST(ManyShapes, AFunctionThatIsDestroyedEndsItsCallFirst) {
  const Tensor x = ramp({8});
  std::latch is_called{1}, is_gone{1};
  auto function = std::make_unique<Compiled>(compile([&](const Tensor& t) {
    is_called.count_down();
    is_gone.wait();
    return t * 2;
  }));
  Tensor y;
  std::thread caller([&, &f = *function] { y = f(x); });
  is_called.wait();
  function.reset();
  is_gone.count_down();
  caller.join();
  EXPECT_EQ(y.to_vector<float>(), (x * 2).to_vector<float>());
}

TEST(ManyShapes, CodeGoesWithItsLastOwner) {
  TILEWRIGHT_ON_THE_HOST_ONLY("code whose mappings can be counted");
  constexpr std::int64_t page = 4096;
  Setting one("TILEWRIGHT_KEPT_PLANS", "1");
  auto function_of = [](double factor) {
    Compiled f = compile([factor](const Tensor& t) { return t * factor; });
    EXPECT_EQ(f(full({4}, 1)).to_vector<float>()[3], static_cast<float>(factor));
    return f;
  };
  function_of(1.25);
  finish_compiling();  // of kernels of other tests
  const std::int64_t alive = dsl::compile_statistics().alive, code = mappings().code_bytes;
  {
    std::vector<Compiled> functions;
    for (int i = 0; i < 20; ++i) functions.push_back(function_of(1.5 + i));
    EXPECT_GE(dsl::compile_statistics().alive, alive + 18);
    EXPECT_GE(mappings().code_bytes, code + 18 * page);
    EXPECT_EQ(functions.front()(full({4}, 2)).to_vector<float>()[0], 3);
  }
  function_of(1.25);
  EXPECT_EQ(dsl::compile_statistics().alive, alive);
  EXPECT_EQ(mappings().code_bytes, code);
}

TEST(ManyShapes, AKernelKeepsTheProgramsThatWereLaunchedLast) {
  TILEWRIGHT_ON_THE_HOST_ONLY("hundreds of compilations in a second");
  Setting few("TILEWRIGHT_KEPT_PLANS", "4");
  using namespace dsl;
  Kernel add("add", [](Pointer p, Constexpr number) { store(p, load(p) + number); });
  float sum = 0;
  for (std::int64_t number = 1; number <= 20; ++number) {
    add.launch(1, &sum, number);
    add.launch(1, &sum, std::int64_t{1});  // is never pushed out
  }
  EXPECT_EQ(sum, 230);
  EXPECT_EQ(add.compiled_count(), 4U);
}

}  // namespace
}  // namespace tilewright::many_shapes_test
