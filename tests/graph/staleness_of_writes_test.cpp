// Tensors that a compiled function writes in place, its results, and tensors that move to another
// device between two calls.
#include <gtest/gtest.h>

#include <string>

#include "graph/compile/compile.h"
#include "graph/functions/quantized.h"
#include "graph/tensor/tensor_body.h"
#include "tests/errors.h"
#include "tests/graph/noise.h"
#include "tests/graph/staleness_modes.h"
#include "tests/tensors.h"

namespace tilewright::staleness_of_writes_test {
namespace {

using namespace testing_staleness;

using testing_noise::noise;

// Tensors that a function writes in place, and results that are kept.
class StalenessOfWrites : public testing::TestWithParam<int> {
 protected:
  Tensor cache_ = noise({4, 4}, 1), x_ = noise({4, 4}, 2);
  Compiled fast_ = compile(
      [this](const Tensor& x) {
        Tensor mine = x;
        cache_.copy_from(cache_ + mine);
        return cache_ * 2;
      },
      modes[GetParam()]);
};
INSTANTIATE_TEST_SUITE_P(Between, StalenessOfWrites, testing::Range(0, 3),
                         [](const auto& info) { return mode_names[info.param]; });

TEST_P(StalenessOfWrites, AnArgumentMayBeWhatIsWritten) {
  fast_(x_);
  for (const Tensor& alias : {cache_, cache_.transpose(0, 1), cache_.clone().reshape({4, 4})}) {
    const Tensor sum = cache_ + alias;
    expect_near(fast_(alias), sum * 2);
    expect_near(cache_, sum);
  }
}

TEST_P(StalenessOfWrites, WhatIsWrittenMayBeAssignedWrittenAndOfAnotherSize) {
  auto agrees = [&] {
    Tensor before = cache_.clone();
    expect_near(fast_(x_), (before + x_) * 2);
    expect_near(cache_, before + x_);
  };
  agrees();
  fill(cache_, 3);
  agrees();
  cache_ = noise({4, 4}, 5);
  agrees();
  cache_ = noise({4, 4}, 6).transpose(0, 1);
  agrees();
  Tensor large = noise({9, 4, 4}, 7);
  cache_ = large.select(0, 3);
  agrees();
  agrees();
}

TEST_P(StalenessOfWrites, AResultIsTheCallersToWriteAndToPass) {
  Tensor result = fast_(x_);
  Tensor kept = result.clone();
  result.copy_from(result * 0 + 7);
  Tensor before = cache_.clone();
  expect_near(fast_(x_), (before + x_) * 2);
  // The result of one call as the argument of the next.
  Tensor given = fast_(x_);
  Tensor value = given.clone();
  before = cache_.clone();
  expect_near(fast_(given), (before + value) * 2);
}

TEST_P(StalenessOfWrites, AResultOfAnEarlierCallIsItselfOrAnError) {
  const Tensor x = x_.to(default_device());
  Tensor result = fast_(x);
  Tensor value = result.clone();
  fast_(x);
  if (modes[GetParam()].mode == Mode::default_)
    expect_near(result, value);
  else
    expect_contains(error_of([&] { result.to_vector<float>(); }), "overwritten");
}

// The function follows what it uses to another device, and back.
TEST(StalenessOfPlaces, WeightsAndArgumentsMayBeMovedToADevice) {
  Tensor weight = noise({4, 4}, 1), x = noise({4, 4}, 2), expected = x * weight;
  for (const Options& options : modes) {
    weight = noise({4, 4}, 1);
    Compiled fast = compile([&](const Tensor& x) { return x * weight; }, options);
    Device device = Device::emulated("sm_80");
    expect_near(fast(x), expected);
    weight.move_to(device);
    expect_near(fast(x), expected);
    expect_near(fast(x.to(device)), expected);
    weight = weight.to(Device::cpu());
    expect_near(fast(x), expected);
    expect_near(fast(x.to(device)), expected);
  }
}

}  // namespace
}  // namespace tilewright::staleness_of_writes_test
