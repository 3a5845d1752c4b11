#include "runtime/cpu/instruction_sets.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace tilewright {
namespace {

std::atomic<std::size_t> assumed = instruction_sets.size();

// The processor has them, and the system gives them to this process and all of its threads.
bool has_tiles() {
  constexpr unsigned amx_bf16 = 1U << 22, amx_tile = 1U << 24, amx_int8 = 1U << 25;
  constexpr unsigned all = amx_bf16 | amx_tile | amx_int8;
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & all) != all) return false;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

// How many of the sets this processor does not run.
std::size_t count_too_new() {
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  bool dots = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
  if (avx512) return !dots ? 2 : has_tiles() ? 0 : 1;
  return avx2 ? 3 : 4;
}

}  // namespace

std::size_t best_instruction_set() { return std::min(count_too_new(), assumed.load()); }

void assume_instruction_set(std::size_t place) { assumed = place; }

}  // namespace tilewright
