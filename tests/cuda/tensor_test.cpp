// Tensors on a GPU, and operations on them one by one, on the fake driver.
#include "graph/tensor/tensor.h"

#include <gtest/gtest.h>

#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"
#include "dsl/launch/gpu_host.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver/driver.h"
#include "tests/cuda/fake_driver.h"
#include "tests/errors.h"

namespace tilewright::tensor_test {
namespace {

using cuda::FakeDriver;

std::vector<float> ramp(std::int64_t count) {
  std::vector<float> elements(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = 0.01F * static_cast<float>(i % 97) - 0.3F;
  return elements;
}

TEST(CudaTensor, GoesToTheDeviceAndBack) {
  FakeDriver fake;
  std::vector<float> elements = ramp(6 * 50);
  Tensor host = Tensor::from(elements, {6, 50});
  Tensor device = host.to(Device::cuda());
  EXPECT_EQ(device.device(), Device::cuda());
  EXPECT_EQ(host.device(), Device::cpu());
  EXPECT_EQ(device.to_vector<float>(), elements);
  EXPECT_EQ(device.to(Device::cpu()).to_vector<float>(), elements);
  EXPECT_EQ(device.to(Device::cuda()).data(), device.data());
  EXPECT_EQ(device.slice(0, 2, 3).slice(1, 7, 8).item<float>(), elements[107]);
}

TEST(CudaTensor, LargeTensorsGoAsOneCopyAndSmallOnesWithoutWaiting) {
  FakeDriver fake;
  Tensor::from(ramp(4), {4}).to(Device::cuda());
  EXPECT_EQ(fake.calls("cuStreamSynchronize"), 0);
  std::vector<float> elements = ramp(300'000);
  EXPECT_EQ(Tensor::from(elements, {300'000}).to(Device::cuda()).to_vector<float>(), elements);
}

// More than the ring of pinned memory holds, so that it is used again.
TEST(CudaTensor, ManySmallCopiesArriveEachWithItsOwnBytes) {
  FakeDriver fake;
  std::vector<Tensor> tensors;
  for (int i = 0; i < 600; ++i)
    tensors.push_back(
        Tensor::from(std::vector<float>(1000, static_cast<float>(i)), {1000}).to(Device::cuda()));
  for (int i = 0; i < 600; ++i)
    ASSERT_EQ(tensors[static_cast<std::size_t>(i)].to_vector<float>(),
              std::vector<float>(1000, static_cast<float>(i)));
}

TEST(CudaTensor, KernelsRunWhereTheirTensorsLie) {
  FakeDriver fake;
  dsl::Kernel twice("twice",
                    [](dsl::Pointer x, dsl::Pointer y) {
                      dsl::Tile at = dsl::arange(0, 64);
                      dsl::store(y + at, dsl::load(x + at) * 2.0);
                    },
                    {"x", "y"});
  Tensor x = ones({64}).to(Device::cuda()), y = Tensor::empty({64}, f32, Device::cuda());
  twice.launch(1, x, y);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(64, 2));
  EXPECT_EQ(fake.calls("cuLaunchKernelEx"), 1);
  Tensor host = Tensor::empty({64});
  EXPECT_NE(error_of([&] { twice.launch(1, x, host); })
                .find("[twice] the tensor for y lies on the host, the kernel runs on cuda:0; move "
                      "the tensor there with to()"),
            std::string::npos);
}

// Which would lose the GPU for the whole process.
TEST(CudaTensor, KernelsAreNotLaunchedOnMemoryThatTheGpuDoesNotReach) {
  FakeDriver fake;
  dsl::Kernel fill = dsl::Kernel("fill",
                                 [](dsl::Pointer x) {
                                   dsl::store(x + dsl::arange(0, 64), dsl::full({64}, 3.0, f32));
                                 },
                                 {"x"})
                         .on(Device::cuda());
  std::vector<float> host(64, 1);
  EXPECT_NE(error_of([&] { fill.launch(1, host); })
                .find("[fill] the memory for x lies on the host, the kernel runs on cuda:0; give a "
                      "tensor that lies there, or memory that the driver knows"),
            std::string::npos);
  Tensor there = Tensor::empty({64}, f32, Device::cuda());
  fill.launch(1, static_cast<float*>(there.data()));
  EXPECT_EQ(there.to_vector<float>(), std::vector<float>(64, 3));
}

TEST(CudaTensor, ViewsAreCopiedWhereTheyLie) {
  FakeDriver fake;
  Tensor host = Tensor::from(ramp(6 * 8), {6, 8});
  Tensor device = host.to(Device::cuda());
  auto same = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ(a.device(), Device::cuda());
    EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>());
  };
  same(device.transpose(0, 1).contiguous(), host.transpose(0, 1));
  same(device.slice(1, 1, 7, 2).clone(), host.slice(1, 1, 7, 2));
  same(device.transpose(0, 1), host.transpose(0, 1));
  Tensor target = Tensor::from(ramp(48), {8, 6}).to(Device::cuda());
  target.transpose(0, 1).copy_from(device * 2);
  same(target, (host * 2).transpose(0, 1).contiguous());
  target.copy_from(host.reshape({8, 6}));  // from the host
  same(target, host.reshape({8, 6}));
  Tensor back = Tensor::empty({6, 8});
  back.transpose(0, 1).copy_from(device.transpose(0, 1));
  EXPECT_EQ(back.to_vector<float>(), host.to_vector<float>());
}

TEST(CudaTensor, OperationsRunWhereTheirOperandsLie) {
  FakeDriver fake;
  Tensor x = Tensor::from(ramp(4 * 32), {4, 32}), w = Tensor::from(ramp(16 * 32), {16, 32});
  auto all = [](const Tensor& x, const Tensor& w) {
    Tensor y = linear(relu(x * 2 + 1), w);
    return std::vector<Tensor>{y, softmax(y, -1), sum(y, {0}), layer_norm(y)};
  };
  std::vector<Tensor> wanted = all(x, w);
  std::vector<Tensor> given = all(x.to(Device::cuda()), w.to(Device::cuda()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(given[i].device(), Device::cuda());
    auto a = given[i].to_vector<float>(), b = wanted[i].to_vector<float>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-5) << i << ", " << k;
  }
}

TEST(CudaTensor, RowsAreReplacedInPlace) {
  FakeDriver fake;
  Tensor x = Tensor::from(ramp(12), {4, 3}).to(Device::cuda());
  Tensor rows = Tensor::from<std::int64_t>({2, 0}, {2}).to(Device::cuda());
  x.index_copy_(0, rows, Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}).to(Device::cuda()));
  auto elements = x.to_vector<float>();
  EXPECT_EQ(std::vector<float>(elements.begin() + 6, elements.begin() + 9),
            (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(elements[0], 4);
  expect_contains(error_of([&] {
                    x.index_copy_(0, Tensor::from<std::int64_t>({7}, {1}).to(Device::cuda()),
                                  x.slice(0, 0, 1));
                  }),
                  "row 7 is outside");
}

TEST(CudaTensor, OperandsOfSeveralDevicesAreAnErrorThatNamesThem) {
  FakeDriver fake({.devices = {{}, {}}});
  Tensor host = Tensor::from(ramp(8), {8});
  Tensor zero = host.to(Device::cuda(0)), one = host.to(Device::cuda(1));
  EXPECT_EQ(zero.to(Device::cuda(1)).to_vector<float>(), host.to_vector<float>());
  expect_contains(error_of([&] { zero + one; }), "[add] operands lie on cuda:0 and on cuda:1");
  expect_contains(error_of([&] { zero + host; }), "lies on cpu, another on cuda:0");
  EXPECT_EQ((zero + Tensor::scalar(1.0F)).to_vector<float>(), (host + 1).to_vector<float>());
}

TEST(CudaTensor, DevicesThatAreNotThereAreNamed) {
  FakeDriver fake;
  expect_contains(error_of([] { Tensor::empty({1}, f32, Device::cuda(3)); }),
                  "there is no GPU cuda:3; there is one, cuda:0");
  EXPECT_EQ(cuda_devices(), std::vector<Device>{Device::cuda()});
  EXPECT_EQ(Device::cuda().target(), dsl::target_named("sm_90a"));
}

TEST(CudaTensor, OldGpusAreRefused) {
  FakeDriver fake({.devices = {{.name = "Fake V100", .major = 7, .minor = 0}}});
  expect_contains(error_of([] { Tensor::empty({1}, f32, Device::cuda()); }),
                  "cuda:0 (Fake V100) has compute capability 7.0; 8.0 (Ampere) or newer is needed");
}

TEST(CudaTensor, WorkGoesToTheProgramsStream) {
  FakeDriver fake;
  void* own = current_stream(Device::cuda());
  cuda::Stream users(cuda::context(0));
  {
    StreamGuard guard(Device::cuda(), users.handle());
    EXPECT_EQ(current_stream(Device::cuda()), users.handle());
    Tensor x = Tensor::from(ramp(64), {64}).to(Device::cuda());
    EXPECT_EQ((x + x).to_vector<float>(), (Tensor::from(ramp(64), {64}) * 2).to_vector<float>());
  }
  EXPECT_EQ(current_stream(Device::cuda()), own);
  expect_contains(error_of([] { StreamGuard guard(Device::cpu(), nullptr); }),
                  "[StreamGuard] the device is cpu; a GPU, as cuda:0, is needed");
}

TEST(CudaTensor, MemoryComesFromTheProgramIfItSaysSo) {
  FakeDriver fake;
  const cuda::Driver& driver = cuda::driver();
  int segments = 0;
  GpuAllocator allocator{[&](std::int64_t bytes) {
                           ++segments;
                           cuda::DevicePointer pointer = 0;
                           driver.cuMemAlloc(&pointer, static_cast<std::size_t>(bytes));
                           return reinterpret_cast<void*>(pointer);
                         },
                         [&](void* segment) {
                           --segments;
                           driver.cuMemFree(reinterpret_cast<cuda::DevicePointer>(segment));
                         }};
  set_gpu_allocator(Device::cuda(), allocator);
  Tensor x = Tensor::from(ramp(64), {64}).to(Device::cuda());
  EXPECT_EQ(segments, 1);
  expect_contains(error_of([&] { set_gpu_allocator(Device::cuda(), allocator); }),
                  "cuda:0 has 2.0 MiB of memory already");
  x = {};
  cuda::context(0).pool().release_cached();
  EXPECT_EQ(segments, 0);
}

TEST(CudaTensor, WithoutMemoryTheOwnersAreNamedAndWorkGoesOnOnceThereIsSome) {
  FakeDriver fake({.devices = {{.memory_bytes = 64 << 20}}});
  Tensor most = Tensor::empty({40 << 18}, f32, Device::cuda());
  std::string message = error_of([] { Tensor::empty({40 << 18}, f32, Device::cuda()); });
  expect_contains(message, "cuda:0 (Fake H100) has no memory for 40 MiB more: 40 MiB are in use");
  expect_contains(message, "by tensors 40 MiB");
  most = {};
  Tensor::empty({60 << 18}, f32, Device::cuda());  // the segment that is free goes back first
}

}  // namespace
}  // namespace tilewright::tensor_test
