// What a kernel is compiled for.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/hash.h"

namespace tilewright::dsl {

// The host's instruction set as the code generator uses it. `lanes` is how many f32 elements one
// vector register holds: 4 (SSE), 8 (AVX2), 16 (AVX-512).
struct Target {
  std::string features;  // LLVM feature string, "+avx2,+fma,..."
  std::string cpu;       // LLVM CPU name for scheduling
  int lanes = 8;
  bool has_fma = true;
  unsigned vector_registers() const { return lanes == 16 ? 32 : 16; }
  bool operator==(const Target&) const = default;
  Hash hash() const { return Hasher().add(features).add(cpu).add(lanes).finish(); }
};

// The best this machine can run, found from CPUID at run time (never from the CPU's name alone);
// TILEWRIGHT_CPU=avx512|avx2|sse narrows it. Found once.
const Target& host_target();
// By name as in TILEWRIGHT_CPU; raises `Error` listing the names if unknown.
Target target_named(const std::string& name);

}  // namespace tilewright::dsl
