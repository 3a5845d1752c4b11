// That the fake driver is a driver: what it computes, what it refuses, and what it puts off.
#include "tests/cuda/fake_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <cstring>
#include <numeric>

#include "runtime/base/half.h"
#include "tests/cuda/programs.h"

namespace tilewright::cuda::fake_driver_test {
namespace {

using testing::Each;
using testing::HasSubstr;

// A context of a fake device, made with nothing but the driver's table.
class FakeDriverTest : public testing::Test {
 protected:
  FakeDriverTest() {
    ok(d.cuDevicePrimaryCtxRetain(&context, 0));
    ok(d.cuCtxSetCurrent(context));
    ok(d.cuStreamCreateWithPriority(&stream, stream_non_blocking, 0));
  }
  ~FakeDriverTest() override {
    for (DevicePointer pointer : allocated) d.cuMemFree(pointer);
    for (ModuleHandle module : modules) d.cuModuleUnload(module);
    d.cuStreamDestroy(stream);
    ok(d.cuDevicePrimaryCtxRelease(0));
  }

  static void ok(Result result) { ASSERT_EQ(result, Result::success); }

  DevicePointer allocate(std::size_t bytes) {
    DevicePointer pointer = 0;
    ok(d.cuMemAlloc(&pointer, bytes));
    allocated.push_back(pointer);
    return pointer;
  }
  void free(DevicePointer pointer) {
    ok(d.cuMemFree(pointer));
    std::erase(allocated, pointer);
  }
  template <typename T>
  DevicePointer on_device(const std::vector<T>& values) {
    DevicePointer pointer = allocate(values.size() * sizeof(T));
    ok(d.cuMemcpyHtoDAsync(pointer, values.data(), values.size() * sizeof(T), stream));
    return pointer;
  }
  std::vector<float> read(DevicePointer from, std::size_t count) {
    std::vector<float> values(count, -1);
    ok(d.cuMemcpyDtoHAsync(values.data(), from, count * sizeof(float), stream));
    EXPECT_EQ(d.cuStreamSynchronize(stream), Result::success) << fake.fault();
    return values;
  }
  FunctionHandle load(const dsl::gpu::Ptx& ptx) {
    LinkHandle link;
    void* image;
    std::size_t bytes;
    ok(d.cuLinkCreate(0, nullptr, nullptr, &link));
    ok(d.cuLinkAddData(link, JitInput::ptx, const_cast<char*>(ptx.text.data()), ptx.text.size(),
                       "kernel", 0, nullptr, nullptr));
    ok(d.cuLinkComplete(link, &image, &bytes));
    ModuleHandle& module = modules.emplace_back();
    FunctionHandle function;
    ok(d.cuModuleLoadData(&module, image));
    ok(d.cuLinkDestroy(link));
    ok(d.cuModuleGetFunction(&function, module, ptx.entry.c_str()));
    return function;
  }
  LaunchConfig config(const dsl::gpu::Ptx& ptx, unsigned blocks) const {
    return {{blocks, 1, 1},
            {static_cast<unsigned>(ptx.threads), 1, 1},
            static_cast<unsigned>(ptx.shared_bytes),
            stream,
            nullptr,
            0};
  }
  // scale_program on `count` elements.
  Result scale(FunctionHandle function, DevicePointer x, DevicePointer y, int count, float factor) {
    void* arguments[] = {&x, &y, &count, &factor};
    LaunchConfig launch = config(scale_ptx, static_cast<unsigned>(count + 127) / 128);
    return d.cuLaunchKernelEx(&launch, function, arguments, nullptr);
  }

  FakeDriver fake;
  const Driver& d = driver();
  ContextHandle context = nullptr;
  StreamHandle stream = nullptr;
  std::vector<DevicePointer> allocated;
  std::vector<ModuleHandle> modules;
  dsl::gpu::Ptx scale_ptx = ptx_of(scale_program(), "sm_90a");
};

TEST_F(FakeDriverTest, RunsKernelsFromPtx) {
  FunctionHandle function = load(scale_ptx);
  std::vector<float> x(300);
  std::iota(x.begin(), x.end(), 0.0F);
  DevicePointer on = on_device(x), y = allocate(x.size() * 4);
  ok(scale(function, on, y, 300, 3));
  std::vector<float> got = read(y, 300);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], 3 * i + 1);
  EXPECT_EQ(fake.calls("cuLaunchKernelEx"), 1);
  EXPECT_EQ(fake.kernels_run(), 1);
}

TEST_F(FakeDriverTest, RunsPersistentKernelsWithTensorMaps) {
  dsl::gpu::Ptx ptx = ptx_of(product_program(), "sm_90a");
  ASSERT_TRUE(ptx.persistent);
  FunctionHandle function = load(ptx);
  std::vector<BFloat16> a(256 * 256), b(256 * 256);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = BFloat16(static_cast<float>(i / 256 % 3));
    b[i] = BFloat16(static_cast<float>(i % 256 == 7 ? 1 : 0));
  }
  DevicePointer da = on_device(a), db = on_device(b), dc = allocate(256 * 256 * 4);
  Argument program[] = {{.integer = static_cast<std::int64_t>(da)},
                        {.integer = static_cast<std::int64_t>(db)},
                        {.integer = static_cast<std::int64_t>(dc)}};
  std::vector<TensorMapBytes> maps(ptx.tensor_maps.size());
  std::vector<void*> arguments = {&program[0], &program[1], &program[2]};
  std::vector<ArtifactParam> params(3);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const TensorMapSpec& spec = ptx.tensor_maps[i];
    std::uint64_t sizes[5], strides[5];
    std::uint32_t box[5], ones[5] = {1, 1, 1, 1, 1};
    for (std::size_t k = 0; k < spec.sizes.size(); ++k) {
      sizes[k] = static_cast<std::uint64_t>(spec.sizes[k].value(program, params));
      box[k] = static_cast<std::uint32_t>(spec.box[k]);
      if (k > 0)
        strides[k - 1] =
            static_cast<std::uint64_t>(spec.strides_bytes[k - 1].value(program, params));
    }
    auto* array = static_cast<std::byte*>(
        const_cast<void*>(program[static_cast<std::size_t>(spec.pointer)].pointer));
    auto swizzle = static_cast<TensorMapSwizzle>(spec.swizzle_bytes == 128  ? 3
                                                 : spec.swizzle_bytes == 64 ? 2
                                                                            : 1);
    ok(d.cuTensorMapEncodeTiled(
        &maps[i], spec.dtype == DType::bf16 ? TensorMapType::u16 : TensorMapType::f32,
        static_cast<std::uint32_t>(spec.sizes.size()), array + spec.offset_bytes, sizes, strides,
        box, ones, 0, swizzle, TensorMapPromotion::bytes256, 0));
    arguments.push_back(&maps[i]);
  }
  int grid[3] = {2, 2, 1};
  for (int& size : grid) arguments.push_back(&size);
  LaunchConfig launch = config(ptx, 3);
  EXPECT_EQ(d.cuLaunchKernelEx(&launch, function, arguments.data(), nullptr), Result::invalid_value)
      << "shared memory beyond 48 KB must be asked for";
  ok(d.cuFuncSetAttribute(function, FunctionAttribute::dynamic_shared_bytes,
                          static_cast<int>(ptx.shared_bytes)));
  ok(d.cuLaunchKernelEx(&launch, function, arguments.data(), nullptr));
  std::vector<float> c = read(dc, 256 * 256);
  // Row i is the sum of the i-th row of a, in column 7.
  for (std::size_t i = 0; i < c.size(); ++i)
    ASSERT_EQ(c[i], i % 256 == 7 ? 256 * static_cast<float>(i / 256 % 3) : 0) << i;
}

TEST_F(FakeDriverTest, PutsWorkOffUntilItIsWaitedFor) {
  FunctionHandle function = load(scale_ptx);
  DevicePointer x = on_device(std::vector<float>(128, 1)), y = allocate(512);
  ok(scale(function, x, y, 128, 5));
  std::vector<float> got(128, -1);
  ok(d.cuMemcpyDtoHAsync(got.data(), y, 512, stream));
  EXPECT_EQ(fake.kernels_run(), 0);
  EXPECT_THAT(got, Each(-1));
  // Another stream that does not wait sees the earlier value.
  StreamHandle other;
  EventHandle event;
  ok(d.cuStreamCreateWithPriority(&other, stream_non_blocking, 0));
  ok(d.cuEventCreate(&event, event_disable_timing));
  ok(d.cuEventRecord(event, stream));
  ok(d.cuStreamSynchronize(other));
  EXPECT_EQ(fake.kernels_run(), 0);
  ok(d.cuStreamWaitEvent(other, event, 0));
  ok(d.cuStreamSynchronize(other));
  EXPECT_THAT(got, Each(6));
  ok(d.cuEventDestroy(event));
  ok(d.cuStreamDestroy(other));
}

TEST_F(FakeDriverTest, ReadsPinnedMemoryWhenTheCopyIsDone) {
  void* pinned;
  ok(d.cuMemHostAlloc(&pinned, 4, 0));
  float value = 1;
  std::memcpy(pinned, &value, 4);
  DevicePointer memory = allocate(8);
  ok(d.cuMemcpyHtoDAsync(memory, pinned, 4, stream));
  ok(d.cuMemcpyHtoDAsync(memory + 4, &value, 4, stream));
  value = 2;
  std::memcpy(pinned, &value, 4);
  EXPECT_THAT(read(memory, 2), testing::ElementsAre(2, 1));
  ok(d.cuMemFreeHost(pinned));
}

TEST_F(FakeDriverTest, GivesMemoryThatIsNotZeroAndNotTheHosts) {
  DevicePointer memory = allocate(4096);
  EXPECT_THAT(read(memory, 1024), testing::Contains(testing::Ne(0)));
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(memory) = 1, "");
  EXPECT_EQ(d.cuMemsetD8Async(memory + 1, 0, 4096, stream), Result::invalid_value);
  EXPECT_EQ(fake.memory_in_use(), 4096U);
}

TEST_F(FakeDriverTest, LosesTheContextWhereAKernelLeavesItsMemory) {
  FunctionHandle function = load(scale_ptx);
  DevicePointer x = on_device(std::vector<float>(128, 1)), y = allocate(508);
  ok(scale(function, x, y, 128, 5));
  EXPECT_EQ(d.cuStreamSynchronize(stream), Result::illegal_address);
  EXPECT_THAT(fake.fault(), HasSubstr(scale_ptx.entry));
  DevicePointer more;
  EXPECT_EQ(d.cuMemAlloc(&more, 16), Result::illegal_address);
}

TEST_F(FakeDriverTest, FreesMemoryWhenTheDeviceIsDone) {
  DevicePointer memory = on_device(std::vector<float>(4, 1));
  std::vector<float> got(4, -1);
  ok(d.cuMemcpyDtoHAsync(got.data(), memory, 16, stream));
  free(memory);
  EXPECT_THAT(got, Each(1));
}

TEST_F(FakeDriverTest, LosesTheContextWherePinnedMemoryIsFreedBeforeItsCopyIsDone) {
  void* pinned;
  ok(d.cuMemHostAlloc(&pinned, 16, 0));
  ok(d.cuMemcpyHtoDAsync(allocate(16), pinned, 16, stream));
  ok(d.cuMemFreeHost(pinned));
  EXPECT_EQ(d.cuStreamSynchronize(stream), Result::illegal_address);
  EXPECT_THAT(fake.fault(), HasSubstr("freed"));
}

TEST_F(FakeDriverTest, LosesTheContextWhereAModuleIsUnloadedBeforeItsKernelHasRun) {
  FunctionHandle function = load(scale_ptx);
  DevicePointer x = on_device(std::vector<float>(128, 1));
  ok(scale(function, x, x, 128, 5));
  ok(d.cuModuleUnload(modules[0]));
  modules.clear();
  EXPECT_EQ(d.cuStreamSynchronize(stream), Result::illegal_address);
  EXPECT_THAT(fake.fault(), HasSubstr("unloaded"));
}

TEST_F(FakeDriverTest, FailsWhereItIsToldTo) {
  fake.fail("cuMemAlloc", 2, Result::out_of_memory);
  DevicePointer memory;
  allocate(16);
  EXPECT_EQ(d.cuMemAlloc(&memory, 16), Result::out_of_memory);
  allocate(16);
  EXPECT_EQ(fake.calls("cuMemAlloc"), 3);

  FunctionHandle function = load(scale_ptx);
  DevicePointer x = on_device(std::vector<float>(128, 1));
  fake.fault_at_kernel(2);
  ok(scale(function, x, x, 128, 1));
  EXPECT_THAT(read(x, 128), Each(2));
  ok(scale(function, x, x, 128, 1));
  EXPECT_EQ(d.cuStreamSynchronize(stream), Result::illegal_address);
}

TEST_F(FakeDriverTest, HasAsMuchMemoryAsItSays) {
  std::size_t free_bytes, total;
  ok(d.cuMemGetInfo(&free_bytes, &total));
  EXPECT_EQ(free_bytes, total);
  DevicePointer memory;
  EXPECT_EQ(d.cuMemAlloc(&memory, total + 1), Result::out_of_memory);
}

TEST_F(FakeDriverTest, RefusesWhatIsNoCodeForItsDevice) {
  ModuleHandle module;
  EXPECT_NE(d.cuModuleLoadData(&module, "nonsense"), Result::success);
  dsl::gpu::Ptx ptx = ptx_of(scale_program(), "sm_100a");
  EXPECT_EQ(d.cuModuleLoadData(&module, ptx.text.c_str()), Result::invalid_ptx);
  ptx = ptx_of(scale_program(), "sm_80");
  ok(d.cuModuleLoadData(&module, ptx.text.c_str()));
  FunctionHandle function;
  EXPECT_EQ(d.cuModuleGetFunction(&function, module, "another"), Result::not_found);
  ok(d.cuModuleUnload(module));
}

TEST_F(FakeDriverTest, RefusesLaunchesThatTheDriverRefuses) {
  FunctionHandle function = load(scale_ptx);
  DevicePointer x = allocate(512);
  int count = 128;
  float factor = 1;
  void* arguments[] = {&x, &x, &count, &factor};
  auto result_of = [&](auto change) {
    LaunchConfig launch = config(scale_ptx, 1);
    change(launch);
    return d.cuLaunchKernelEx(&launch, function, arguments, nullptr);
  };
  EXPECT_EQ(result_of([](LaunchConfig& c) { c.grid[1] = 65536; }), Result::invalid_value);
  EXPECT_EQ(result_of([](LaunchConfig& c) { c.grid[0] = 0; }), Result::invalid_value);
  EXPECT_EQ(result_of([](LaunchConfig& c) { c.block[0] += 32; }), Result::invalid_value);
  EXPECT_EQ(result_of([](LaunchConfig& c) { c.shared_bytes = 49153; }), Result::invalid_value);
  EXPECT_EQ(d.cuFuncSetAttribute(function, FunctionAttribute::dynamic_shared_bytes, 1 << 20),
            Result::invalid_value);
  LaunchAttribute cluster{LaunchAttributeId::cluster, {}, {}};
  cluster.value.cluster = {2, 1, 1};
  EXPECT_EQ(result_of([&](LaunchConfig& c) { c.attributes = &cluster, c.attribute_count = 1; }),
            Result::invalid_value);
}

TEST_F(FakeDriverTest, MeasuresTimeThatPasses) {
  EventHandle begin, end;
  ok(d.cuEventCreate(&begin, event_default));
  ok(d.cuEventCreate(&end, event_default));
  FunctionHandle function = load(scale_ptx);
  DevicePointer x = on_device(std::vector<float>(128, 1));
  ok(d.cuEventRecord(begin, stream));
  ok(scale(function, x, x, 128, 1));
  ok(d.cuEventRecord(end, stream));
  float milliseconds = -1;
  EXPECT_EQ(d.cuEventElapsedTime(&milliseconds, begin, end), Result::not_ready);
  ok(d.cuEventSynchronize(end));
  ok(d.cuEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GT(milliseconds, 0);
  ok(d.cuEventDestroy(begin));
  ok(d.cuEventDestroy(end));
}

TEST_F(FakeDriverTest, RunsGraphsInTheOrderOfTheirEdges) {
  FunctionHandle function = load(scale_ptx);
  DevicePointer x = on_device(std::vector<float>(128, 1));
  int count = 128;
  float factor = 2;
  void* arguments[] = {&x, &x, &count, &factor};
  KernelNodeParams params{function,
                          {1, 1, 1},
                          {static_cast<unsigned>(scale_ptx.threads), 1, 1},
                          static_cast<unsigned>(scale_ptx.shared_bytes),
                          arguments,
                          nullptr,
                          nullptr,
                          nullptr};
  GraphHandle graph;
  GraphNodeHandle nodes[3];
  GraphExecHandle executable;
  ok(d.cuGraphCreate(&graph, 0));
  ok(d.cuGraphAddKernelNode(&nodes[0], graph, nullptr, 0, &params));
  factor = 3;
  ok(d.cuGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &params));
  factor = 5;
  ok(d.cuGraphAddKernelNode(&nodes[2], graph, nullptr, 0, &params));
  GraphEdge programmatic{.from_port = 1, .type = GraphEdge::programmatic};
  ok(d.cuGraphAddDependencies(graph, &nodes[1], &nodes[2], &programmatic, 1));
  EXPECT_EQ(d.cuGraphAddDependencies(graph, &nodes[1], &nodes[2], &programmatic, 1),
            Result::invalid_value);
  ok(d.cuGraphInstantiateWithFlags(&executable, graph, 0));
  ok(d.cuGraphUpload(executable, stream));
  ok(d.cuGraphLaunch(executable, stream));
  // ((1 * 2 + 1) * 3 + 1) * 5 + 1; the new value is for the next launch.
  factor = 0;
  ok(d.cuGraphExecKernelNodeSetParams(executable, nodes[2], &params));
  EXPECT_THAT(read(x, 128), Each(51));
  ok(d.cuGraphLaunch(executable, stream));
  EXPECT_THAT(read(x, 128), Each(1));
  ok(d.cuGraphExecDestroy(executable));
  ok(d.cuGraphDestroy(graph));
}

TEST_F(FakeDriverTest, WantsACurrentContextOfItsOwn) {
  ok(d.cuCtxSetCurrent(nullptr));
  DevicePointer memory;
  EXPECT_EQ(static_cast<int>(d.cuMemAlloc(&memory, 16)), 201);
  ok(d.cuCtxSetCurrent(context));
}

TEST_F(FakeDriverTest, ChecksTensorMapsAsTheDriverDoes) {
  TensorMapBytes map;
  std::uint64_t sizes[] = {64, 64}, strides[] = {128};
  std::uint32_t box[] = {64, 64}, ones[] = {1, 1};
  auto result_of = [&](std::uintptr_t address = 4096) {
    return d.cuTensorMapEncodeTiled(&map, TensorMapType::u16, 2, reinterpret_cast<void*>(address),
                                    sizes, strides, box, ones, 0, TensorMapSwizzle::bytes128,
                                    TensorMapPromotion::none, 0);
  };
  ok(result_of());
  EXPECT_EQ(result_of(4104), Result::invalid_value);
  strides[0] = 136;
  EXPECT_EQ(result_of(), Result::invalid_value);
  strides[0] = 128, box[1] = 257;
  EXPECT_EQ(result_of(), Result::invalid_value);
  box[1] = 64, box[0] = 72;  // 144 bytes, more than the span
  EXPECT_EQ(result_of(), Result::invalid_value);
  box[0] = 64, sizes[1] = 0;
  EXPECT_EQ(result_of(), Result::invalid_value);
}

TEST(FakeDriver, SaysWhatWasNotGivenBack) {
  EXPECT_NONFATAL_FAILURE(
      {
        FakeDriver fake;
        ContextHandle context;
        driver().cuDevicePrimaryCtxRetain(&context, 0);
      },
      "1 retained context");
}

}  // namespace
}  // namespace tilewright::cuda::fake_driver_test
