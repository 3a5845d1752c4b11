#include "dsl/launch/compile.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/host/codegen.h"
#include "dsl/launch/find_compiled.h"
#include "dsl/launch/full_code.h"
#include "dsl/launch/kept_objects.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/gpu_code.h"
#include "runtime/kept/bounded_table.h"
#include "runtime/trace.h"

namespace tilewright::dsl {
namespace {

// The seconds in which this thread has run. Another process on the same processor does not count.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Kernels by content. A kernel that another thread is compiling is waited for, not compiled again.
// Those that were asked for last are kept; the others are known for as long as somebody has them.
class KernelTable {
 public:
  std::shared_ptr<const Artifact> get(const ir::Function& function, const Target& target,
                                      bool is_cuda, const std::optional<LaunchTable>& table,
                                      bool is_watched = false, CodeTier tier = CodeTier::full) {
    InsideLibrary inside;
    ObjectIdentity identity{function, ir::content_hash(function), target, is_watched};
    const Hash key =
        key_of(identity.program, target, is_cuda, table ? table->capacity : 0, is_watched);
    if (auto known = known_or_begun(key)) {
      if (tier == CodeTier::full) finish_full_code(*known);
      return known;
    }
    try {
      auto start = std::chrono::steady_clock::now();
      const double ran = processor_seconds();
      std::shared_ptr<const Artifact> loaded;
      std::optional<EntryTurn> turn;
      if (!target.is_gpu()) {
        loaded = kept_kernel_of_either(identity, tier);
        if (!loaded) {
          turn.emplace(object_turn(identity));
          loaded = kept_kernel_of_either(identity, tier);
        }
        if (!loaded) log_missing_object(identity);
      }
      auto artifact =
          std::make_shared<Artifact>(loaded ? *loaded : *generate_either(identity, is_cuda, table));
      artifact->key = key;
      artifact->compile_seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (identity.tier == CodeTier::quick) await_full_code(artifact, function, target);
      add(key, artifact, loaded != nullptr, identity.tier);
      if (!loaded) note_processor_time(function.name, processor_seconds() - ran);
      return artifact;
    } catch (...) {
      std::lock_guard lock(mutex_);
      begun_.erase(key);
      ready_.notify_all();
      throw;
    }
  }

  std::shared_ptr<const Artifact> find(const Hash& program, const Target& host, CodeTier tier) {
    InsideLibrary inside;
    const Hash key = key_of(program, host, false, 0, false);
    std::vector<Kept::Shared> given_up;  // destroyed when the lock is free
    std::shared_ptr<const Artifact> kernel;
    {
      std::lock_guard lock(mutex_);
      kernel = known(key, given_up);
    }
    if (kernel && tier == CodeTier::full) finish_full_code(*kernel);
    return kernel;
  }

  CompileStatistics statistics() {
    GatedLock lock(mutex_);
    CompileStatistics result = statistics_;
    result.kept = kept_.size();
    result.kept_bytes = kept_.bytes();
    result.alive =
        std::ranges::count_if(known_, [](const auto& entry) { return !entry.second.expired(); });
    return result;
  }

 private:
  using Kept = BoundedTable<const Artifact>;

  static Hash key_of(const Hash& program, const Target& target, bool is_cuda, std::int64_t capacity,
                     bool is_watched) {
    return Hasher()
        .add(program)
        .add(target.hash())
        .add(is_cuda)
        .add(capacity)
        .add(is_watched)
        .finish();
  }

  // Null: there is none, or some thread is compiling it. Under the lock.
  std::shared_ptr<const Artifact> known(const Hash& key, std::vector<Kept::Shared>& given_up) {
    std::shared_ptr<const Artifact> kernel = kept_.find(key);
    if (!kernel) {
      auto found = known_.find(key);
      if (found != known_.end()) kernel = found->second.lock();
      if (kernel) given_up = kept_.insert(key, kernel, code_bytes(*kernel), bounds_of_tables());
    }
    if (kernel) ++statistics_.found;
    return kernel;
  }

  // Null: it has begun, and the caller is to compile it.
  std::shared_ptr<const Artifact> known_or_begun(const Hash& key) {
    std::vector<Kept::Shared> given_up;  // destroyed when the lock is free
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !begun_.contains(key); });
    std::shared_ptr<const Artifact> kernel = known(key, given_up);
    if (!kernel) begun_.insert(key);
    return kernel;
  }

  void add(const Hash& key, const std::shared_ptr<const Artifact>& kernel, bool is_loaded,
           CodeTier tier) {
    const Bounds bounds = bounds_of_tables();
    std::vector<Kept::Shared> given_up;
    std::lock_guard lock(mutex_);
    ++(is_loaded ? statistics_.loaded : statistics_.compiled);
    if (tier == CodeTier::quick) ++statistics_.quick;
    statistics_.seconds += kernel->compile_seconds;
    given_up = kept_.insert(key, kernel, code_bytes(*kernel), bounds);
    known_[key] = kernel;
    if (known_.size() >= forget_at_) {
      std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
      forget_at_ = 2 * known_.size() + least_forgotten;
    }
    begun_.erase(key);
    ready_.notify_all();
  }

  void note_processor_time(const std::string& name, double seconds) {
    std::lock_guard lock(mutex_);
    if (seconds <= statistics_.longest_processor_seconds) return;
    statistics_.longest_processor_seconds = seconds;
    statistics_.longest = name;
  }

  // A host's kernel that an earlier process has compiled; or null.
  static std::shared_ptr<const Artifact> kept_kernel(const ObjectIdentity& identity) {
    const ir::Function& function = identity.function;
    return while_doing({"compile", "loading kernel", function.name},
                       [&]() -> std::shared_ptr<const Artifact> {
                         std::optional<HostObject> object = kept_object(identity);
                         if (!object) return nullptr;
                         TraceSpan span("load", function.name);
                         try {
                           return load_host_object(function, *object);
                         } catch (const OutOfMemory&) {
                           throw;
                         } catch (const Error&) {
                           forget_object(identity);  // it is compiled instead
                           return nullptr;
                         }
                       });
  }

  // Where quick code is asked for and possible, and there is no full code, the identity is that of
  // quick code then.
  static std::shared_ptr<const Artifact> kept_kernel_of_either(ObjectIdentity& identity,
                                                               CodeTier tier) {
    identity.tier = CodeTier::full;
    std::shared_ptr<const Artifact> kept = kept_kernel(identity);
    if (kept || tier != CodeTier::quick || !has_quick_code(identity.function, identity.target) ||
        !runs_all_passes_unseen())
      return kept;
    identity.tier = CodeTier::quick;
    return kept_kernel(identity);
  }

  // Quick code where it can be, as the identity says then.
  static std::shared_ptr<const Artifact> generate_either(ObjectIdentity& identity, bool is_cuda,
                                                         const std::optional<LaunchTable>& table) {
    if (identity.tier == CodeTier::quick) {
      try {
        return generate(identity, is_cuda, table);
      } catch (const InternalError&) {  // LLVM goes other ways without optimisation
        identity.tier = CodeTier::full;
      }
    }
    return generate(identity, is_cuda, table);
  }

  static std::shared_ptr<const Artifact> generate(const ObjectIdentity& identity, bool is_cuda,
                                                  const std::optional<LaunchTable>& table) {
    ir::Function function = identity.function;
    const Target& target = identity.target;
    TraceSpan span("compile", function.name);
    return while_doing({"compile", "compiling kernel", function.name}, [&] {
      run_passes(function, {.target = target});
      if (!target.is_gpu()) {
        const HostObject object = generate_host_object(function, target, identity.tier);
        keep_object(identity, object);
        return load_host_object(function, object);
      }
      return is_cuda ? gpu::generate_gpu_code(function, target, table)
                     : gpu::generate_emulated(function, target,
                                              {.check_global = identity.is_watched}, table);
    });
  }

  static constexpr std::size_t least_forgotten = 1024;  // entries, at a time

  std::mutex mutex_;
  std::condition_variable ready_;
  std::unordered_set<Hash> begun_;  // that some thread is compiling
  Kept kept_;
  std::unordered_map<Hash, std::weak_ptr<const Artifact>> known_;
  std::size_t forget_at_ = least_forgotten;
  CompileStatistics statistics_;
};

// Never destroyed: the end of a process needs none of its code unloaded.
KernelTable& kernel_table() {
  static KernelTable& table = *new KernelTable;
  return table;
}

}  // namespace

std::shared_ptr<const Artifact> compile(const ir::Function& function, const Device& device,
                                        std::size_t launches, CodeTier tier) {
  std::optional<LaunchTable> table;
  if (launches > 0 && device.target().is_gpu()) table = gpu::launch_table(function, launches);
  return kernel_table().get(function, device.target(), device.is_cuda(), table, false, tier);
}

std::size_t most_launches(const ir::Function& function, const Device& device) {
  if (!device.target().is_gpu()) return SIZE_MAX;
  return static_cast<std::size_t>(gpu::launch_table(function, LaunchTable::most_bytes).capacity);
}

std::shared_ptr<const Artifact> compile(const ir::Function& function, const Target& target) {
  return kernel_table().get(function, target, false, {});
}

std::shared_ptr<const Artifact> find_compiled(const Hash& program, const Target& host,
                                              CodeTier tier) {
  return kernel_table().find(program, host, tier);
}

std::shared_ptr<const Artifact> compile_watched(const ir::Function& function,
                                                const Device& device) {
  return kernel_table().get(function, device.target(), device.is_cuda(), {}, device.is_emulated());
}

std::int64_t code_bytes(const Artifact& artifact) {
  return artifact.gpu ? std::ssize(artifact.gpu->text) : host_code_bytes(artifact);
}

CompileStatistics compile_statistics() { return kernel_table().statistics(); }

}  // namespace tilewright::dsl
