// Times launches on the library's own thread pool beside oneTBB's, on the same threads' worth of
// CPUs, in turns. Three cases: back to back loops with an empty body; back to back loops whose
// pieces work for about 3 us each; a loop of such pieces after the threads had nothing to do for
// 3 ms. Prints JSON: one record a case with the median, the smallest and the 90th percentile.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cpu/parallel.h"

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// A body that works for a fixed number of steps and cannot be left out.
struct Work {
  int steps = 0;
  void operator()() const {
    for (int i = 0; i < steps; ++i) asm volatile("" : : "r"(i));
  }
};

Work work_of(double microseconds) {
  double us_of_a_step = 1;
  for (int i = 0; i < 50; ++i) {
    Work work{20'000};
    auto start = Clock::now();
    work();
    us_of_a_step = std::min(us_of_a_step, microseconds_since(start) / work.steps);
  }
  return {static_cast<int>(microseconds / us_of_a_step)};
}

void loop_on_pool(int count, const Work& work) {
  tilewright::parallel_for(
      count,
      [](void* context, std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) (*static_cast<const Work*>(context))();
      },
      const_cast<Work*>(&work));
}

void loop_on_tbb(int count, const Work& work) {
  tbb::parallel_for(
      0, count, [&](int) { work(); }, tbb::static_partitioner());
}

struct Case {
  const char* name;
  double body_us;
  int batch;  // loops a sample
  std::chrono::milliseconds idle;
};

std::string quantiles(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  auto at = [&](double q) { return samples[static_cast<std::size_t>(q * (samples.size() - 1))]; };
  char text[128];
  std::snprintf(text, sizeof text, "{\"median_us\": %.3f, \"min_us\": %.3f, \"p90_us\": %.3f}",
                at(0.5), at(0), at(0.9));
  return text;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

void measure(const Case& c, int count, const char* end) {
  Work work = c.body_us == 0 ? Work{0} : work_of(c.body_us);
  std::vector<double> pool, tbb;
  auto sample = [&](auto loop, std::vector<double>& samples) {
    for (int i = 0; i < 3 && c.idle.count() == 0; ++i) loop(count, work);
    if (c.idle.count() > 0) std::this_thread::sleep_for(c.idle);
    auto start = Clock::now();
    for (int i = 0; i < c.batch; ++i) loop(count, work);
    samples.push_back(microseconds_since(start) / c.batch);
  };
  for (int i = 0; i < 400; ++i) {
    sample(loop_on_pool, pool);
    // So that the pool's workers sleep, not spin, while the other side is timed.
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    sample(loop_on_tbb, tbb);
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  std::printf(
      "    {\"case\": \"%s\", \"body_us\": %.1f, \"programs\": %d,\n     \"own_pool\": %s,\n"
      "     \"onetbb\": %s}%s\n",
      c.name, c.body_us, count, quantiles(pool).c_str(), quantiles(tbb).c_str(), end);
}

}  // namespace

int main(int, char** arguments) {
  int threads = tilewright::thread_count();
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                            static_cast<std::size_t>(threads));
  std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  std::printf(
      "{\"device\": \"%s\", \"threads\": %d, \"date\": \"%s\",\n \"command\": \"%s\", "
      "\"cases\": [\n",
      cpu_name().c_str(), threads, date, arguments[0]);
  measure({"empty body, back to back", 0, 200, {}}, threads, ",");
  measure({"3 us body, back to back", 3, 50, {}}, threads, ",");
  measure({"3 us body, 8 programs a thread, back to back", 3, 10, {}}, 8 * threads, ",");
  measure({"3 us body, after 3 ms idle", 3, 1, std::chrono::milliseconds(3)}, threads, "");
  std::printf("]}\n");
}
