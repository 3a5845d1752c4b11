// The types of the CUDA driver's interface, as far as this library speaks to it.
//
// They are declared here because the library needs no CUDA toolkit to be built: sizes, orders and
// values are those of NVIDIA's cuda.h (CUDA 12 and on), and a test compares each with that header
// where it is found (tests/cuda/header_test.cpp). Handles are pointers to types without a
// definition.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cuda {

using DeviceHandle = int;
using DevicePointer = unsigned long long;
using ContextHandle = struct CUctx_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using LinkHandle = struct CUlinkState_st*;
using GraphHandle = struct CUgraph_st*;
using GraphNodeHandle = struct CUgraphNode_st*;
using GraphExecHandle = struct CUgraphExec_st*;

// CUresult: the values that a caller of the driver may want to distinguish; error.h names all.
enum class Result : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  no_device = 100,
  invalid_device = 101,
  no_binary_for_gpu = 209,
  ecc_uncorrectable = 214,
  invalid_ptx = 218,
  unsupported_ptx_version = 222,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  context_is_destroyed = 709,
  device_assert = 710,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failed = 719,
  not_supported = 801,
  unknown = 999
};

enum class DeviceAttribute : int {
  multiprocessor_count = 16,
  bus_of_pci = 33,
  device_of_pci = 34,
  memory_clock_khz = 36,
  memory_bus_bits = 37,
  l2_cache_bytes = 38,
  domain_of_pci = 50,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  pageable_memory_access = 88,  // kernels reach all of the host's memory
  shared_bytes_of_block = 97    // that a kernel may ask for
};

enum class FunctionAttribute : int {
  local_bytes = 3,
  registers = 4,
  dynamic_shared_bytes = 8,
  non_portable_cluster_size_allowed = 14
};

enum class PointerAttribute : int { memory_type = 2 };
enum class MemoryType : unsigned { host = 1, device = 2, array = 3, unified = 4 };

enum class JitOption : int {
  info_log = 3,
  info_log_bytes = 4,
  error_log = 5,
  error_log_bytes = 6,
};
enum class JitInput : int { cubin = 0, ptx = 1 };

constexpr unsigned stream_non_blocking = 1;
constexpr unsigned event_default = 0, event_disable_timing = 2;

struct alignas(64) TensorMapBytes {
  std::uint64_t opaque[16];
};
enum class TensorMapType : int {
  u8 = 0,
  u16 = 1,
  u32 = 2,
  i32 = 3,
  u64 = 4,
  i64 = 5,
  f32 = 7,
  f64 = 8,
  tf32 = 11  // of f32, which is rounded when it is loaded
};
enum class TensorMapSwizzle : int { none = 0, bytes32 = 1, bytes64 = 2, bytes128 = 3 };
enum class TensorMapPromotion : int { none = 0, bytes128 = 2, bytes256 = 3 };

enum class LaunchAttributeId : int { cluster = 4, programmatic_serialization = 6, priority = 8 };
union LaunchAttributeValue {
  char padding[64];
  struct {
    unsigned x, y, z;
  } cluster;
  int programmatic_serialization_allowed;
  int priority;
};
struct LaunchAttribute {
  LaunchAttributeId id;
  char padding[4];
  LaunchAttributeValue value;
};
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct KernelNodeParams {
  FunctionHandle function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** arguments;
  void** extra;
  void* kernel;
  ContextHandle context;
};
// An edge from where the first kernel lets dependents start (programmatic), or from its end.
struct GraphEdge {
  unsigned char from_port = 0, to_port = 0, type = 0, reserved[5] = {};
  static constexpr unsigned char programmatic = 1;
};

}  // namespace tilewright::cuda
