// Axes resampled to other sizes, at once and compiled, against loops over single elements.
#include "graph/functions/resampling/interpolate.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::interpolate_test {
namespace {

using namespace testing_loops;
using Mode = InterpolateMode;

// The elements and weights that one element of the result uses along an axis.
using Taps = std::vector<std::pair<std::int64_t, double>>;

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}

struct Axis {
  std::int64_t size, result;
  Mode mode;
  bool align, antialias;
  double step;  // elements of x for one of the result

  Taps taps(std::int64_t i) const {
    const auto last = static_cast<double>(size - 1), at = static_cast<double>(i);
    auto inside = [&](double place) {
      return static_cast<std::int64_t>(std::min(std::max(place, 0.0), last));
    };
    if (mode == Mode::nearest) return {{inside(std::floor(at * step)), 1}};
    if (mode == Mode::nearest_exact) return {{inside(std::floor((at + 0.5) * step)), 1}};
    if (antialias) return wide_taps(at);
    double position = align ? at * step : (at + 0.5) * step - 0.5;
    if (mode != Mode::bicubic) position = std::max(position, 0.0);
    const double below = std::floor(position), share = position - below;
    if (mode != Mode::bicubic) return {{inside(below), 1 - share}, {inside(below + 1), share}};
    Taps taps;
    for (int k = -1; k <= 2; ++k) taps.emplace_back(inside(below + k), cubic(share - k, -0.75));
    return taps;
  }
  Taps wide_taps(double at) const {
    const double width = std::max(step, 1.0), reach = (mode == Mode::bicubic ? 2 : 1) * width,
                 middle = (at + 0.5) * step;
    Taps taps;
    double total = 0;
    for (std::int64_t place = 0; place < size; ++place) {
      const auto from = static_cast<double>(place);
      if (from < std::trunc(std::max(middle - reach + 0.5, 0.0)) ||
          from >= std::trunc(middle + reach + 0.5))
        continue;
      double distance = (from + 0.5 - middle) / width;
      double weight =
          mode == Mode::bicubic ? cubic(distance, -0.5) : std::max(0.0, 1 - std::abs(distance));
      taps.emplace_back(place, weight);
      total += weight;
    }
    for (auto& tap : taps) tap.second /= total;
    return taps;
  }
};

Tensor wanted_along(const Tensor& x, int axis, const Axis& along) {
  const Shape& sizes = x.shape();
  Shape result = sizes;
  result[axis] = along.result;
  Floats all = x.to_vector<float>();
  return Tensor::from(elements<float>(result,
                                      [&](const Place& at) {
                                        double total = 0;
                                        Place from = at;
                                        const auto i = static_cast<std::size_t>(axis);
                                        for (auto [place, weight] : along.taps(at[i])) {
                                          from[i] = place;
                                          total += weight *
                                                   static_cast<double>(all[number_of(sizes, from)]);
                                        }
                                        return static_cast<float>(total);
                                      }),
                      result);
}

void expect_resampled(const Shape& sizes, const InterpolateOptions& options) {
  SCOPED_TRACE(concat("mode ", static_cast<int>(options.mode), " of ", sizes, " to ", options.size,
                      options.align_corners ? " aligned" : ""));
  Dice dice(7);
  Tensor x = dice.floats(sizes), wanted = x;
  for (int axis = 2; axis < sizes.rank(); ++axis) {
    Axis along{sizes[axis], 0, options.mode, options.align_corners, options.antialias, 0};
    const auto size = static_cast<double>(along.size);
    if (options.size.empty()) {
      const double factor = options.scale_factor[static_cast<std::size_t>(axis) - 2];
      along.result = static_cast<std::int64_t>(size * factor);
      along.step =
          options.recompute_scale_factor ? size / static_cast<double>(along.result) : 1 / factor;
    } else {
      along.result = options.size[axis - 2];
      along.step = size / static_cast<double>(along.result);
    }
    if (options.align_corners)
      along.step = along.result == 1 ? 0 : (size - 1) / static_cast<double>(along.result - 1);
    wanted = wanted_along(wanted, axis, along);
  }
  expect_near([&options](const Tensors& t) { return Tensors{interpolate(t[0], options)}; }, {x},
              wanted.shape(), wanted.to_vector<float>(), 3e-5F);
}

TEST(Interpolate, TakesTheNearestElements) {
  for (Mode mode : {Mode::nearest, Mode::nearest_exact}) {
    expect_resampled({2, 3, 5}, {.size = {13}, .mode = mode});
    expect_resampled({1, 2, 4, 6}, {.size = {8, 18}, .mode = mode});
    expect_resampled({1, 2, 7, 6}, {.size = {3, 6}, .mode = mode});
    expect_resampled({1, 2, 4, 6}, {.scale_factor = {1.7, 0.6}, .mode = mode});
    expect_resampled({1, 1, 2, 3, 4}, {.size = {4, 5, 4}, .mode = mode});
  }
  Tensor bytes = Tensor::from(std::vector<std::uint8_t>{1, 2}, {1, 1, 2});
  EXPECT_EQ(interpolate(bytes, {.scale_factor = {2}}).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{1, 1, 2, 2}));
}

TEST(Interpolate, WeighsNeighbours) {
  for (bool align : {false, true}) {
    expect_resampled({2, 3, 5}, {.size = {13}, .mode = Mode::linear, .align_corners = align});
    expect_resampled({1, 2, 1, 7},
                     {.size = {4, 1}, .mode = Mode::bilinear, .align_corners = align});
    expect_resampled({1, 1, 2, 3, 4},
                     {.size = {4, 5, 2}, .mode = Mode::trilinear, .align_corners = align});
    for (Mode mode : {Mode::bilinear, Mode::bicubic}) {
      expect_resampled({2, 2, 5, 6}, {.size = {9, 4}, .mode = mode, .align_corners = align});
      expect_resampled({1, 2, 5, 6}, {.size = {5, 6}, .mode = mode, .align_corners = align});
      expect_resampled({1, 2, 5, 6},
                       {.scale_factor = {1.7, 2.0}, .mode = mode, .align_corners = align});
    }
  }
  expect_resampled(
      {1, 2, 5, 6},
      {.scale_factor = {1.7, 2.3}, .mode = Mode::bilinear, .recompute_scale_factor = true});
}

TEST(Interpolate, AveragesWhatAnElementCovers) {
  for (Mode mode : {Mode::bilinear, Mode::bicubic}) {
    expect_resampled({1, 2, 9, 23}, {.size = {4, 5}, .mode = mode, .antialias = true});
    expect_resampled({1, 2, 30, 4}, {.size = {3, 9}, .mode = mode, .antialias = true});
    expect_resampled({1, 1, 9, 8}, {.scale_factor = {0.4, 1.5}, .mode = mode, .antialias = true});
  }
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {1, 1, 6});
  expect_near(
      [](const Tensors& t) {
        return Tensors{interpolate(t[0], {.size = {4}, .mode = Mode::area})};
      },
      {x}, {1, 1, 4}, {1.5F, 2.5F, 4.5F, 5.5F});
}

TEST(Interpolate, SaysWhatDoesNotFit) {
  Tensor x = zeros({1, 1, 4, 4});
  auto error = [&](const InterpolateOptions& options) {
    return error_of([&] { interpolate(x, options); });
  };
  expect_contains(error({}), "there must be either of them");
  expect_contains(error({.size = {2}, .scale_factor = {2}}), "there must be either of them");
  expect_contains(error({.size = {2, 2, 2}}), "there are 3 sizes for 2 axes");
  expect_contains(error({.size = {0}}), "no size may be 0");
  expect_contains(error({.scale_factor = {2, 2, 2}}), "there are 3 factors for 2 axes");
  expect_contains(error({.scale_factor = {0.1}}), "the factor of axis 2 is 0.1");
  expect_contains(error({.size = {2}, .mode = Mode::linear}), "it must have 3 to 3 axes");
  expect_contains(error({.size = {2}, .align_corners = true}), "only linear and cubic modes");
  expect_contains(error({.size = {2}, .antialias = true}), "bilinear and bicubic modes alone");
  x = x.to(i64);
  expect_contains(error({.size = {2}, .mode = Mode::bilinear}), "it must be floating");
}

// From PyTorch 2.15: of two axes the factor does not count where the size stays or doubles.
TEST(Interpolate, NearestElementsFollowTheFactor) {
  for (int axes : {1, 2, 3}) {
    Shape sizes(static_cast<std::size_t>(axes + 2), 1);
    sizes[-1] = 5;
    Tensor x = arange(0, 5).to(f32).reshape(sizes);
    auto nearest = [&](double factor) {
      std::vector<double> factors(static_cast<std::size_t>(axes), 1);
      factors.back() = factor;
      return interpolate(x, {.scale_factor = factors}).to_vector<float>();
    };
    using Floats = std::vector<float>;
    EXPECT_EQ(nearest(1.1), axes == 2 ? Floats({0, 1, 2, 3, 4}) : Floats({0, 0, 1, 2, 3}));
    EXPECT_EQ(nearest(2.1), axes == 2 ? Floats({0, 0, 1, 1, 2, 2, 3, 3, 4, 4})
                                      : Floats({0, 0, 0, 1, 1, 2, 2, 3, 3, 4}));
  }
}

}  // namespace
}  // namespace tilewright::interpolate_test
