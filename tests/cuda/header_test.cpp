// The driver's interface as this library declares it, against NVIDIA's header where that is found.
//
// Compares the signature of each call: the number of parameters, the size of each and whether it is
// a number, a pointer or a struct; likewise for the pointers' targets.
#ifdef TILEWRIGHT_CUDA_HEADER

#include "runtime/cuda/driver/driver.h"
// After ours: cuda.h renames functions by macros.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

namespace tilewright::cuda::header_test {
namespace {

template <typename T>
concept Complete = requires {
  sizeof(T);
};

template <typename Ours, typename Theirs>
constexpr bool are_alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using A = std::remove_cv_t<std::remove_pointer_t<Ours>>;
    using B = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
    if constexpr (std::is_void_v<A> || std::is_void_v<B>)
      return std::is_void_v<A> && std::is_void_v<B>;
    else
      return are_alike<A, B>();
  } else if constexpr (Complete<Ours> && Complete<Theirs>) {
    constexpr bool are_numbers = (std::is_integral_v<Ours> || std::is_enum_v<Ours>)&&(
        std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
    constexpr bool are_floating =
        std::is_floating_point_v<Ours> && std::is_floating_point_v<Theirs>;
    constexpr bool are_structs = std::is_class_v<Ours> && std::is_class_v<Theirs>;
    constexpr bool are_unions = std::is_union_v<Ours> && std::is_union_v<Theirs>;
    return (are_numbers || are_floating || are_structs || are_unions) &&
           sizeof(Ours) == sizeof(Theirs);
  } else {
    return !Complete<Ours> && !Complete<Theirs>;
  }
}

template <typename Ours, typename Theirs>
constexpr bool same_call = false;
template <typename... P, typename... Q>
requires(sizeof...(P) ==
         sizeof...(Q)) constexpr bool same_call<Result (*)(P...), CUresult (*)(Q...)> =
    (are_alike<P, Q>() && ...);

// The version stands in the name of the header's type of the function.
#define TILEWRIGHT_CUDA(name, symbol, version, need, parameters)              \
  static_assert(same_call<Result(*) parameters, decltype(&::symbol)>,         \
                "the parameters of " #symbol " differ from those in cuda.h"); \
  static_assert(same_call<Result(*) parameters, PFN_##name##_v##version>,     \
                #name " has other parameters in this version");               \
  static_assert(CUDA_VERSION >= version, #name " is newer than this cuda.h");
#include "runtime/cuda/driver/driver.def"
#undef TILEWRIGHT_CUDA

template <typename Ours, typename Theirs>
constexpr bool equal(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

TEST(CudaHeader, ResultsHaveItsValues) {
  EXPECT_TRUE(equal(Result::success, CUDA_SUCCESS));
  EXPECT_TRUE(equal(Result::invalid_value, CUDA_ERROR_INVALID_VALUE));
  EXPECT_TRUE(equal(Result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_TRUE(equal(Result::not_initialized, CUDA_ERROR_NOT_INITIALIZED));
  EXPECT_TRUE(equal(Result::deinitialized, CUDA_ERROR_DEINITIALIZED));
  EXPECT_TRUE(equal(Result::no_device, CUDA_ERROR_NO_DEVICE));
  EXPECT_TRUE(equal(Result::invalid_device, CUDA_ERROR_INVALID_DEVICE));
  EXPECT_TRUE(equal(Result::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU));
  EXPECT_TRUE(equal(Result::ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE));
  EXPECT_TRUE(equal(Result::invalid_ptx, CUDA_ERROR_INVALID_PTX));
  EXPECT_TRUE(equal(Result::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
  EXPECT_TRUE(equal(Result::not_found, CUDA_ERROR_NOT_FOUND));
  EXPECT_TRUE(equal(Result::not_ready, CUDA_ERROR_NOT_READY));
  EXPECT_TRUE(equal(Result::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS));
  EXPECT_TRUE(equal(Result::launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
  EXPECT_TRUE(equal(Result::launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT));
  EXPECT_TRUE(equal(Result::context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED));
  EXPECT_TRUE(equal(Result::device_assert, CUDA_ERROR_ASSERT));
  EXPECT_TRUE(equal(Result::hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR));
  EXPECT_TRUE(equal(Result::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION));
  EXPECT_TRUE(equal(Result::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS));
  EXPECT_TRUE(equal(Result::invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE));
  EXPECT_TRUE(equal(Result::invalid_pc, CUDA_ERROR_INVALID_PC));
  EXPECT_TRUE(equal(Result::launch_failed, CUDA_ERROR_LAUNCH_FAILED));
  EXPECT_TRUE(equal(Result::not_supported, CUDA_ERROR_NOT_SUPPORTED));
  EXPECT_TRUE(equal(Result::unknown, CUDA_ERROR_UNKNOWN));
}

TEST(CudaHeader, AttributesHaveItsValues) {
  EXPECT_TRUE(
      equal(DeviceAttribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  EXPECT_TRUE(equal(DeviceAttribute::bus_of_pci, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
  EXPECT_TRUE(equal(DeviceAttribute::device_of_pci, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
  EXPECT_TRUE(equal(DeviceAttribute::domain_of_pci, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID));
  EXPECT_TRUE(equal(DeviceAttribute::memory_clock_khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
  EXPECT_TRUE(equal(DeviceAttribute::memory_bus_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  EXPECT_TRUE(equal(DeviceAttribute::l2_cache_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  EXPECT_TRUE(equal(DeviceAttribute::compute_capability_major,
                    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  EXPECT_TRUE(equal(DeviceAttribute::compute_capability_minor,
                    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  EXPECT_TRUE(equal(DeviceAttribute::shared_bytes_of_block,
                    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  EXPECT_TRUE(equal(FunctionAttribute::local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  EXPECT_TRUE(equal(FunctionAttribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS));
  EXPECT_TRUE(equal(FunctionAttribute::dynamic_shared_bytes,
                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  EXPECT_TRUE(equal(FunctionAttribute::non_portable_cluster_size_allowed,
                    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED));
  EXPECT_TRUE(equal(PointerAttribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
  EXPECT_TRUE(equal(MemoryType::host, CU_MEMORYTYPE_HOST));
  EXPECT_TRUE(equal(MemoryType::device, CU_MEMORYTYPE_DEVICE));
  EXPECT_TRUE(equal(MemoryType::array, CU_MEMORYTYPE_ARRAY));
  EXPECT_TRUE(equal(MemoryType::unified, CU_MEMORYTYPE_UNIFIED));
  EXPECT_TRUE(equal(LaunchAttributeId::cluster, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
  EXPECT_TRUE(equal(LaunchAttributeId::programmatic_serialization,
                    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
  EXPECT_TRUE(equal(LaunchAttributeId::priority, CU_LAUNCH_ATTRIBUTE_PRIORITY));
}

TEST(CudaHeader, OptionsAndFlagsHaveItsValues) {
  EXPECT_TRUE(equal(JitOption::info_log, CU_JIT_INFO_LOG_BUFFER));
  EXPECT_TRUE(equal(JitOption::info_log_bytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES));
  EXPECT_TRUE(equal(JitOption::error_log, CU_JIT_ERROR_LOG_BUFFER));
  EXPECT_TRUE(equal(JitOption::error_log_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
  EXPECT_TRUE(equal(JitInput::cubin, CU_JIT_INPUT_CUBIN));
  EXPECT_TRUE(equal(JitInput::ptx, CU_JIT_INPUT_PTX));
  EXPECT_TRUE(equal(stream_non_blocking, CU_STREAM_NON_BLOCKING));
  EXPECT_TRUE(equal(event_default, CU_EVENT_DEFAULT));
  EXPECT_TRUE(equal(event_disable_timing, CU_EVENT_DISABLE_TIMING));
  EXPECT_TRUE(equal(GraphEdge::programmatic, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC));
}

TEST(CudaHeader, TensorMapsHaveItsValues) {
  EXPECT_TRUE(equal(TensorMapType::u8, CU_TENSOR_MAP_DATA_TYPE_UINT8));
  EXPECT_TRUE(equal(TensorMapType::u16, CU_TENSOR_MAP_DATA_TYPE_UINT16));
  EXPECT_TRUE(equal(TensorMapType::u32, CU_TENSOR_MAP_DATA_TYPE_UINT32));
  EXPECT_TRUE(equal(TensorMapType::i32, CU_TENSOR_MAP_DATA_TYPE_INT32));
  EXPECT_TRUE(equal(TensorMapType::u64, CU_TENSOR_MAP_DATA_TYPE_UINT64));
  EXPECT_TRUE(equal(TensorMapType::i64, CU_TENSOR_MAP_DATA_TYPE_INT64));
  EXPECT_TRUE(equal(TensorMapType::f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32));
  EXPECT_TRUE(equal(TensorMapType::f64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64));
  EXPECT_TRUE(equal(TensorMapType::tf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32));
  EXPECT_TRUE(equal(TensorMapSwizzle::none, CU_TENSOR_MAP_SWIZZLE_NONE));
  EXPECT_TRUE(equal(TensorMapSwizzle::bytes32, CU_TENSOR_MAP_SWIZZLE_32B));
  EXPECT_TRUE(equal(TensorMapSwizzle::bytes64, CU_TENSOR_MAP_SWIZZLE_64B));
  EXPECT_TRUE(equal(TensorMapSwizzle::bytes128, CU_TENSOR_MAP_SWIZZLE_128B));
  EXPECT_TRUE(equal(TensorMapPromotion::none, CU_TENSOR_MAP_L2_PROMOTION_NONE));
  EXPECT_TRUE(equal(TensorMapPromotion::bytes128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B));
  EXPECT_TRUE(equal(TensorMapPromotion::bytes256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
  EXPECT_TRUE(equal(0, CU_TENSOR_MAP_INTERLEAVE_NONE));
  EXPECT_TRUE(equal(0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

TEST(CudaHeader, StructsHaveItsPlaces) {
  EXPECT_EQ(sizeof(TensorMapBytes), sizeof(CUtensorMap));
  EXPECT_EQ(sizeof(LaunchAttributeValue), sizeof(CUlaunchAttributeValue));
  EXPECT_EQ(offsetof(LaunchAttributeValue, cluster), offsetof(CUlaunchAttributeValue, clusterDim));
  EXPECT_EQ(offsetof(LaunchAttribute, id), offsetof(CUlaunchAttribute, id));
  EXPECT_EQ(offsetof(LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));

  EXPECT_EQ(offsetof(LaunchConfig, grid), offsetof(CUlaunchConfig, gridDimX));
  EXPECT_EQ(offsetof(LaunchConfig, block), offsetof(CUlaunchConfig, blockDimX));
  EXPECT_EQ(offsetof(LaunchConfig, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(LaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(sizeof(LaunchConfig), sizeof(CUlaunchConfig));

  using Params = CUDA_KERNEL_NODE_PARAMS_v2;
  EXPECT_EQ(offsetof(KernelNodeParams, function), offsetof(Params, func));
  EXPECT_EQ(offsetof(KernelNodeParams, grid), offsetof(Params, gridDimX));
  EXPECT_EQ(offsetof(KernelNodeParams, block), offsetof(Params, blockDimX));
  EXPECT_EQ(offsetof(KernelNodeParams, shared_bytes), offsetof(Params, sharedMemBytes));
  EXPECT_EQ(offsetof(KernelNodeParams, arguments), offsetof(Params, kernelParams));
  EXPECT_EQ(offsetof(KernelNodeParams, extra), offsetof(Params, extra));
  EXPECT_EQ(offsetof(KernelNodeParams, kernel), offsetof(Params, kern));
  EXPECT_EQ(offsetof(KernelNodeParams, context), offsetof(Params, ctx));
  EXPECT_EQ(sizeof(KernelNodeParams), sizeof(Params));

  EXPECT_EQ(offsetof(GraphEdge, from_port), offsetof(CUgraphEdgeData, from_port));
  EXPECT_EQ(offsetof(GraphEdge, to_port), offsetof(CUgraphEdgeData, to_port));
  EXPECT_EQ(offsetof(GraphEdge, type), offsetof(CUgraphEdgeData, type));
  EXPECT_EQ(sizeof(GraphEdge), sizeof(CUgraphEdgeData));
}

}  // namespace
}  // namespace tilewright::cuda::header_test

#endif  // TILEWRIGHT_CUDA_HEADER
