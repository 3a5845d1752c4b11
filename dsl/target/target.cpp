#include "dsl/target/target.h"

#include <algorithm>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/cpu/instruction_sets.h"

namespace tilewright::dsl {
namespace {

struct HostFacts {
  std::string_view name;
  const char* features;
  const char* cpu;
  int lanes;
  bool has_fma = false, has_dots = false, has_tiles = false;
};

#define TILEWRIGHT_AVX512 "+f16c,+fma,+avx2,+bmi2,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd"
#define TILEWRIGHT_AVX512_DOTS TILEWRIGHT_AVX512 ",+avx512vnni,+avx512bf16"
constexpr HostFacts hosts[] = {
#define TILEWRIGHT_HOST(id, ...) HostFacts{.name = #id, __VA_ARGS__},
#define TILEWRIGHT_FOREIGN_HOST(id, ...)
#define TILEWRIGHT_GPU(id, ...)
#include "dsl/target/targets.def"
#undef TILEWRIGHT_HOST
#undef TILEWRIGHT_FOREIGN_HOST
#undef TILEWRIGHT_GPU
};
constexpr HostFacts foreign_hosts[] = {
#define TILEWRIGHT_HOST(id, ...)
#define TILEWRIGHT_FOREIGN_HOST(id, ...) HostFacts{.name = #id, __VA_ARGS__},
#define TILEWRIGHT_GPU(id, ...)
#include "dsl/target/targets.def"
#undef TILEWRIGHT_HOST
#undef TILEWRIGHT_FOREIGN_HOST
#undef TILEWRIGHT_GPU
};
#undef TILEWRIGHT_AVX512
#undef TILEWRIGHT_AVX512_DOTS

constexpr GpuFacts gpus[] = {
#define TILEWRIGHT_HOST(id, ...)
#define TILEWRIGHT_FOREIGN_HOST(id, ...)
#define TILEWRIGHT_GPU(id, ...) GpuFacts{.name = #id, __VA_ARGS__},
#include "dsl/target/targets.def"
#undef TILEWRIGHT_HOST
#undef TILEWRIGHT_FOREIGN_HOST
#undef TILEWRIGHT_GPU
};
constexpr GpuFacts no_gpu;

static_assert(std::ranges::equal(hosts, instruction_sets, {}, &HostFacts::name));
static_assert(std::ranges::equal(foreign_hosts, foreign_instruction_sets, {}, &HostFacts::name));

bool is_intel() {
  __builtin_cpu_init();
  return __builtin_cpu_is("intel");
}

std::string known_hosts() {
  std::string names;
  for (const HostFacts& host : hosts) names += concat(names.empty() ? "" : ", ", host.name);
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
  for (const HostFacts& host : hosts)
    if (name == host.name)
      return {.features = host.features,
              .cpu = host.cpu,
              .lanes = host.lanes,
              .has_fma = host.has_fma,
              .has_dots = host.has_dots,
              .has_tiles = host.has_tiles,
              .has_fast_pairs = host.has_dots && !is_intel(),
              .reads_ahead = !is_intel()};
  for (const HostFacts& host : foreign_hosts)
    if (name == host.name)
      return {.features = host.features,
              .cpu = host.cpu,
              .lanes = host.lanes,
              .has_fma = host.has_fma,
              .is_arm = true};
  for (const GpuFacts& gpu : gpus)
    if (name == gpu.name)
      return {.features = ptx_feature(gpu.ptx), .cpu = name, .lanes = 1, .sm = gpu.capability};
  raise_error(concat("[target] unknown processor \"", name, "\"; known are ", known_hosts(), ", ",
                     known_gpus()));
}

Target target_of_gpu(int major, int minor) {
  int capability = major * 10 + minor;
  const GpuFacts* best = nullptr;
  for (const GpuFacts& gpu : gpus)
    if (gpu.runs_on_no_other ? gpu.capability == capability : gpu.capability <= capability)
      best = &gpu;
  require(best != nullptr, "[target] a GPU of compute capability ", major, ".", minor,
          " is too old; 8.0 or newer is needed");
  return target_named(std::string(best->name));
}

std::vector<std::string_view> host_names() {
  std::vector<std::string_view> names;
  for (std::size_t i = best_instruction_set(); i < std::size(hosts); ++i)
    names.emplace_back(hosts[i].name);
  return names;
}

void assume_host(const std::string& name) {
  auto host = std::ranges::find_if(hosts, [&](const HostFacts& h) { return name == h.name; });
  require(host != std::end(hosts), "[target] unknown processor \"", name, "\"; known are ",
          known_hosts());
  assume_instruction_set(static_cast<std::size_t>(host - std::begin(hosts)));
}

std::vector<std::string_view> gpu_names() {
  std::vector<std::string_view> names;
  for (const GpuFacts& gpu : gpus) names.push_back(gpu.name);
  return names;
}

std::string known_gpus() {
  std::string names;
  for (const GpuFacts& gpu : gpus) names += concat(names.empty() ? "" : ", ", gpu.name);
  return names;
}

const GpuFacts& Target::gpu() const {
  const GpuFacts* found = std::ranges::find(gpus, sm, &GpuFacts::capability);
  return found == std::end(gpus) ? no_gpu : *found;
}

std::int64_t shared_memory_limit(const Target& target) {
  return target.gpu().shared_bytes - system_shared_bytes;
}

std::string ptx_feature(int version) { return "+ptx" + std::to_string(version); }

const Target& host_target() {
  static const Target target = find_host_target();
  return target;
}

}  // namespace tilewright::dsl
