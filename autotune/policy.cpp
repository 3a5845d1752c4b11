#include "autotune/policy.h"

#include "autotune/database/row/device_record.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cuda/context.h"

namespace tilewright::autotune {

TunePolicy tune_policy() {
  std::string text = env::tune();
  if (env::is_off(text)) return TunePolicy::off;
  if (text == "read") return TunePolicy::read;
  require(text.empty() || text == "on", "[autotune] TILEWRIGHT_TUNE is \"", text,
          "\"; it is off, read or on");
  return TunePolicy::on;
}

TuningDatabase& shared_tuning_database() {
  static TuningDatabase database;
  return database;
}

Record record_of(const Device& device) {
  dsl::Target target = device.target();
  if (!target.is_gpu()) return host_record(target, thread_count());
  if (device.is_emulated())
    return gpu_record(target, device.text(), target.gpu().multiprocessors, 0);
  const cuda::DeviceFacts& facts = cuda::context(device.ordinal()).facts();
  return gpu_record(target, facts.name, facts.multiprocessors, facts.memory_bytes);
}

}  // namespace tilewright::autotune
