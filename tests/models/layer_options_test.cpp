// Layers as PyTorch's scripts make them, with options in braces; and the user's line in errors of
// files.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "include/tilewright/tilewright.h"

namespace tilewright::layer_options_test {
namespace {

TEST(LayerOptions, StandInBracesWhereALayerIsAdded) {
  Sequential net;
  net.add<Conv2d>(3, 4, 3, {.stride = 2, .padding = 1});
  net.add<BatchNorm2d>(4, {.affine = false});
  net.add<MaxPool2d>(2, {.stride = 1});
  EXPECT_EQ(net(ones({1, 3, 8, 8})).shape(), (Shape{1, 4, 3, 3}));
}

TEST(LayerOptions, LayersOfASequentialAreReachedByTheirTypes) {
  Sequential net;
  net.add<Linear>(3, 4);
  net.add<Relu>();
  EXPECT_EQ(net.get<Linear>(0).weight.shape(), (Shape{4, 3}));
  EXPECT_THROW(net.get<Linear>(1), Error);
  EXPECT_THROW(net.get<Linear>(2), Error);
}

TEST(LayerOptions, AModuleConvertsItsFloats) {
  Sequential net;
  net.add<Conv2d>(3, 4, 3);
  net.add<BatchNorm2d>(4);
  net.eval();
  net.to(f64);
  EXPECT_EQ(net.get<Conv2d>(0).weight.dtype(), f64);
  EXPECT_EQ(net.get<BatchNorm2d>(1).running_mean.dtype(), f64);
  EXPECT_EQ(net.get<BatchNorm2d>(1).num_batches_tracked.dtype(), i64);
  EXPECT_EQ(net(ones({1, 3, 8, 8}, f64)).dtype(), f64);
  EXPECT_THROW(net.to(i32), Error);
}

// torch.nn.RMSNorm(2) of {1e-4, 2e-4} in PyTorch 2.15: its eps is the step of f32 above 1.
TEST(LayerOptions, RmsNormHasTheEpsOfItsDtype) {
  const std::vector<float> y = RmsNorm(2)(Tensor::from({{1e-4f, 2e-4f}})).to_vector<float>();
  EXPECT_NEAR(y[0], 0.2633319, 1e-6);
  EXPECT_NEAR(y[1], 0.5266637, 1e-6);
}

// In torch.nn.RMSNorm of PyTorch 2.15 the eps follows x: that of f32 for 16 bits, of f64 for f64.
TEST(LayerOptions, RmsNormHasTheEpsOfWhatItIsGiven) {
  const Tensor x = Tensor::from<double>({1e-4, 2e-4}, {1, 2});
  RmsNorm norm(2);
  norm.to(f64);
  EXPECT_NEAR(norm(x).to_vector<double>()[0], 0.6324555292, 1e-9);
  RmsNorm half(2, {}, {.dtype = bf16});
  EXPECT_NEAR(half(x.to(bf16)).to(f32).to_vector<float>()[1], 0.5266637, 4e-3);
}

void expect_line(int line, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("(at layer_options_test.cpp:" + std::to_string(line) + ")"),
        std::string::npos)
        << error.what();
  }
}

TEST(LayerOptions, ErrorsOfFilesNameTheCallersLine) {
  expect_line(__LINE__, [] { Safetensors::open("no such file"); });
  expect_line(__LINE__, [] { Weights::open("no such folder"); });
  expect_line(__LINE__, [] { load_exported("no such file"); });
}

}  // namespace
}  // namespace tilewright::layer_options_test
