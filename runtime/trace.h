// Where the time goes: spans of a process for a trace viewer.
//
// With TILEWRIGHT_TRACE=FILE, or between start_trace and write_trace, the library's work is
// recorded: compiling, launches on the host, kernels of GPUs with the times that the GPU took,
// copies. The file is what Chrome's viewer (chrome://tracing, Perfetto) reads: a track a thread,
// and one a GPU. Where nothing is recorded, a span costs the test of one flag.
//
// Kernels of a GPU are timed one by one then, with an event on either side, and a recorded graph is
// started launch by launch: sums of kernels are right, gaps between them are not those of a run
// without a trace. Profilers hear of spans as ranges of NVTX (nvtx.h), which changes nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/nvtx.h"

namespace tilewright {

namespace detail {
extern std::atomic<bool> tracing;
}
inline bool is_tracing() { return detail::tracing.load(std::memory_order_relaxed); }

// Seconds since the library was loaded.
double trace_seconds();

// From its construction to its destruction, on the track of the calling thread. `kind`: "compile",
// "launch", "copy"; a literal.
class TraceSpan {
 public:
  TraceSpan(const char* kind, std::string_view name) {
    if (is_tracing() || detail::profiled) [[unlikely]]
      begin(kind, name);
  }
  ~TraceSpan() {
    if (kind_ != nullptr) [[unlikely]]
      end();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  void begin(const char* kind, std::string_view name);
  void end();
  const char* kind_ = nullptr;
  std::string name_;
  double begin_ = 0;
  bool is_traced_ = false;
};

// A span that was measured elsewhere, on a track with a name ("cuda:0"). Thread safe.
void add_trace_span(const char* kind, std::string_view name, std::string_view track, double begin,
                    double end);
// Called before the trace is read, so that a source with its own measurements can add pending ones.
// Returns a number for remove_trace_source.
int add_trace_source(void (*collect)(void* context), void* context);
void remove_trace_source(int number);

void start_trace();  // forgets the recording
void stop_trace();
// Writes the file and stops recording. Raises `Error` where it cannot be written.
void write_trace(const std::string& path);

// The events recorded since start_trace, by kind and name, the longest first; recording continues.
struct TraceTotal {
  std::string kind, name, track;
  std::int64_t count = 0;
  double seconds = 0;
};
std::vector<TraceTotal> trace_totals();

}  // namespace tilewright
