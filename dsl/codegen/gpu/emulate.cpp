#include "dsl/codegen/gpu/emulate.h"

#include <llvm/Support/SmallVectorMemoryBuffer.h>

#include <algorithm>
#include <atomic>

#include "dsl/codegen/gpu/rewrite_for_host.h"
#include "dsl/codegen/jit.h"
#include "dsl/emulator/tensor_map.h"
#include "dsl/emulator/thread_block.h"
#include "dsl/target.h"

namespace tilewright::dsl {
namespace {

using emulator::EmulatedKernel;
using emulator::ThreadBlock;

void check_shape(const std::string& entry, const KernelShape& shape) {
  require(shape.threads > 0 && shape.threads <= 1024 && shape.threads % 32 == 0,
          "[link_emulated] kernel ", entry, " has blocks of ", shape.threads,
          " threads; they have a multiple of 32 up to 1024");
  require(shape.shared_bytes >= 0 && shape.shared_bytes <= emulator::SharedMemory::arena_bytes,
          "[link_emulated] kernel ", entry, " asks for ", shape.shared_bytes,
          " bytes of shared memory; at most ", emulator::SharedMemory::arena_bytes, " are there");
}

// Each thread of the host has a block of its own, which it uses again and again.
ThreadBlock& block_of_this_thread() {
  thread_local ThreadBlock block;
  return block;
}

emulator::TensorMap tensor_map_of(const TensorMapSpec& spec, const Argument* arguments,
                                  const std::vector<ArtifactParam>& params) {
  emulator::TensorMap map;
  map.rank = static_cast<std::uint8_t>(spec.sizes.size());
  map.element_bytes = static_cast<std::uint8_t>(size_bytes(spec.dtype));
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
                                 std::vector<TensorMapSpec> maps) {
  return [=](const Argument* arguments, const std::int64_t* grid, std::int64_t begin,
             std::int64_t end) {
    std::int64_t blocks = (grid[0] * grid[1] * grid[2] + 1) / 2;
    std::vector<emulator::TensorMap> made;
    made.reserve(maps.size());
    for (const TensorMapSpec& map : maps) made.push_back(tensor_map_of(map, arguments, params));
    std::vector<Argument> all(arguments, arguments + params.size());
    for (const emulator::TensorMap& map : made) all.push_back({.pointer = &map});
    for (int axis = 0; axis < 3; ++axis) all.push_back({.integer = grid[axis]});
    std::int64_t launched[3] = {blocks, 1, 1};
    if (begin < blocks) kernel(all.data(), launched, begin, std::min(end, blocks));
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
  kernel->options = std::move(options);

  static std::atomic<std::uint64_t> serial = 0;
  std::string body = "tw_emulated_" + std::to_string(serial++);
  const Target& target = host_target();
  auto machine = value_of(machine_builder(target).createTargetMachine(), "choosing the processor");
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  rewrite_for_host(*module, entry, body, *kernel);
  auto object = std::make_unique<llvm::SmallVectorMemoryBuffer>(
      assemble(*module, *machine, llvm::CodeGenFileType::ObjectFile), body, false);
  module.reset();
  context.reset();
  kernel->body =
      reinterpret_cast<void (*)(const void*)>(Linker::of(target).link(std::move(object), body));

  return [kernel](const Argument* arguments, const std::int64_t* grid, std::int64_t begin,
                  std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      block_of_this_thread().run(*kernel, arguments,
                                 {i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1]},
                                 {grid[0], grid[1], grid[2]});
  };
}

}  // namespace tilewright::dsl
