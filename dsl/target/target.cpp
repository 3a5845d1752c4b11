#include "dsl/target/target.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

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

// The best first: each has all that those below it have.
struct Host {
  const char* name;
  const char* features;
  const char* cpu;
  int lanes;
  bool has_fma, has_dots, has_tiles;
};
#define TILEWRIGHT_AVX512 "+f16c,+fma,+avx2,+bmi2,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd"
#define TILEWRIGHT_AVX512_DOTS TILEWRIGHT_AVX512 ",+avx512vnni,+avx512bf16"
constexpr Host hosts[] = {
    {"amx", TILEWRIGHT_AVX512_DOTS ",+amx-tile,+amx-bf16,+amx-int8", "x86-64-v4", 16, true, true,
     true},
    {"avx512_bf16", TILEWRIGHT_AVX512_DOTS, "x86-64-v4", 16, true, true, false},
    {"avx512", TILEWRIGHT_AVX512, "x86-64-v4", 16, true, false, false},
    {"avx2", "+f16c,+fma,+avx2,+bmi2", "x86-64-v3", 8, true, false, false},
    {"sse", "", "x86-64", 4, false, false, false}};
#undef TILEWRIGHT_AVX512
#undef TILEWRIGHT_AVX512_DOTS

// The processor has them, and the system gives them to this process and all of its threads.
bool has_tiles() {
  constexpr unsigned bf16 = 1U << 22, tile = 1U << 24, int8 = 1U << 25, all = bf16 | tile | int8;
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & all) != all) return false;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

std::atomic<std::size_t> assumed = std::size(hosts);

// How many of the table this processor does not run.
std::size_t count_too_new() {
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  bool dots = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
  if (avx512) return !dots ? 2 : has_tiles() ? 0 : 1;
  return avx2 ? 3 : 4;
}

bool is_intel() {
  __builtin_cpu_init();
  return __builtin_cpu_is("intel");
}

std::string known_hosts() {
  std::string names;
  for (const Host& host : hosts) names += concat(names.empty() ? "" : ", ", host.name);
  return names;
}

Target find_host_target() {
  std::string wish = env::cpu();
  std::vector<std::string_view> here = host_names();
  if (wish.empty()) return target_named(std::string(here.front()));
  auto is_wish = [&](const auto& one) { return wish == one.name; };
  require(std::ranges::any_of(hosts, is_wish) || std::ranges::any_of(gpus, is_wish),
          "[target] TILEWRIGHT_CPU is \"", wish, "\", no processor; known are ", known_hosts());
  require(!target_named(wish).is_gpu(), "[target] TILEWRIGHT_CPU is ", wish,
          ", a GPU; known processors are ", known_hosts());
  require(std::ranges::find(here, wish) != here.end(), "[target] TILEWRIGHT_CPU is ", wish,
          ", this processor supports ", here.front(), " at the most");
  return target_named(wish);
}

}  // namespace

Target target_named(const std::string& name) {
  for (const Host& host : hosts)
    if (name == host.name)
      return {.features = host.features,
              .cpu = host.cpu,
              .lanes = host.lanes,
              .has_fma = host.has_fma,
              .has_bf16_dot = host.has_dots,
              .has_int8_dot = host.has_dots,
              .has_tiles = host.has_tiles,
              .has_fast_bf16_dot = host.has_dots && !is_intel(),
              .reads_ahead = !is_intel()};
  for (const Gpu& gpu : gpus)
    if (name == gpu.name) {
      Target target{gpu.features, gpu.name, 1};
      target.sm = gpu.sm;
      return target;
    }
  std::string known = known_hosts();
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

std::vector<std::string_view> host_names() {
  std::vector<std::string_view> names;
  for (std::size_t i = std::min(count_too_new(), assumed.load()); i < std::size(hosts); ++i)
    names.emplace_back(hosts[i].name);
  return names;
}

void assume_host(const std::string& name) {
  auto host = std::ranges::find_if(hosts, [&](const Host& h) { return name == h.name; });
  require(host != std::end(hosts), "[target] unknown processor \"", name, "\"; known are ",
          known_hosts());
  assumed = static_cast<std::size_t>(host - std::begin(hosts));
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
