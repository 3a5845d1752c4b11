#include "graph/functions/dlpack.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/compile/compile.h"
#include "graph/functions/dlpack_layout.h"
#include "tests/errors.h"

namespace tilewright::dlpack_test {
namespace {

// A tensor of another library: six floats, two rows of three.
struct Foreign {
  alignas(64) float elements[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  int freed = 0;
  DLManagedTensorVersioned managed{
      {1, 0},
      this,
      [](DLManagedTensorVersioned* self) { ++static_cast<Foreign*>(self->manager_ctx)->freed; },
      0,
      {elements, {1, 0}, 2, {2, 32, 1}, shape, strides, 0}};
};

TEST(Dlpack, WhatComesInIsTheOthersMemory) {
  Foreign foreign;
  {
    Tensor tensor = from_dlpack(&foreign.managed);
    EXPECT_EQ(tensor.data(), foreign.elements);
    EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
    tensor.copy_from(tensor * 2);
    EXPECT_EQ(foreign.elements[5], 10);
    Tensor row = tensor.select(0, 1);
    tensor = {};
    EXPECT_EQ(foreign.freed, 0);
  }
  EXPECT_EQ(foreign.freed, 1);
}

TEST(Dlpack, StridesAndOffsetsOfElementsAreKept) {
  Foreign foreign;
  foreign.managed.dl_tensor.byte_offset = 4;
  foreign.strides[0] = 1;
  foreign.strides[1] = 2;
  EXPECT_EQ(from_dlpack(&foreign.managed).to_vector<float>(),
            (std::vector<float>{1, 3, 5, 2, 4, 6}));
  foreign.strides[0] = -3;  // the second row lies before the first
  foreign.strides[1] = 1;
  foreign.managed.dl_tensor.byte_offset = 16;
  EXPECT_EQ(from_dlpack(&foreign.managed).to_vector<float>(),
            (std::vector<float>{4, 5, 6, 1, 2, 3}));
  foreign.managed.dl_tensor.strides = nullptr;
  foreign.managed.dl_tensor.byte_offset = 0;
  EXPECT_EQ(from_dlpack(&foreign.managed).to_vector<float>(),
            (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(foreign.freed, 3);
}

TEST(Dlpack, MemoryThatMayOnlyBeReadIsCopied) {
  Foreign foreign;
  foreign.managed.flags = 1;
  Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_NE(tensor.data(), foreign.elements);
  EXPECT_EQ(foreign.freed, 1);
  EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Dlpack, WhatGoesOutLivesUntilItIsGivenBack) {
  Tensor tensor = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  void* data = tensor.data();
  DLManagedTensorVersioned* managed = to_dlpack(tensor.transpose(0, 1));
  tensor = {};
  const DLTensor& out = managed->dl_tensor;
  EXPECT_EQ(managed->version.major, 1U);
  EXPECT_EQ(out.data, data);
  EXPECT_EQ(out.ndim, 2);
  EXPECT_EQ(out.shape[0] * 10 + out.shape[1], 23);
  EXPECT_EQ(out.strides[0] * 10 + out.strides[1], 12);
  EXPECT_EQ(static_cast<float*>(out.data)[5], 6);
  Tensor back = from_dlpack(managed);  // whose end gives it back
  EXPECT_EQ(back.to_vector<float>(), (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST(Dlpack, EveryTypeGoesRound) {
  for (DType dtype : all_dtypes()) {
    Tensor tensor = Tensor::empty({3, 5}, dtype);
    std::memset(tensor.data(), 1, static_cast<std::size_t>(tensor.count() * size_bytes(dtype)));
    Tensor back = from_dlpack(to_dlpack_legacy(tensor));
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.data(), tensor.data());
  }
}

TEST(Dlpack, WhatIsUnknownIsNamedAndStaysTheGivers) {
  Foreign foreign;
  const DLTensor right = foreign.managed.dl_tensor;
  auto refused = [&](const std::string& why) {
    expect_contains(error_of([&] { from_dlpack(&foreign.managed); }), why);
    foreign.managed.dl_tensor = right;
  };
  foreign.managed.dl_tensor.dtype.lanes = 4;
  refused("type code 2, 32 bits, 4 lanes");
  foreign.managed.dl_tensor.dtype.code = 5;
  refused("type code 5");
  foreign.managed.dl_tensor.device.device_type = 7;
  refused("memory of device type 7; 1 (CPU) and 2 (CUDA) are known");
  foreign.managed.dl_tensor.byte_offset = 2;
  refused("it must be aligned to its 4 bytes");
  foreign.managed.version.major = 2;
  refused("the tensor is of DLPack 2.0; version 1 is known");
  EXPECT_EQ(foreign.freed, 0);
  expect_contains(error_of([] { from_dlpack(static_cast<DLManagedTensor*>(nullptr)); }), "null");
}

TEST(Dlpack, TensorsOfACaptureStayInside) {
  Compiled shares = compile(
      [](const Tensor& x) {
        to_dlpack(x);
        return x;
      },
      {.fullgraph = true});
  const std::string said = error_of([&] { shares(Tensor::from<float>({1}, {1})); });
  expect_contains(said,
                  "[to_dlpack] the value is not known while the function is captured (at "
                  "dlpack_test.cpp:");
  expect_contains(said, "hand addresses to kernels and libraries outside the compiled function");
}

}  // namespace
}  // namespace tilewright::dlpack_test
