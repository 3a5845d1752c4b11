// Kernels as the driver has them.
//
// The driver compiles PTX to machine code for the GPU at hand, which takes longer than making the
// PTX did. So machine code is kept in the user's cache folder (runtime/kept/entry_store.h), by the
// PTX, the GPU's compute capability and the driver's version, and the next process loads it.
// A damaged file, or one that the driver refuses, is compiled again.
//
// Only linked code can be kept so, and the driver compiles it as a part that others may call: it
// takes up to twice the registers, and waits for each product of a warpgroup by itself, which makes
// attention half as fast (ptxas -c; CUDA 13). It is as good for short texts. Long ones, and kernels
// whose warps have roles, are compiled whole, and the driver's own cache keeps them.
//
// The driver's compiler may spill
// registers so that more blocks run at once; such a kernel is compiled again with all the registers
// that its threads may have (with_all_registers).
//
// The most recently used modules stay loaded, within the bounds of runtime/kept/bounds.h; prepared
// launches and graphs of them own theirs in addition. One is unloaded after all work of its
// context, which may run it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/driver/types.h"
#include "runtime/gpu_code.h"
#include "runtime/kept/bounded_table.h"
#include "runtime/kept/entry_key.h"

namespace tilewright::cuda {

class PrimaryContext;

// A kernel that can be launched.
struct LoadedKernel {
  std::string name;
  FunctionHandle function = nullptr;
  int threads = 0;
  unsigned shared_bytes = 0;
  int cluster = 1;
  int registers = 0, local_bytes = 0;  // of a thread
  int blocks_at_once = 0;              // on the whole GPU, in whole clusters
  // It waits for the kernels before it itself (griddepcontrol.wait), and so may be started early.
  bool waits_by_itself = false;
  double compile_seconds = 0;  // by the driver; 0: found in the cache folder
};

class ModuleTable {
 public:
  explicit ModuleTable(PrimaryContext& context) : context_(context) {}
  // Raises `Error` with what the driver's compiler says. The kernel is loaded for as long as its
  // owner or the table has it, at most as long as its context. Thread safe.
  std::shared_ptr<const LoadedKernel> get(const GpuCode& code);

 private:
  struct Entry {
    ModuleHandle module = nullptr;
    LoadedKernel kernel;
  };
  struct Unloading;
  std::unique_ptr<Entry> load(const GpuCode& code);
  // The driver compiles `text` to the same kernel.
  std::unique_ptr<Entry> load(const GpuCode& code, const std::string& text);
  struct MachineCode {
    std::vector<char> image;
    EntryKey key;
    bool was_kept;
  };
  MachineCode machine_code(const GpuCode& code, const std::string& text, double& seconds);
  class CompilerLog;
  void require_compiled(Result result, const GpuCode& code, const CompilerLog& log) const;
  ModuleHandle compile_whole(const GpuCode& code, const std::string& text, double& seconds);
  ModuleHandle load_module(const GpuCode& code, const std::string& text, double& seconds);
  std::vector<char> compile(const GpuCode& code, const std::string& text);
  int blocks_in_clusters(const GpuCode& code, FunctionHandle function) const;

  PrimaryContext& context_;
  std::mutex mutex_;
  BoundedTable<const LoadedKernel> kernels_;  // that were launched last
};

}  // namespace tilewright::cuda
