#include "tools/measure.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>

#include "runtime/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright::tools {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<double> interleaved_medians(const std::vector<std::function<void()>>& actions,
                                        int rounds, double shortest_s) {
  std::vector<int> repeats;
  for (const auto& action : actions) {
    action();  // warm
    double start = now_s();
    action();
    double once = std::max(now_s() - start, 1e-9);
    repeats.push_back(static_cast<int>(std::clamp(shortest_s / once, 1.0, 1e6)));
  }
  std::vector<std::vector<double>> samples(actions.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < actions.size(); ++i) {
      double start = now_s();
      for (int r = 0; r < repeats[i]; ++r) actions[i]();
      samples[i].push_back((now_s() - start) / repeats[i]);
    }
  std::vector<double> medians;
  for (auto& list : samples) {
    std::ranges::sort(list);
    medians.push_back(list[list.size() / 2]);
  }
  return medians;
}

namespace {

struct Copy {
  const char* from;
  char* to;
  std::size_t bytes;
  std::size_t pieces;
};

void plain_copy(void* context, std::int64_t begin, std::int64_t end, int) {
  const Copy& c = *static_cast<Copy*>(context);
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
    std::size_t first = c.bytes / c.pieces * i;
    std::memcpy(c.to + first, c.from + first, c.bytes / c.pieces);
  }
}

#if defined(__x86_64__)
__attribute__((target("avx"))) void streaming_copy(void* context, std::int64_t begin,
                                                   std::int64_t end, int) {
  const Copy& c = *static_cast<Copy*>(context);
  std::size_t piece = c.bytes / c.pieces;
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
    for (std::size_t at = piece * i; at < piece * (i + 1); at += 64) {
      const char* from = c.from + at;
      _mm_prefetch(from + 4096, _MM_HINT_T0);
      __m256 low = _mm256_load_ps(reinterpret_cast<const float*>(from));
      __m256 high = _mm256_load_ps(reinterpret_cast<const float*>(from + 32));
      _mm256_stream_ps(reinterpret_cast<float*>(c.to + at), low);
      _mm256_stream_ps(reinterpret_cast<float*>(c.to + at + 32), high);
    }
}
#endif

char* pages(std::size_t bytes, unsigned seed) {
  auto* data = static_cast<char*>(std::aligned_alloc(std::size_t{1} << 21, bytes));
  madvise(data, bytes, MADV_HUGEPAGE);
  std::mt19937 generator(seed);
  for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
    auto value = static_cast<float>(generator() % 1000) / 1000.0F;
    std::memcpy(data + i, &value, 4);
  }
  return data;
}

}  // namespace

CopyLimit::CopyLimit(std::size_t bytes) {
  std::size_t page = std::size_t{1} << 21;
  half_ = (bytes / 2 + page - 1) / page * page;
  from_ = pages(half_, 1);
  to_ = pages(half_, 2);
}

CopyLimit::~CopyLimit() {
  std::free(from_);
  std::free(to_);
}

std::vector<std::string> CopyLimit::names() {
#if defined(__x86_64__)
  return {"memcpy", "non-temporal stores"};
#else
  return {"memcpy"};
#endif
}

std::vector<std::function<void()>> CopyLimit::loops() {
  Copy copy{from_, to_, half_, half_ >> 17};
  auto loop = [copy](RangeBody body) {
    return [copy, body]() mutable {
      parallel_for(static_cast<std::int64_t>(copy.pieces), body, &copy);
    };
  };
#if defined(__x86_64__)
  return {loop(plain_copy), loop(streaming_copy)};
#else
  return {loop(plain_copy)};
#endif
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (auto colon = line.find(": "); colon != line.npos) return line.substr(colon + 2);
  return "unknown";
}

std::string date_today() {
  std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

std::size_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace tilewright::tools
