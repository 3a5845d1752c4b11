#include "dsl/launch/compile.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/host/codegen.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/base/fork_gate.h"
#include "runtime/trace.h"

namespace tilewright::dsl {
namespace {

// Kernels by content. A kernel that another thread is compiling is waited for, not compiled again.
class KernelTable {
 public:
  std::shared_ptr<const Artifact> get(const ir::Function& function, const Target& target,
                                      bool is_cuda, const std::optional<LaunchTable>& table,
                                      bool is_watched = false) {
    InsideLibrary inside;
    Hash key = Hasher()
                   .add(ir::content_hash(function))
                   .add(target.hash())
                   .add(is_cuda)
                   .add(table ? table->capacity : 0)
                   .add(is_watched)
                   .finish();
    {
      std::unique_lock lock(mutex_);
      auto [it, fresh] = kernels_.try_emplace(key);
      if (!fresh) {
        ready_.wait(lock, [&] { return !kernels_.contains(key) || kernels_[key] != nullptr; });
        if (auto found = kernels_.find(key); found != kernels_.end()) {
          ++statistics_.found;
          return found->second;
        }
        kernels_.try_emplace(key);  // the other thread failed: try here, for its own error
      }
    }
    try {
      auto start = std::chrono::steady_clock::now();
      auto artifact =
          std::make_shared<Artifact>(*generate(function, target, is_cuda, table, is_watched));
      artifact->key = key;
      artifact->compile_seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::lock_guard lock(mutex_);
      ++statistics_.compiled;
      statistics_.seconds += artifact->compile_seconds;
      kernels_[key] = artifact;
      ready_.notify_all();
      return artifact;
    } catch (...) {
      std::lock_guard lock(mutex_);
      kernels_.erase(key);
      ready_.notify_all();
      throw;
    }
  }

  CompileStatistics statistics() {
    InsideLibrary inside;
    std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  static std::shared_ptr<const Artifact> generate(ir::Function function, const Target& target,
                                                  bool is_cuda,
                                                  const std::optional<LaunchTable>& table,
                                                  bool is_watched) {
    TraceSpan span("compile", function.name);
    return while_doing({"compile", "compiling kernel", function.name}, [&] {
      run_passes(function, {.target = target});
      if (!target.is_gpu()) return generate_host_code(function, target);
      return is_cuda
                 ? gpu::generate_gpu_code(function, target, table)
                 : gpu::generate_emulated(function, target, {.check_global = is_watched}, table);
    });
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::unordered_map<Hash, std::shared_ptr<const Artifact>> kernels_;
  CompileStatistics statistics_;
};

KernelTable& kernel_table() {
  static KernelTable table;
  return table;
}

}  // namespace

std::shared_ptr<const Artifact> compile(const ir::Function& function, const Device& device,
                                        std::size_t launches) {
  std::optional<LaunchTable> table;
  if (launches > 0 && device.target().is_gpu()) table = gpu::launch_table(function, launches);
  return kernel_table().get(function, device.target(), device.is_cuda(), table);
}

std::size_t most_launches(const ir::Function& function, const Device& device) {
  if (!device.target().is_gpu()) return SIZE_MAX;
  return static_cast<std::size_t>(gpu::launch_table(function, LaunchTable::most_bytes).capacity);
}

std::shared_ptr<const Artifact> compile(const ir::Function& function, const Target& target) {
  return kernel_table().get(function, target, false, {});
}

std::shared_ptr<const Artifact> compile_watched(const ir::Function& function,
                                                const Device& device) {
  return kernel_table().get(function, device.target(), device.is_cuda(), {}, device.is_emulated());
}

CompileStatistics compile_statistics() { return kernel_table().statistics(); }

}  // namespace tilewright::dsl
