// The library's spans as ranges of NVTX, where a profiler listens.
//
// NVIDIA's profilers name a library in NVTX_INJECTION64_PATH, which NVTX loads and hands the calls
// of the program. NVTX is a header without a library; without it at the build there are no ranges,
// and without a profiler none is begun. Unlike a trace (trace.h) ranges change nothing about how
// work is started.
#pragma once

#include <string_view>

namespace tilewright {

namespace detail {
extern const bool profiled;  // a profiler listens
}

// Ranges of one thread are nested. `kind`: as of a TraceSpan.
void push_nvtx_range(const char* kind, std::string_view name);
void pop_nvtx_range();

}  // namespace tilewright
