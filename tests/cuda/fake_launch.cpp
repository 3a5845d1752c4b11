// The fake driver's kernels: their attributes, what may be launched, and the launch.
#include <algorithm>
#include <cstring>

#include "tests/cuda/fake_state.h"

namespace tilewright::cuda::fake {
namespace {

constexpr int threads_of_multiprocessor = 2048, blocks_of_multiprocessor = 32,
              reserved_shared_bytes = 1024;

int shared_bytes_of_block(int device) {
  int bytes = 0;
  cuDeviceGetAttribute(&bytes, DeviceAttribute::shared_bytes_of_block, device);
  return bytes;
}

int resident_blocks(int device, std::int64_t threads, std::int64_t shared_bytes) {
  std::int64_t shared = shared_bytes_of_block(device) + reserved_shared_bytes;
  return static_cast<int>(std::min({threads_of_multiprocessor / threads,
                                    shared / (shared_bytes + reserved_shared_bytes),
                                    std::int64_t{blocks_of_multiprocessor}}));
}

std::int64_t cluster_blocks(const LaunchConfig& config) {
  for (unsigned i = 0; i < config.attribute_count; ++i)
    if (config.attributes[i].id == LaunchAttributeId::cluster) {
      const auto& cluster = config.attributes[i].value.cluster;
      return std::int64_t{cluster.x} * cluster.y * cluster.z;
    }
  return 1;
}

// The bytes that a kernel takes of a scalar, as the low ones of an argument.
Argument scalar_argument(const ArtifactParam& param, const void* from) {
  Argument argument{};
  std::memcpy(&argument, from,
              param.is_pointer ? 8 : static_cast<std::size_t>(size_bytes(param.dtype)));
  return argument;
}

bool copy_arguments(const dsl::gpu::EmulatedPtx& code, void** from, PreparedLaunch* launch) {
  std::size_t next = 0;
  if (from == nullptr) return code.params.empty() && !code.persistent;
  if (code.table) {
    if (from[0] == nullptr) return false;
    auto* table = static_cast<const std::byte*>(from[0]);
    launch->table.assign(table, table + code.table->bytes());
    return true;
  }
  for (const ArtifactParam& param : code.params) {
    if (from[next] == nullptr) return false;
    launch->arguments.push_back(scalar_argument(param, from[next++]));
  }
  for (std::size_t i = 0; i < code.tensor_maps.size(); ++i) {
    if (from[next] == nullptr) return false;
    std::memcpy(&launch->maps.emplace_back(), from[next++], sizeof(TensorMapBytes));
  }
  for (int axis = 0; code.persistent && axis < 3; ++axis) {
    if (from[next] == nullptr) return false;
    std::int32_t size;
    std::memcpy(&size, from[next++], sizeof size);
    launch->arguments.push_back({.integer = size});
  }
  return true;
}

}  // namespace

Result prepare(State& s, int device, FunctionHandle handle, const unsigned (&grid)[3],
               const unsigned (&block)[3], unsigned shared_bytes, void** arguments, void** extra,
               PreparedLaunch* launch) {
  std::shared_ptr<KernelFunction> function = s.functions.find(handle);
  if (function == nullptr || function->device != device) return invalid_handle;
  constexpr unsigned most[3] = {2147483647, 65535, 65535};
  for (int i = 0; i < 3; ++i)
    if (grid[i] == 0 || grid[i] > most[i]) return Result::invalid_value;
  // Kernels name their blocks' sizes (.reqntid).
  if (block[0] != static_cast<unsigned>(function->code->threads) || block[1] != 1 || block[2] != 1)
    return Result::invalid_value;
  if (shared_bytes > static_cast<unsigned>(function->dynamic_shared_bytes))
    return Result::invalid_value;
  if (extra != nullptr) return Result::not_supported;
  *launch = {function, {grid[0], grid[1], grid[2]}, shared_bytes, 1, {}, {}};
  return copy_arguments(*function->code, arguments, launch) ? Result::success
                                                            : Result::invalid_value;
}

Result set_attribute(PreparedLaunch& launch, LaunchAttributeId id,
                     const LaunchAttributeValue& value) {
  switch (id) {
    case LaunchAttributeId::priority: return Result::success;
    case LaunchAttributeId::programmatic_serialization: {
      int allowed = value.programmatic_serialization_allowed;
      return allowed == 0 || allowed == 1 ? Result::success : Result::invalid_value;
    }
    case LaunchAttributeId::cluster: {
      const std::int64_t size[3] = {value.cluster.x, value.cluster.y, value.cluster.z};
      for (int i = 0; i < 3; ++i)
        if (size[i] == 0 || launch.grid[i] % size[i] != 0) return Result::invalid_value;
      if (size[0] * size[1] * size[2] > (launch.function->large_clusters ? 16 : 8))
        return invalid_cluster_size;
      if (size[1] != 1 || size[2] != 1) return Result::not_supported;
      launch.cluster = size[0];
      return Result::success;
    }
  }
  return Result::invalid_value;
}

void State::run_kernel(int device, const PreparedLaunch& launch) {
  const dsl::gpu::EmulatedPtx& code = *launch.function->code;
  if (!launch.function->is_loaded)
    return lose(device, Result::illegal_address,
                "kernel " + code.entry + " runs after its module was unloaded");
  if (launch.shared_bytes < code.shared_bytes)
    return lose(device, Result::illegal_address,
                concat("kernel ", code.entry, " was launched with ", launch.shared_bytes,
                       " bytes of shared memory of the ", code.shared_bytes, " that it needs"));
  if (launch.cluster != code.cluster)
    return lose(device, Result::illegal_address,
                concat("kernel ", code.entry, " was launched in clusters of ", launch.cluster,
                       " blocks; it is for ", code.cluster));
  if (++kernels_run == fault_at_kernel)
    return lose(device, Result::illegal_address, "kernel " + code.entry + " was told to fault");
  std::vector<Argument> arguments;
  if (code.table) {
    arguments.push_back({.pointer = launch.table.data()});
  } else {
    auto own = launch.arguments.begin() + std::ssize(code.params);
    arguments.assign(launch.arguments.begin(), own);
    for (const dsl::emulator::TensorMap& map : launch.maps) arguments.push_back({.pointer = &map});
    arguments.insert(arguments.end(), own, launch.arguments.end());
  }
  Artifact artifact;
  artifact.name = code.entry;
  artifact.emulated = code.run;
  Grid grid(launch.grid);
  clock_ms += 2e-3 + 1e-4 * static_cast<double>(grid.count());
  try {
    tilewright::launch(artifact, grid, arguments.data());
  } catch (const dsl::emulator::EmulationFault& fault) {
    lose(device, Result::illegal_address, fault.what());
  }
}

Result cuFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle handle) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<KernelFunction> function = s.functions.find(handle);
  if (function == nullptr) return invalid_handle;
  switch (attribute) {
    case FunctionAttribute::local_bytes: *value = function->local_bytes; break;
    case FunctionAttribute::registers: *value = 64; break;
    case FunctionAttribute::dynamic_shared_bytes: *value = function->dynamic_shared_bytes; break;
    case FunctionAttribute::non_portable_cluster_size_allowed:
      *value = function->large_clusters ? 1 : 0;
      break;
    default: return Result::invalid_value;
  }
  return Result::success;
}

Result cuFuncSetAttribute(FunctionHandle handle, FunctionAttribute attribute, int value) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<KernelFunction> function = s.functions.find(handle);
  if (function == nullptr) return invalid_handle;
  if (attribute == FunctionAttribute::dynamic_shared_bytes) {
    if (value < 0 || value > shared_bytes_of_block(function->device)) return Result::invalid_value;
    function->dynamic_shared_bytes = value;
    return Result::success;
  }
  if (attribute != FunctionAttribute::non_portable_cluster_size_allowed)
    return Result::invalid_value;
  function->large_clusters = value != 0;
  return Result::success;
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle handle, int threads,
                                                   std::size_t shared_bytes) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<KernelFunction> function = s.functions.find(handle);
  if (function == nullptr) return invalid_handle;
  if (threads <= 0 || threads > 1024) return Result::invalid_value;
  bool is_allowed = shared_bytes <= static_cast<std::size_t>(function->dynamic_shared_bytes);
  *blocks = is_allowed ? resident_blocks(function->device, threads,
                                         static_cast<std::int64_t>(shared_bytes))
                       : 0;
  return Result::success;
}

Result cuOccupancyMaxActiveClusters(int* clusters, FunctionHandle handle,
                                    const LaunchConfig* config) {
  int blocks = 0;
  Result result = cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, handle, static_cast<int>(config->block[0] * config->block[1] * config->block[2]),
      config->shared_bytes);
  if (result != Result::success) return result;
  const Device& device =
      state().devices[static_cast<std::size_t>(state().functions.find(handle)->device)];
  *clusters = static_cast<int>(blocks * device.what.multiprocessors /
                               std::max<std::int64_t>(1, cluster_blocks(*config)));
  return Result::success;
}

Result cuLaunchKernelEx(const LaunchConfig* config, FunctionHandle function, void** arguments,
                        void** extra) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  if (config == nullptr) return Result::invalid_value;
  std::shared_ptr<Stream> stream = s.stream_of(config->stream, device);
  if (stream == nullptr) return invalid_handle;
  auto launch = std::make_shared<PreparedLaunch>();
  Result result = prepare(s, device, function, config->grid, config->block, config->shared_bytes,
                          arguments, extra, launch.get());
  for (unsigned i = 0; i < config->attribute_count && result == Result::success; ++i)
    result = set_attribute(*launch, config->attributes[i].id, config->attributes[i].value);
  if (result == Result::success)
    s.enqueue(stream, [&s, device, launch] { s.run_kernel(device, *launch); });
  return result;
}

}  // namespace tilewright::cuda::fake
