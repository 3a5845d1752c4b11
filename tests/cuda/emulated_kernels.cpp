#include "tests/cuda/emulated_kernels.h"

#include <map>
#include <mutex>
#include <regex>

#include "dsl/codegen/gpu/emulate/program_observers.h"
#include "dsl/ir/text/text.h"
#include "tests/cuda/device_memory.h"

namespace tilewright::cuda::fake {
namespace {

using Key = std::pair<std::string, int>;  // entry, compute capability

struct EmulatedPrograms {
  std::mutex mutex;
  std::map<Key, ir::Function> known;
  std::map<Key, std::shared_ptr<const dsl::gpu::EmulatedPtx>> kernels;
};

EmulatedPrograms& programs() {
  static EmulatedPrograms& programs = *new EmulatedPrograms;
  return programs;
}

// For as long as the process: code that is made before a fake driver is may run on it.
const std::shared_ptr<void> watch = dsl::gpu::observe_programs(
    [](const ir::Function& function, const dsl::Target& target, const std::string& entry) {
      std::lock_guard lock(programs().mutex);
      programs().known.try_emplace({entry, target.sm}, function);
    });

std::optional<ir::Function> known_program(const Key& key) {
  std::lock_guard lock(programs().mutex);
  auto found = programs().known.find(key);
  if (found == programs().known.end()) return std::nullopt;
  return found->second;
}

// The table of a kernel that takes several launches at once; the entry says how many:
// "..._batch_of_12_" and the program's hash.
std::optional<LaunchTable> table_of(const std::string& entry, const ir::Function& function) {
  static const std::regex pattern(".*_batch_of_([0-9]+)_[0-9a-f]{8}");
  std::smatch match;
  if (!std::regex_match(entry, match, pattern)) return std::nullopt;
  return dsl::gpu::launch_table(function, std::stoul(match[1]));
}

}  // namespace

std::optional<std::string> program_of(const std::string& entry, int sm) {
  std::optional<ir::Function> function = known_program({entry, sm});
  if (!function) return std::nullopt;
  return ir::print(*function);
}

std::shared_ptr<const dsl::gpu::EmulatedPtx> emulated_kernel(const std::string& entry,
                                                             const dsl::Target& target,
                                                             const std::string& program) {
  EmulatedPrograms& all = programs();
  Key key{entry, target.sm};
  {
    std::lock_guard lock(all.mutex);
    if (auto found = all.kernels.find(key); found != all.kernels.end()) return found->second;
  }
  // For programs made by this process, the lines of the source are known.
  std::optional<ir::Function> function = known_program(key);
  dsl::emulator::EmulatorOptions options;
  options.ranges = ranges_of_kernels();
  options.check_shared = false;  // other tests do, and this takes longer
  if (!function) function = ir::parse(program);
  auto kernel = std::make_shared<const dsl::gpu::EmulatedPtx>(
      dsl::gpu::emulate_ptx(*function, target, options, table_of(entry, *function)));
  std::lock_guard lock(all.mutex);
  return all.kernels.try_emplace(key, kernel).first->second;
}

}  // namespace tilewright::cuda::fake
