// Sums, products and extrema up to each element, at once and compiled, against loops.
#include "graph/functions/reducing/cumulative.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::cumulative_test {
namespace {

using namespace testing_loops;

// `join` applied to all elements up to each along the axis, from the first on.
template <typename T, typename State>
std::vector<T> so_far(const Tensor& x, int axis, const std::function<State(State, T)>& join,
                      State begin, const std::function<T(State)>& value) {
  const Shape& sizes = x.shape();
  std::vector<T> all = x.to_vector<T>();
  return elements<T>(sizes, [&](const Place& at) {
    State state = begin;
    Place from = at;
    for (std::int64_t i = 0; i <= at[static_cast<std::size_t>(axis)]; ++i) {
      from[static_cast<std::size_t>(axis)] = i;
      state = join(state, all[number_of(sizes, from)]);
    }
    return value(state);
  });
}

TEST(Cumulative, AddsAndMultipliesUpToEachElement) {
  Dice dice(1);
  for (const Shape& sizes : {Shape{1}, Shape{5, 13, 3}, Shape{2, 64, 1}, Shape{3, 100, 2},
                             Shape{37, 8, 1}, Shape{101, 4, 1}, Shape{5, 2, 1}, Shape{9, 3, 1}}) {
    Tensor x = dice.floats(sizes);
    const int axis = sizes.rank() == 1 ? 0 : 1;
    auto same = [](double v) { return static_cast<float>(v); };
    expect_near([axis](const Tensors& t) { return Tensors{cumsum(t[0], axis)}; }, {x}, sizes,
                so_far<float, double>(
                    x, axis, [](double s, float v) { return s + v; }, 0, same));
    expect_near([axis](const Tensors& t) { return Tensors{cumprod(t[0] * 2, axis)}; }, {x}, sizes,
                so_far<float, double>(
                    x, axis, [](double s, float v) { return s * v * 2; }, 1, same),
                1e-4F);
    expect_near([axis](const Tensors& t) { return Tensors{logcumsumexp(t[0], axis)}; }, {x}, sizes,
                so_far<float, double>(
                    x, axis, [](double s, float v) { return s + std::exp(v); }, 0,
                    [](double s) { return static_cast<float>(std::log(s)); }));
  }
}

TEST(Cumulative, GivesIntegersWideAndOtherDtypesOnRequest) {
  Tensor x = Tensor::from(std::vector<std::int8_t>{100, 100, 27}, {3});
  expect_equal<std::int64_t>([](const Tensors& t) { return Tensors{cumsum(t[0], 0)}; }, {x}, {3},
                             {100, 200, 227});
  expect_equal<float>([](const Tensors& t) { return Tensors{cumsum(t[0], -1, f32)}; }, {x}, {3},
                      {100, 200, 227});
  expect_equal<std::int64_t>([](const Tensors& t) { return Tensors{cumsum(t[0] > 50, 0)}; }, {x},
                             {3}, {1, 2, 2});
  expect_equal<float>([](const Tensors& t) { return Tensors{cumprod(t[0], 0)}; },
                      {Tensor::scalar(3.0F)}, {}, {3});
  expect_equal<float>([](const Tensors& t) { return Tensors{cumsum(t[0], 1)}; }, {zeros({2, 0})},
                      {2, 0}, {});
}

TEST(Cumulative, FindsTheLastOfEqualExtrema) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  Tensor x = Tensor::from(Floats{2, 1, 2, 3, 0, 3, none, 9, none, 1}, {1, 10});
  auto expect_pair = [&](bool is_max, const Floats& values, const Integers& places) {
    auto function = [is_max](const Tensors& t) {
      auto both = is_max ? cummax(t[0], 1) : cummin(t[0], 1);
      return Tensors{both.first, both.second};
    };
    expect_at_once_and_compiled(function, {x}, [&](const Tensors& got) {
      Floats have = got[0].to_vector<float>();
      for (std::size_t i = 0; i < have.size(); ++i)
        EXPECT_TRUE(have[i] == values[i] || (std::isnan(have[i]) && std::isnan(values[i]))) << i;
      EXPECT_EQ(got[1].to_vector<std::int64_t>(), places);
    });
  };
  expect_pair(true, {2, 2, 2, 3, 3, 3, none, none, none, none}, {0, 0, 2, 3, 3, 5, 6, 6, 8, 8});
  expect_pair(false, {2, 1, 1, 1, 0, 0, none, none, none, none}, {0, 1, 1, 1, 4, 4, 6, 6, 8, 8});
}

TEST(Cumulative, FindsExtremaOfManyIntegers) {
  Dice dice(4);
  const Shape sizes = {3, 77};
  Tensor x = dice.integers(sizes, -50, 50);
  auto same = [](std::int64_t s) { return s; };
  auto least = [](std::int64_t s, std::int64_t v) { return std::min(s, v); };
  expect_equal<std::int64_t>([](const Tensors& t) { return Tensors{cummin(t[0], 1).first}; }, {x},
                             sizes, so_far<std::int64_t, std::int64_t>(x, 1, least, 99, same));
}

// Rows that are cut into chunks, short ones, and columns side by side: whole numbers, whose sums
// are exact in any order.
TEST(Cumulative, AddsAlongAxesOfAnyLengthAndPlace) {
  struct Case {
    Shape sizes;
    int axis;
  };
  for (const Case& c :
       {Case{{1, 300'001}, 1}, Case{{3, 5000}, 1}, Case{{70, 17}, 1}, Case{{1030, 3}, 1},
        Case{{70'000, 2}, 0}, Case{{5, 30, 70}, 1}, Case{{9, 1100}, 0}, Case{{70'003, 3}, 0},
        Case{{40'001, 5}, 0}, Case{{30'011, 7}, 0}, Case{{20'000, 15}, 0}, Case{{3, 1003, 6}, 1},
        Case{{100, 33, 3}, 1}, Case{{7, 5, 3}, 1}, Case{{65, 13}, 0}}) {
    Dice dice(7);
    const Tensor x = dice.integers(c.sizes, -20, 20);
    Integers wanted = x.to_vector<std::int64_t>();
    std::size_t inner = 1;
    for (int i = c.axis + 1; i < c.sizes.rank(); ++i) inner *= static_cast<std::size_t>(c.sizes[i]);
    for (std::size_t i = inner; i < wanted.size(); ++i)
      if (i / inner % static_cast<std::size_t>(c.sizes[c.axis]) > 0) wanted[i] += wanted[i - inner];
    EXPECT_EQ(cumsum(x, c.axis).to_vector<std::int64_t>(), wanted);
    EXPECT_EQ(cumsum(x.to(f32), c.axis).to(i64).to_vector<std::int64_t>(), wanted);
  }
}

TEST(Cumulative, SaysWhatDoesNotFit) {
  expect_contains(error_of([&] { cumsum(zeros({2}), 1); }), "[cumsum] axis 1");
  expect_contains(error_of([&] { logcumsumexp(zeros({2}, i64), 0); }), "it must be floating");
}

}  // namespace
}  // namespace tilewright::cumulative_test
