#include "autotune/database/row/device_record.h"

#include <unistd.h>

#include <fstream>
#include <thread>

namespace tilewright::autotune {
namespace {

// "model name : Some CPU @ 2.00GHz" of the first processor.
std::string cpu_model() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown";
}

void set_cache(Record& record, std::string_view name, int fact) {
  long bytes = ::sysconf(fact);
  if (bytes > 0) record.set(name, bytes);
}

}  // namespace

Record host_record(const dsl::Target& target, int threads) {
  Record record;
  record.set("kind", "host").set("name", cpu_model()).set("architecture", target.cpu);
  record.set("features", target.features).set("threads", threads);
  record.set("processors", std::thread::hardware_concurrency());
  set_cache(record, "l1_bytes", _SC_LEVEL1_DCACHE_SIZE);
  set_cache(record, "l2_bytes", _SC_LEVEL2_CACHE_SIZE);
  set_cache(record, "l3_bytes", _SC_LEVEL3_CACHE_SIZE);
  return record;
}

Record gpu_record(const dsl::Target& target, std::string_view name, int multiprocessors,
                  std::int64_t memory_bytes) {
  return Record()
      .set("kind", "gpu")
      .set("name", name)
      .set("architecture", target.cpu)
      .set("multiprocessors", multiprocessors)
      .set("memory_bytes", memory_bytes);
}

}  // namespace tilewright::autotune
