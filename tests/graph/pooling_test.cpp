// Pooling against its definition in loops, at once and compiled.
#include "graph/functions/pooling/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/functions/derivatives/pooling.h"
#include "graph/functions/pooling/adaptive_pooling.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::pooling_test {
namespace {

using namespace testing_loops;

struct Pooling {
  Shape sizes, kernel, stride, padding, dilation;
  bool ceil_mode = false, include_pad = true;

  int rank() const { return kernel.rank(); }
  Shape with(std::int64_t leading, const Shape& last) const {
    Shape shape = {leading};
    shape.insert(shape.end(), last.begin(), last.end());
    return shape;
  }
  Shape counts() const {
    Shape counts;
    for (int i = 0; i < rank(); ++i) {
      std::int64_t room = sizes[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
      std::int64_t count = (room + (ceil_mode ? stride[i] - 1 : 0)) / stride[i] + 1;
      if (ceil_mode && (count - 1) * stride[i] >= sizes[i] + padding[i]) --count;
      counts.push_back(count);
    }
    return counts;
  }
  // Calls visit(number of the element) for those of a window that are in x.
  void visit(const Place& window, const std::function<void(std::int64_t)>& visit) const {
    for_each_place(kernel, [&](const Place& place) {
      Place at(place.size());
      for (std::size_t i = 0; i < at.size(); ++i) {
        const int axis = static_cast<int>(i);
        at[i] = window[i] * stride[axis] - padding[axis] + place[i] * dilation[axis];
        if (at[i] < 0 || at[i] >= sizes[axis]) return;
      }
      visit(static_cast<std::int64_t>(number_of(sizes, at)));
    });
  }
  // How many elements of it count for a mean.
  float count(const Place& window) const {
    std::int64_t all = 1;
    for (std::size_t i = 0; i < window.size(); ++i) {
      const int axis = static_cast<int>(i);
      std::int64_t start = window[i] * stride[axis] - padding[axis],
                   end = std::min(start + kernel[axis], sizes[axis] + padding[axis]);
      all *=
          include_pad ? end - start : std::min(end, sizes[axis]) - std::max<std::int64_t>(start, 0);
    }
    return static_cast<float>(all);
  }
};

const std::vector<Pooling>& poolings() {
  static const std::vector<Pooling> all = {{{9}, {3}, {2}, {1}, {1}},
                                           {{10}, {3}, {3}, {1}, {1}, true, false},
                                           {{6, 7}, {2, 3}, {2, 3}, {0, 0}, {1, 1}},
                                           {{7, 8}, {3, 2}, {2, 2}, {1, 1}, {1, 1}, true},
                                           {{7, 8}, {3, 4}, {2, 1}, {1, 2}, {1, 1}, false, false},
                                           {{5, 20}, {3, 15}, {1, 2}, {0, 7}, {1, 1}},
                                           {{12, 20}, {5, 13}, {3, 2}, {2, 6}, {1, 1}, true, false},
                                           {{4, 5, 6}, {2, 3, 2}, {1, 2, 2}, {1, 1, 0}, {1, 1, 1}}};
  return all;
}

Tensors pooled(const Pooling& p, const Tensor& x, bool is_mean) {
  AveragePoolOptions of_mean{p.stride, p.padding, p.ceil_mode, p.include_pad, {}};
  MaxPoolOptions of_max{p.stride, p.padding, p.dilation, p.ceil_mode};
  if (is_mean)
    return {p.rank() == 1   ? avg_pool1d(x, p.kernel, of_mean)
            : p.rank() == 2 ? avg_pool2d(x, p.kernel, of_mean)
                            : avg_pool3d(x, p.kernel, of_mean)};
  auto both = p.rank() == 1   ? max_pool1d_with_indices(x, p.kernel, of_max)
              : p.rank() == 2 ? max_pool2d_with_indices(x, p.kernel, of_max)
                              : max_pool3d_with_indices(x, p.kernel, of_max);
  Tensor alone = p.rank() == 1   ? max_pool1d(x, p.kernel, of_max)
                 : p.rank() == 2 ? max_pool2d(x, p.kernel, of_max)
                                 : max_pool3d(x, p.kernel, of_max);
  return {both.first, both.second, alone};
}

TEST(Pooling, AveragesWindows) {
  Dice dice(1);
  for (const Pooling& p : poolings()) {
    SCOPED_TRACE(concat(p.sizes, " by ", p.kernel));
    Tensor x = dice.floats(p.with(3, p.sizes));
    Floats all = x.to_vector<float>(), wanted;
    const auto of_one = static_cast<std::size_t>(element_count(p.sizes));
    for (std::size_t channel = 0; channel < 3; ++channel)
      for_each_place(p.counts(), [&](const Place& window) {
        float total = 0;
        p.visit(window, [&](std::int64_t at) {
          total += all[channel * of_one + static_cast<std::size_t>(at)];
        });
        wanted.push_back(total / p.count(window));
      });
    expect_near([&p](const Tensors& t) { return pooled(p, t[0], true); }, {x},
                p.with(3, p.counts()), wanted);
  }
}

TEST(Pooling, FindsTheGreatestOfWindows) {
  Dice dice(2);
  std::vector<Pooling> all = poolings();
  all.push_back({{9, 11}, {3, 2}, {2, 3}, {1, 1}, {2, 3}});
  // Windows that reach over everything.
  all.push_back({{9, 5}, {7, 3}, {4, 3}, {1, 0}, {2, 3}, true});
  all.push_back({{6, 7}, {4, 3}, {5, 4}, {2, 1}, {3, 4}, true});
  for (const Pooling& p : all) {
    SCOPED_TRACE(concat(p.sizes, " by ", p.kernel));
    Tensor x = dice.integers(p.with(2, p.sizes), -4, 4);  // so that there are equals
    Integers of_x = x.to_vector<std::int64_t>(), values, places;
    const auto of_one = static_cast<std::size_t>(element_count(p.sizes));
    for (std::size_t channel = 0; channel < 2; ++channel)
      for_each_place(p.counts(), [&](const Place& window) {
        std::int64_t best = -99, place = -1;
        p.visit(window, [&](std::int64_t at) {
          std::int64_t value = of_x[channel * of_one + static_cast<std::size_t>(at)];
          if (value <= best) return;
          best = value;
          place = at;
        });
        values.push_back(best);
        places.push_back(place);
      });
    for (DType dtype : {i64, f32})
      expect_at_once_and_compiled(
          [&p, dtype](const Tensors& t) { return pooled(p, t[0].to(dtype), false); }, {x},
          [&](const Tensors& got) {
            EXPECT_EQ(got[0].shape(), p.with(2, p.counts()));
            EXPECT_EQ(got[0].to(i64).to_vector<std::int64_t>(), values);
            EXPECT_EQ(got[1].to_vector<std::int64_t>(), places);
            EXPECT_EQ(got[2].to(i64).to_vector<std::int64_t>(), values);
          });
  }
}

TEST(Pooling, NamesAnElementWhereNoneIsAboveMinusInfinity) {
  const float none = -std::numeric_limits<float>::infinity();
  auto function = [](const Tensors& t) {
    return Tensors{max_pool1d_with_indices(t[0], {3}, {.stride = {2}, .padding = {1}}).second};
  };
  expect_equal<std::int64_t>(function, {full({1, 5}, none)}, {1, 3}, {0, 1, 3});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_equal<std::int64_t>(function, {Tensor::from(Floats{nan, nan, 1, 7, nan}, {1, 5})}, {1, 3},
                             {1, 1, 4});
}

// As PyTorch's: each NaN takes the place of what was before, also where windows are large, and in
// parts of unequal sizes.
TEST(Pooling, NamesTheLastOfSeveralNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Floats numbers(160, 1);
  for (std::size_t at : {3U, 40U, 71U}) numbers[at] = nan;
  numbers[100] = 2;
  auto in_windows = [](const Tensors& t) {
    return Tensors{max_pool1d_with_indices(t[0], {80}, {.stride = {80}}).second};
  };
  expect_equal<std::int64_t>(in_windows, {Tensor::from(numbers, {1, 160})}, {1, 2}, {71, 100});
  auto in_parts = [](const Tensors& t) {
    return Tensors{adaptive_max_pool2d(t[0], {2, 2}).second};
  };
  const Floats square = {nan, 1, 2, 1, nan, 3, 4, 1, nan};
  expect_equal<std::int64_t>(in_parts, {Tensor::from(square, {1, 3, 3})}, {1, 2, 2}, {4, 4, 4, 8});
}

TEST(Pooling, GivesGradientsToTheGreatest) {
  Dice dice(3);
  for (const Pooling& p : {Pooling{{7, 8}, {3, 2}, {2, 2}, {1, 1}, {1, 1}, true},
                           Pooling{{9, 11}, {3, 3}, {1, 2}, {1, 0}, {2, 3}}}) {
    const MaxPoolOptions options{p.stride, p.padding, p.dilation, p.ceil_mode};
    Tensor x = dice.floats(p.with(2, p.sizes)), gradient = dice.floats(p.with(2, p.counts()));
    Tensor indices = max_pool2d_with_indices(x, p.kernel, options).second;
    Floats wanted(static_cast<std::size_t>(x.count())), from = gradient.to_vector<float>();
    Integers places = indices.to_vector<std::int64_t>();
    const std::size_t of_x = wanted.size() / 2, of_result = from.size() / 2;
    for (std::size_t i = 0; i < from.size(); ++i)
      wanted[i / of_result * of_x + static_cast<std::size_t>(places[i])] += from[i];
    expect_near(
        [&](const Tensors& t) {
          return Tensors{max_pool2d_with_indices_backward(t[0], t[1], t[2], p.kernel, options)};
        },
        {gradient, x, indices}, x.shape(), wanted);
  }
  expect_contains(error_of([&] {
                    max_pool2d_with_indices_backward(zeros({1, 2, 2}), zeros({1, 4, 4}),
                                                     zeros({1, 2, 1}, i64), {2});
                  }),
                  "both must be 1x2x2");
}

TEST(Pooling, TakesNormsOfWindows) {
  Tensor x = Tensor::from(Floats{3, 4, 0, 5, 12, 1}, {1, 6});
  expect_near([](const Tensors& t) { return Tensors{lp_pool1d(t[0], 2, {2})}; }, {x}, {1, 3},
              {5, 5, std::sqrt(145.0F)});
  expect_near(
      [](const Tensors& t) {
        return Tensors{lp_pool2d(t[0].reshape({1, 2, 3}), 1, {2, 3})};
      },
      {x}, {1, 1, 1}, {25});
  expect_contains(error_of([&] { lp_pool1d(x.to(i64), 2, {2}); }), "x must be floating");
}

TEST(Pooling, DividesByAnotherNumberOnRequest) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {1, 4});
  expect_near(
      [](const Tensors& t) { return Tensors{avg_pool1d(t[0], {2}, {.divisor_override = 4})}; }, {x},
      {1, 2}, {0.75F, 1.75F});
  EXPECT_EQ(avg_pool1d(x.to(i64), {2}).to_vector<std::int64_t>(), (Integers{1, 3}));
  expect_contains(error_of([&] { avg_pool1d(x, {2}, {.divisor_override = 0}); }),
                  "the divisor is 0");
}

TEST(Pooling, SaysWhatDoesNotFit) {
  Tensor x = zeros({2, 4, 4});
  expect_contains(error_of([&] { max_pool2d(zeros({4}), {2}); }), "it must have 3 or 4 axes");
  expect_contains(error_of([&] { max_pool2d(x, {}); }), "there is no kernel");
  expect_contains(error_of([&] { max_pool2d(x, {2, 2, 2}); }), "there are 3 values of the kernel");
  expect_contains(error_of([&] { max_pool2d(x, {2}, {.stride = {0}}); }),
                  "a value of the stride is 0");
  expect_contains(error_of([&] { avg_pool2d(x, {5}); }), "does not fit an axis of 4");
  expect_contains(error_of([&] { avg_pool2d(x, {2}, {.padding = {2}}); }), "half a kernel at most");
  expect_contains(error_of([&] { max_pool2d(x > 0, {2}); }), "x is bool");
  for (DType dtype : {f8e4m3, f8e5m2})
    expect_contains(error_of([&] { avg_pool2d(x.to(dtype), {2}); }),
                    "it must be of integers, or floats of 16 bits or more");
}

// From PyTorch 2.15: roots of sums below 0 are NaN.
TEST(Pooling, TakesOddNormsOfSumsBelowZero) {
  Tensor x = Tensor::from(Floats{-1, -1, 2, 1}, {1, 1, 4});
  EXPECT_EQ(lp_pool1d(x, 1, {2}).to_vector<float>(), (Floats{-2, 3}));
  for (double order : {3.0, 1.5}) {
    const Floats got = lp_pool1d(x, order, {2}).to_vector<float>();
    EXPECT_TRUE(std::isnan(got[0]));
    EXPECT_NEAR(got[1], order == 3 ? 2.0800838F : 2.4472609F, 1e-5F);
  }
}

}  // namespace
}  // namespace tilewright::pooling_test
