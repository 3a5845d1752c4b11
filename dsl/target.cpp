#include "dsl/target.h"

#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

// The oldest version of PTX that has what the code generator uses: the widest range of drivers.
struct Gpu {
  const char* name;
  const char* features;
  int sm;
  int multiprocessors;
};
constexpr Gpu gpus[] = {{"sm_80", "+ptx71", 80, 108},    {"sm_86", "+ptx71", 86, 84},
                        {"sm_89", "+ptx84", 89, 142},    {"sm_90a", "+ptx80", 90, 132},
                        {"sm_100a", "+ptx86", 100, 148}, {"sm_120", "+ptx87", 120, 188}};

const char* best_here() {
  __builtin_cpu_init();
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) return "avx512";
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return avx2 ? "avx2" : "sse";
}

Target find_host_target() {
  std::string best = best_here();
  std::string wish = env::cpu();
  if (wish.empty()) return target_named(best);
  Target target = target_named(wish);
  require(!target.is_gpu(), "[target] TILEWRIGHT_CPU is ", wish,
          ", a GPU; known processors are avx512, avx2, sse");
  require(target.lanes <= target_named(best).lanes, "[target] TILEWRIGHT_CPU is ", wish,
          ", this processor supports ", best, " at the most");
  return target;
}

}  // namespace

Target target_named(const std::string& name) {
  if (name == "avx512")
    return {"+f16c,+fma,+avx2,+bmi2,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd", "x86-64-v4",
            16, true};
  if (name == "avx2") return {"+f16c,+fma,+avx2,+bmi2", "x86-64-v3", 8, true};
  if (name == "sse") return {"", "x86-64", 4, false};
  for (const Gpu& gpu : gpus)
    if (name == gpu.name) {
      Target target{gpu.features, gpu.name, 1, true};
      target.sm = gpu.sm;
      return target;
    }
  std::string known = "avx512, avx2, sse";
  for (std::string_view gpu : gpu_names()) known += concat(", ", gpu);
  raise_error(concat("[target] unknown processor \"", name, "\"; known are ", known));
}

// Code for sm_90a and sm_100a runs on GPUs of just that capability, other code on all newer ones.
Target target_of_gpu(int major, int minor) {
  int sm = major * 10 + minor;
  const Gpu* best = nullptr;
  for (const Gpu& gpu : gpus) {
    bool is_exact = std::string_view(gpu.name).ends_with("a");
    if (is_exact ? gpu.sm == sm : gpu.sm <= sm) best = &gpu;
  }
  require(best != nullptr, "[target] a GPU of compute capability ", major, ".", minor,
          " is too old; 8.0 or newer is needed");
  return target_named(best->name);
}

std::vector<std::string_view> gpu_names() {
  std::vector<std::string_view> names;
  for (const Gpu& gpu : gpus) names.emplace_back(gpu.name);
  return names;
}

int multiprocessors(const Target& target) {
  for (const Gpu& gpu : gpus)
    if (target.sm == gpu.sm) return gpu.multiprocessors;
  return 1;
}

std::int64_t shared_memory_limit(const Target& gpu) {
  switch (gpu.sm) {
    case 80: return 163 * 1024;
    case 90:
    case 100: return 227 * 1024;
    default: return 99 * 1024;
  }
}

const Target& host_target() {
  static const Target target = find_host_target();
  return target;
}

}  // namespace tilewright::dsl
