#include "runtime/trace.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/text/number_text.h"
#include "runtime/files/atomic_file.h"

namespace tilewright {
namespace detail {
std::atomic<bool> tracing = false;
}

namespace {

using Clock = std::chrono::steady_clock;
const Clock::time_point loaded = Clock::now();

struct Span {
  const char* kind;
  std::string name;
  int track;
  double begin, end;
};

struct Source {
  int number;
  void (*collect)(void* context);
  void* context;
};

struct Trace {
  std::mutex mutex;
  std::vector<Span> spans;
  std::map<std::string, int, std::less<>> tracks;  // by name
  std::vector<Source> sources;
  int next_source = 0;

  int track(std::string_view name) {
    auto found = tracks.find(name);
    if (found == tracks.end())
      found = tracks.emplace(name, static_cast<int>(tracks.size()) + 1).first;
    return found->second;
  }
};

Trace& trace() {
  static Trace& trace = *new Trace;
  return trace;
}

std::string track_of_thread() {
  static std::atomic<int> next = 0;
  thread_local int number = next++;
  return number == 0 ? "host" : concat("host, thread ", number);
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

std::string json_of(const Trace& t) {
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  for (const auto& [name, number] : t.tracks)
    text += concat("{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": ", number,
                   ", \"args\": {\"name\": ", json_string(name), "}},\n");
  for (const Span& span : t.spans) {
    std::string times = concat("\"ts\": ", fixed_text(span.begin * 1e6, 3),
                               ", \"dur\": ", fixed_text((span.end - span.begin) * 1e6, 3));
    text += concat("{\"ph\": \"X\", \"name\": ", json_string(span.name),
                   ", \"cat\": ", json_string(span.kind), ", \"pid\": 1, \"tid\": ", span.track,
                   ", ", times, "},\n");
  }
  return text +
         "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": "
         "{\"name\": \"tilewright\"}}\n]}\n";
}

// Without the lock: sources add spans.
void collect_sources() {
  std::vector<Source> sources;
  {
    std::lock_guard lock(trace().mutex);
    sources = trace().sources;
  }
  for (const Source& source : sources) source.collect(source.context);
}

// A trace that the environment asks for begins with the process and is written at its end.
const bool begun = [] {
  static const std::string path = env::trace();
  if (path.empty()) return false;
  try {
    AtomicFile could_be_written(path, "TILEWRIGHT_TRACE");
  } catch (const Error& error) {
    std::fprintf(stderr, "tilewright: %s; nothing is recorded\n", error.what());
    return false;
  }
  start_trace();
  std::atexit([] {
    try {
      if (is_tracing()) write_trace(path);
    } catch (const Error& error) {
      std::fprintf(stderr, "tilewright: %s\n", error.what());
    }
  });
  return true;
}();

}  // namespace

double trace_seconds() { return std::chrono::duration<double>(Clock::now() - loaded).count(); }

void TraceSpan::begin(const char* kind, std::string_view name) {
  kind_ = kind;
  if (detail::profiled) push_nvtx_range(kind, name);
  if (!is_tracing()) return;
  is_traced_ = true;
  name_ = name;
  begin_ = trace_seconds();
}

void TraceSpan::end() {
  if (detail::profiled) pop_nvtx_range();
  if (is_traced_) add_trace_span(kind_, name_, track_of_thread(), begin_, trace_seconds());
}

void add_trace_span(const char* kind, std::string_view name, std::string_view track, double begin,
                    double end) {
  Trace& t = trace();
  std::lock_guard lock(t.mutex);
  t.spans.push_back({kind, std::string(name), t.track(track), begin, end});
}

int add_trace_source(void (*collect)(void*), void* context) {
  std::lock_guard lock(trace().mutex);
  trace().sources.push_back({trace().next_source, collect, context});
  return trace().next_source++;
}

void remove_trace_source(int number) {
  std::lock_guard lock(trace().mutex);
  std::erase_if(trace().sources, [&](const Source& source) { return source.number == number; });
}

void start_trace() {
  collect_sources();  // what belongs to the time before
  std::lock_guard lock(trace().mutex);
  trace().spans.clear();
  detail::tracing = true;
}

void stop_trace() {
  collect_sources();
  detail::tracing = false;
}

void write_trace(const std::string& path) {
  stop_trace();
  std::string text;
  {
    std::lock_guard lock(trace().mutex);
    text = json_of(trace());
  }
  AtomicFile file(path, "trace");
  file.write(text.data(), text.size());
  file.commit();
}

std::vector<TraceTotal> trace_totals() {
  collect_sources();
  Trace& t = trace();
  std::lock_guard lock(t.mutex);
  std::map<int, std::string> names;
  for (const auto& [name, number] : t.tracks) names[number] = name;
  std::map<std::tuple<std::string, std::string, int>, TraceTotal> totals;
  for (const Span& span : t.spans) {
    TraceTotal& total = totals[{span.kind, span.name, span.track}];
    total.kind = span.kind;
    total.name = span.name;
    total.track = names[span.track];
    ++total.count;
    total.seconds += span.end - span.begin;
  }
  std::vector<TraceTotal> result;
  for (auto& [key, total] : totals) result.push_back(std::move(total));
  std::ranges::sort(result, std::greater(), &TraceTotal::seconds);
  return result;
}

}  // namespace tilewright
