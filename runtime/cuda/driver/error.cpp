#include "runtime/cuda/driver/error.h"

#include <array>
#include <atomic>
#include <mutex>

#include "runtime/cuda/driver/driver.h"

namespace tilewright::cuda {
namespace {

struct Launched {
  const char* kernel = nullptr;
  unsigned grid[3] = {}, threads = 0;
  std::shared_ptr<const std::string> graph = {};  // instead of a kernel

  std::string text() const {
    if (graph) return *graph;
    return concat(kernel, " (grid ", grid[0], "x", grid[1], "x", grid[2], ", ", threads,
                  " threads)");
  }
};

// The last launches, and how many of them are perhaps unfinished.
struct LaunchLog {
  std::mutex mutex;
  std::array<Launched, 8> latest{};
  std::size_t count = 0;

  void note(Launched launched) {
    std::lock_guard lock(mutex);
    latest[count++ % latest.size()] = std::move(launched);
  }
  std::string text() {
    std::lock_guard lock(mutex);
    std::string out;
    for (std::size_t i = 0; i < std::min(count, latest.size()); ++i)
      out += concat(i == 0 ? "" : ", ", latest[(count - 1 - i) % latest.size()].text());
    if (count > latest.size()) out += concat(" and ", count - latest.size(), " before them");
    return out;
  }
};

LaunchLog& launch_log() {
  static LaunchLog& log = *new LaunchLog;
  return log;
}

}  // namespace

bool is_sticky(Result result) {
  switch (result) {
    case Result::ecc_uncorrectable:
    case Result::illegal_address:
    case Result::launch_timeout:
    case Result::context_is_destroyed:
    case Result::device_assert:
    case Result::hardware_stack_error:
    case Result::illegal_instruction:
    case Result::misaligned_address:
    case Result::invalid_address_space:
    case Result::invalid_pc:
    case Result::launch_failed: return true;
    default: return false;
  }
}

std::string describe(Result result) {
  const char *name = nullptr, *text = nullptr;
  driver().cuGetErrorName(result, &name);
  driver().cuGetErrorString(result, &text);
  return concat(name == nullptr ? "an unknown error" : name, " (", static_cast<int>(result), ")",
                text == nullptr ? "" : ": ", text == nullptr ? "" : text);
}

void must(Result result, std::string_view call, std::string_view about) {
  if (result == Result::success) [[likely]]
    return;
  std::string said =
      concat("[cuda] ", about, about.empty() ? "" : ": ", call, " gives ", describe(result));
  if (is_sticky(result)) {
    std::string kernels = launch_log().text();
    throw ContextLost(
        concat(said, "; the context is lost and this process cannot use the GPU again. ",
               kernels.empty()
                   ? "No kernel was launched since all was known to be well"
                   : concat("Launched since all was known to be well, the latest first: ", kernels),
               "; TILEWRIGHT_SYNC=1 tells which it was"));
  }
  if (result == Result::out_of_memory) throw OutOfMemory(said);
  if (result == Result::launch_out_of_resources)
    said +=
        "; the kernel asks for more registers or shared memory than the GPU has: choose smaller "
        "blocks";
  raise_error(said);
}

void note_launch(const char* kernel, const unsigned (&grid)[3], unsigned threads) {
  launch_log().note({kernel, {grid[0], grid[1], grid[2]}, threads});
}

void note_graph(std::shared_ptr<const std::string> text) {
  launch_log().note({.graph = std::move(text)});
}

void note_unloaded(const char* kernel) {
  LaunchLog& log = launch_log();
  std::lock_guard lock(log.mutex);
  for (Launched& launched : log.latest)
    if (launched.kernel == kernel) launched.kernel = "a kernel that ended and was unloaded";
}

void note_all_finished() {
  LaunchLog& log = launch_log();
  std::lock_guard lock(log.mutex);
  log.count = 0;
}

}  // namespace tilewright::cuda
