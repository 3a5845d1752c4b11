#include "runtime/cuda/module.h"

#include <array>
#include <chrono>

#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/error.h"
#include "runtime/cuda/primary_context.h"
#include "runtime/kept/entry_store.h"
#include "runtime/trace.h"

namespace tilewright::cuda {

// The options and texts of one run of the driver's compiler.
class ModuleTable::CompilerLog {
 public:
  CompilerLog()
      : values_{info_.data(), as_value(info_.size()), error_.data(), as_value(error_.size())} {}
  unsigned count() const { return static_cast<unsigned>(options_.size()); }
  JitOption* options() { return options_.data(); }
  void** values() { return values_.data(); }
  std::string error() const { return std::string(error_.data()); }

 private:
  static void* as_value(std::size_t bytes) { return reinterpret_cast<void*>(bytes); }
  std::array<char, 4096> info_{}, error_{};
  std::array<JitOption, 4> options_{JitOption::info_log, JitOption::info_log_bytes,
                                    JitOption::error_log, JitOption::error_log_bytes};
  std::array<void*, 4> values_;
};

namespace {

struct Link {
  LinkHandle handle = nullptr;
  ~Link() {
    if (handle != nullptr) driver().cuLinkDestroy(handle);
  }
};

// True if the driver compiles the text as a complete program rather than as a part to be linked
// (module.h).
bool is_compiled_whole(const GpuCode& code) {
  constexpr std::size_t small_text = 12'000;
  return code.persistent || code.text.size() > small_text;
}

int attribute(FunctionHandle function, FunctionAttribute which) {
  int value = 0;
  must(driver().cuFuncGetAttribute(&value, which, function), "cuFuncGetAttribute");
  return value;
}

}  // namespace

// Run by the last owner of a module. There is no caller to report a failure to; an error of the
// context is reported at the context's next use.
struct ModuleTable::Unloading {
  ContextHandle context;
  void operator()(Entry* entry) const noexcept {
    const Driver& table = driver();
    table.cuCtxSetCurrent(context);
    table.cuCtxSynchronize();
    note_unloaded(entry->kernel.name.c_str());
    table.cuModuleUnload(entry->module);
    delete entry;
  }
};

// A cluster's blocks run on the multiprocessors of one part of the GPU, which have not always room
// for as many blocks as all of them together.
int ModuleTable::blocks_in_clusters(const GpuCode& code, FunctionHandle function) const {
  auto size = static_cast<unsigned>(code.cluster);
  LaunchAttribute cluster{LaunchAttributeId::cluster, {}, {}};
  cluster.value.cluster = {size, 1, 1};
  LaunchConfig config{{size, 1, 1},
                      {static_cast<unsigned>(code.threads), 1, 1},
                      static_cast<unsigned>(code.shared_bytes),
                      nullptr,
                      &cluster,
                      1};
  int clusters = 0;
  must(driver().cuOccupancyMaxActiveClusters(&clusters, function, &config),
       "cuOccupancyMaxActiveClusters", concat("clusters of ", size, " blocks of ", code.entry));
  require(clusters > 0, "[cuda] kernel ", code.entry, " runs in clusters of ", size, " blocks of ",
          code.threads, " threads with ", code.shared_bytes,
          " bytes of shared memory, and no part of ", context_.facts().name,
          " has room for one; choose smaller blocks or clusters");
  return clusters * code.cluster;
}

std::shared_ptr<const LoadedKernel> ModuleTable::get(const GpuCode& code) {
  std::vector<std::shared_ptr<const LoadedKernel>> given_up;  // unloaded when the lock is free
  std::lock_guard lock(mutex_);
  if (auto known = kernels_.find(code.key)) return known;
  const Bounds bounds = bounds_of_tables();
  std::shared_ptr<Entry> entry(load(code).release(), Unloading{context_.handle()});
  std::shared_ptr<const LoadedKernel> kernel(entry, &entry->kernel);
  given_up = kernels_.insert(code.key, kernel, std::ssize(code.text), bounds);
  return kernel;
}

void ModuleTable::require_compiled(Result result, const GpuCode& code,
                                   const CompilerLog& log) const {
  std::string said = log.error();
  must(result, "the driver's compiler",
       concat("compiling kernel ", code.entry, " for ", context_.facts().name,
              said.empty() ? "" : ", which says: ", said));
}

std::vector<char> ModuleTable::compile(const GpuCode& code, const std::string& text) {
  TraceSpan span("compile", concat("driver: ", code.entry));
  CompilerLog log;
  Link link;
  must(driver().cuLinkCreate(log.count(), log.options(), log.values(), &link.handle),
       "cuLinkCreate");
  Result result =
      driver().cuLinkAddData(link.handle, JitInput::ptx, const_cast<char*>(text.c_str()),
                             text.size() + 1, code.entry.c_str(), 0, nullptr, nullptr);
  void* image = nullptr;
  std::size_t bytes = 0;
  if (result == Result::success) result = driver().cuLinkComplete(link.handle, &image, &bytes);
  require_compiled(result, code, log);
  const char* begin = static_cast<const char*>(image);
  return {begin, begin + bytes};
}

ModuleTable::MachineCode ModuleTable::machine_code(const GpuCode& code, const std::string& text,
                                                   double& seconds) {
  const DeviceFacts& facts = context_.facts();
  EntryKey key;
  key.add("code", code.key)
      .add("text", text == code.text ? "as generated" : "with all registers")
      .add("gpu", concat("sm_", facts.major, facts.minor))
      .add("driver", facts.driver_version);
  if (std::vector<char> kept = gpu_machine_code.find(key); !kept.empty()) return {kept, key, true};
  const EntryTurn turn = gpu_machine_code.turn(key);
  if (std::vector<char> kept = gpu_machine_code.find(key); !kept.empty()) return {kept, key, true};
  auto begin = std::chrono::steady_clock::now();
  std::vector<char> image = compile(code, text);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  gpu_machine_code.keep(key, code.entry, image);
  return {std::move(image), key, false};
}

ModuleHandle ModuleTable::compile_whole(const GpuCode& code, const std::string& text,
                                        double& seconds) {
  TraceSpan span("compile", concat("driver: ", code.entry));
  auto begin = std::chrono::steady_clock::now();
  CompilerLog log;
  ModuleHandle module = nullptr;
  Result result =
      driver().cuModuleLoadDataEx(&module, text.c_str(), log.count(), log.options(), log.values());
  require_compiled(result, code, log);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return module;
}

// If the driver refuses cached code, for whatever reason, it is compiled again.
ModuleHandle ModuleTable::load_module(const GpuCode& code, const std::string& text,
                                      double& seconds) {
  if (is_compiled_whole(code)) return compile_whole(code, text, seconds);
  MachineCode machine = machine_code(code, text, seconds);
  ModuleHandle module = nullptr;
  Result result = driver().cuModuleLoadData(&module, machine.image.data());
  if (result != Result::success && machine.was_kept && !is_sticky(result)) {
    gpu_machine_code.forget(machine.key);
    machine = machine_code(code, text, seconds);
    result = driver().cuModuleLoadData(&module, machine.image.data());
  }
  must(result, "cuModuleLoadData", concat("loading kernel ", code.entry));
  return module;
}

std::unique_ptr<ModuleTable::Entry> ModuleTable::load(const GpuCode& code) {
  std::unique_ptr<Entry> entry = load(code, code.text);
  if (entry->kernel.local_bytes == 0) return entry;
  // If it still spills, the first one is as good.
  std::optional<std::string> text = with_all_registers(code.text, code.threads);
  if (!text) return entry;
  std::unique_ptr<Entry> other;
  try {
    other = load(code, *text);
  } catch (...) {
    driver().cuModuleUnload(entry->module);
    throw;
  }
  other->kernel.compile_seconds += entry->kernel.compile_seconds;
  if (other->kernel.local_bytes > 0) std::swap(entry, other);
  driver().cuModuleUnload(entry->module);
  return other;
}

std::unique_ptr<ModuleTable::Entry> ModuleTable::load(const GpuCode& code,
                                                      const std::string& text) {
  context_.make_current();
  require_memory(code.shared_bytes <= context_.facts().shared_bytes, "[cuda] kernel ", code.entry,
                 " takes ", code.shared_bytes, " bytes of shared memory; a block of ",
                 context_.facts().name, " has at most ", context_.facts().shared_bytes);
  auto entry = std::make_unique<Entry>();
  LoadedKernel& kernel = entry->kernel;
  entry->module = load_module(code, text, kernel.compile_seconds);
  try {
    must(driver().cuModuleGetFunction(&kernel.function, entry->module, code.entry.c_str()),
         "cuModuleGetFunction", concat("looking for kernel ", code.entry));
    kernel.name = code.entry;
    kernel.threads = code.threads;
    kernel.shared_bytes = static_cast<unsigned>(code.shared_bytes);
    kernel.cluster = code.cluster;
    kernel.registers = attribute(kernel.function, FunctionAttribute::registers);
    kernel.local_bytes = attribute(kernel.function, FunctionAttribute::local_bytes);
    kernel.waits_by_itself = code.text.find("griddepcontrol.wait") != std::string::npos;
    if (code.shared_bytes > 0)
      must(driver().cuFuncSetAttribute(kernel.function, FunctionAttribute::dynamic_shared_bytes,
                                       static_cast<int>(code.shared_bytes)),
           "cuFuncSetAttribute");
    int blocks = 0;
    must(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
             &blocks, kernel.function, code.threads, static_cast<std::size_t>(code.shared_bytes)),
         "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    require_memory(blocks > 0, "[cuda] kernel ", code.entry, " of ", code.threads, " threads with ",
                   kernel.registers, " registers each and ", code.shared_bytes,
                   " bytes of shared memory does not fit ", context_.facts().name,
                   "; choose smaller blocks");
    kernel.blocks_at_once = blocks * context_.facts().multiprocessors;
    if (code.cluster > 1) kernel.blocks_at_once = blocks_in_clusters(code, kernel.function);
  } catch (...) {
    driver().cuModuleUnload(entry->module);
    throw;
  }
  return entry;
}

}  // namespace tilewright::cuda
