#include "dsl/codegen/gpu/emulate/emulate.h"

#include <llvm/Support/SmallVectorMemoryBuffer.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>

#include "dsl/codegen/gpu/emulate/rewrite_for_host.h"
#include "dsl/codegen/llvm/jit.h"
#include "dsl/emulator/cluster.h"
#include "dsl/emulator/tensor_map.h"
#include "dsl/target/target.h"
#include "runtime/base/thread_end.h"

namespace tilewright::dsl {
namespace {

using emulator::Cluster;
using emulator::EmulatedKernel;

void check_shape(const std::string& entry, const KernelShape& shape) {
  require(shape.threads > 0 && shape.threads <= 1024 && shape.threads % 32 == 0,
          "[link_emulated] kernel ", entry, " has blocks of ", shape.threads,
          " threads; they have a multiple of 32 up to 1024");
  require(shape.shared_bytes >= 0 && shape.shared_bytes <= emulator::SharedMemory::arena_bytes,
          "[link_emulated] kernel ", entry, " asks for ", shape.shared_bytes,
          " bytes of shared memory; at most ", emulator::SharedMemory::arena_bytes, " are there");
  require(std::has_single_bit(static_cast<unsigned>(shape.cluster)) && shape.cluster <= 8,
          "[link_emulated] kernel ", entry, " has clusters of ", shape.cluster,
          " blocks; they have 1, 2, 4 or 8");
}

const ThreadEnd cluster_end([](void* made) { delete static_cast<Cluster*>(made); });

// Each thread of the host has a cluster of its own, which it uses again and again.
Cluster& cluster_of_this_thread() {
  constinit thread_local Cluster* cluster = nullptr;
  if (cluster == nullptr) {
    auto made = std::make_unique<Cluster>();
    cluster_end.note(made.get());
    cluster = made.release();
  }
  return *cluster;
}

emulator::TensorMap tensor_map_of(const TensorMapSpec& spec, const Argument* arguments,
                                  const std::vector<ArtifactParam>& params) {
  emulator::TensorMap map;
  map.rank = static_cast<std::uint8_t>(spec.sizes.size());
  map.element_bytes = static_cast<std::uint8_t>(size_bytes(spec.dtype));
  map.rounds_to_tf32 = spec.rounds_to_tf32;
  map.swizzle = static_cast<emulator::Swizzle>(spec.swizzle_bytes);
  auto* array = static_cast<std::byte*>(
      const_cast<void*>(arguments[static_cast<std::size_t>(spec.pointer)].pointer));
  map.base = array + spec.offset_bytes;
  for (std::size_t i = 0; i < spec.sizes.size(); ++i) {
    map.sizes[i] = spec.sizes[i].value(arguments, params);
    map.box[i] = static_cast<std::uint16_t>(spec.box[i]);
    if (i > 0) map.strides_bytes[i - 1] = spec.strides_bytes[i - 1].value(arguments, params);
  }
  return map;
}

}  // namespace

EmulatedLaunch persistent_launch(EmulatedLaunch kernel, std::vector<ArtifactParam> params,
                                 std::vector<TensorMapSpec> maps, int cluster) {
  return [=](const Argument* arguments, const std::int64_t* grid, std::int64_t begin,
             std::int64_t end) {
    std::int64_t clusters = (grid[0] * grid[1] * grid[2] + 2 * cluster - 1) / (2 * cluster);
    std::vector<emulator::TensorMap> made;
    made.reserve(maps.size());
    for (const TensorMapSpec& map : maps) made.push_back(tensor_map_of(map, arguments, params));
    std::vector<Argument> all(arguments, arguments + params.size());
    for (const emulator::TensorMap& map : made) all.push_back({.pointer = &map});
    for (int axis = 0; axis < 3; ++axis) all.push_back({.integer = grid[axis]});
    std::int64_t launched[3] = {clusters * cluster, 1, 1};
    if (begin < clusters)
      kernel(all.data(), launched, begin * cluster, std::min(end, clusters) * cluster);
  };
}

EmulatedLaunch link_emulated(std::unique_ptr<llvm::Module> module,
                             std::unique_ptr<llvm::LLVMContext> context, const std::string& entry,
                             const KernelShape& shape, EmulatorOptions options) {
  check_shape(entry, shape);
  initialise_llvm();
  auto kernel = std::make_shared<EmulatedKernel>();
  kernel->name = entry;
  kernel->threads = shape.threads;
  kernel->shared_bytes = shape.shared_bytes;
  kernel->cluster = shape.cluster;
  kernel->options = std::move(options);

  static std::atomic<std::uint64_t> serial = 0;
  std::string body = "tw_emulated_" + std::to_string(serial++);
  const Target& target = host_target();
  // A kernel runs for some thousand threads, and optimising its code takes longer than they do.
  HostMachine machine = host_machine(target, Optimised::no);
  auto object = or_leave_behind(
      [&] {
        module->setTargetTriple(machine->getTargetTriple());
        module->setDataLayout(machine->createDataLayout());
        rewrite_for_host(*module, entry, body, *kernel);
        return std::make_unique<llvm::SmallVectorMemoryBuffer>(
            assemble(*module, *machine, llvm::CodeGenFileType::ObjectFile, Registers::spilled),
            body, false);
      },
      module, context, machine);
  module.reset();
  context.reset();
  std::shared_ptr<void> code = Linker::of(target).link(std::move(object), body);
  kernel->body = reinterpret_cast<void (*)(const void*)>(code.get());

  // The thread that is to run a cluster's first block runs the cluster. The function owns the code.
  return [kernel, code](const Argument* arguments, const std::int64_t* grid, std::int64_t begin,
                        std::int64_t end) {
    const std::int64_t size = kernel->cluster;
    require(grid[0] % size == 0, "[emulated launch] kernel ", kernel->name, " has clusters of ",
            size, " blocks along axis 0, where the grid has ", grid[0], "; it must be a multiple");
    for (std::int64_t i = (begin + size - 1) / size * size; i < end; i += size)
      cluster_of_this_thread().run(*kernel, arguments,
                                   {i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1]},
                                   {grid[0], grid[1], grid[2]});
  };
}

}  // namespace tilewright::dsl
