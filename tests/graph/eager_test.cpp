#include "graph/tensor/eager.h"

#include <cmath>
#include <functional>
#include <thread>

#include "graph/compile/compile.h"
#include "graph/functions/convolving/padding.h"
#include "graph/ir/evaluate.h"
#include "graph/ir/strided_view.h"
#include "graph/tensor/tensor_body.h"
#include "tests/errors.h"

namespace tilewright::graph::eager_test {
namespace {

using Floats = std::vector<float>;

TEST(Eager, ReadsOperandsWhereverTheyLie) {
  Tensor x = Tensor::from(Floats{0, 1, 2, 3, 4, 5, 6, 7}, {2, 4});
  Tensor strided = x.slice(1, 1, 4, 2).transpose(0, 1);
  EXPECT_EQ((strided + strided).to_vector<float>(), (Floats{2, 10, 6, 14}));
  EXPECT_EQ(sum(x.transpose(0, 1), {1}).to_vector<float>(), (Floats{4, 6, 8, 10}));
  EXPECT_EQ((x.select(0, 1).expand({2, 4}) * 2).to_vector<float>(),
            (Floats{8, 10, 12, 14, 8, 10, 12, 14}));
}

TEST(Eager, TellsCallsApartByEveryThingAKernelDependsOn) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {2, 2});
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(sum(x, {0}).to_vector<float>(), (Floats{4, 6}));
    EXPECT_EQ(sum(x, {1}).to_vector<float>(), (Floats{3, 7}));
    EXPECT_EQ(amax(x, {1}).to_vector<float>(), (Floats{2, 4}));
    EXPECT_EQ(exp(x * 0).to_vector<float>(), (Floats{1, 1, 1, 1}));
    EXPECT_EQ((x.transpose(0, 1) - x).to_vector<float>(), (Floats{0, 1, -1, 0}));
    EXPECT_EQ((x.to(f64) - 1).to_vector<double>(), (std::vector<double>{0, 1, 2, 3}));
    EXPECT_EQ(x.to(i32).to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 3, 4}));
  }
}

TEST(Eager, WritesInPlaceIntoStridedMemory) {
  Tensor x = zeros({2, 3});
  Tensor view = x.transpose(0, 1);
  view.index_copy_(0, Tensor::from(std::vector<std::int64_t>{2}, {1}),
                   Tensor::from(Floats{8, 9}, {1, 2}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 0, 8, 0, 0, 9}));
}

TEST(Eager, ServesSeveralThreads) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5}, {5});
  std::vector<std::thread> threads;
  std::vector<float> totals(4);
  for (std::size_t t = 0; t < totals.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round)
        totals[t] += sum(x * static_cast<double>(t)).item<float>();
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < totals.size(); ++t)
    EXPECT_EQ(totals[t], 50.0F * 15.0F * static_cast<float>(t));
}

TEST(Eager, CopiesWhereAnOperationChangesNothing) {
  Tensor one = Tensor::from(Floats{3}, {1}), total = sum(one);
  EXPECT_EQ(total.item<float>(), 3);
  EXPECT_NE(total.data(), one.data());
}

TEST(Eager, HandlesTensorsWithNoElements) {
  Tensor none = zeros({0, 3});
  EXPECT_EQ((none + 1).shape(), (Shape{0, 3}));
  EXPECT_EQ(sum(none, {0}).to_vector<float>(), (Floats{0, 0, 0}));
}

// Too many elements for their bytes to be counted are refused before memory is asked for, at once
// and captured.
TEST(Eager, ElementsWhoseBytesCannotBeCountedAreRefused) {
  constexpr std::int64_t many = std::int64_t{1} << 62;
  const std::vector<std::function<Tensor(const Tensor&)>> all = {
      [](const Tensor&) { return zeros({many / 2}, f64); },
      [](const Tensor& x) { return x + full({many}, 1.0); },
      [](const Tensor& x) { return x.expand({many}).contiguous(); },
      [](const Tensor&) { return arange(0, many); },
      [](const Tensor& x) { return x.expand({many}) + 1.0; },
      [](const Tensor& x) { return x.expand({many}).to(f64); },
      [](const Tensor& x) {
        return cat({x, full({many}, 1.0)}, 0);
      },
      [](const Tensor& x) {
        return pad(x, {0, many});
      },
      [](const Tensor& x) {  // a few bytes less than 2^63
        return pad(x, {many / 4 - 4, many / 4 - 4}).slice(0, 0, 1);
      }};
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    expect_contains(error_of([&] { all[i](ones({1})); }), "63 bits");
    expect_contains(error_of([&] { compile(all[i])(ones({1})); }), "63 bits");
  }
}

}  // namespace
}  // namespace tilewright::graph::eager_test
