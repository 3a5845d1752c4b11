// Elements at positions that are data, at once and compiled, against loops over single elements.
#include "graph/functions/resampling/grid_sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::grid_sample_test {
namespace {

using namespace testing_loops;

// One axis, as PyTorch's documentation says how positions become elements.
struct Axis {
  double size;
  GridSampleOptions options;

  double position(double x) const {
    return options.align_corners ? (x + 1) / 2 * (size - 1) : ((x + 1) * size - 1) / 2;
  }
  double inside(double x) const {
    if (options.padding == SamplePadding::zeros) return x;
    if (options.padding == SamplePadding::reflection) {
      const double low = options.align_corners ? 0 : -0.5,
                   high = options.align_corners ? size - 1 : size - 0.5;
      if (low == high) return 0;
      while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
    }
    return std::min(std::max(x, 0.0), size - 1);
  }
  // Elements and weights.
  std::vector<std::pair<double, double>> taps(double x) const {
    double at = position(x);
    if (options.mode != SampleMode::bicubic) at = inside(at);
    if (options.mode == SampleMode::nearest) return {{std::nearbyint(at), 1}};
    const double below = std::floor(at), share = at - below;
    if (options.mode == SampleMode::bilinear) return {{below, 1 - share}, {below + 1, share}};
    std::vector<std::pair<double, double>> taps;
    for (int k = -1; k <= 2; ++k) {
      const double a = -0.75, d = std::abs(share - k);
      taps.emplace_back(inside(below + k), d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1
                                                  : a * (d * d * d - 5 * d * d + 8 * d - 4));
    }
    return taps;
  }
};

Floats wanted(const Tensor& x, const Tensor& grid, const GridSampleOptions& options,
              const Shape& result) {
  const Shape &sizes = x.shape(), &points = grid.shape();
  Floats of_x = x.to_vector<float>(), positions = grid.to_vector<float>();
  const auto axes = static_cast<std::size_t>(sizes.rank()) - 2;
  return elements<float>(result, [&](const Place& at) {
    std::vector<std::vector<std::pair<double, double>>> taps;
    Place point = at;
    point.erase(point.begin() + 1);
    for (std::size_t i = 0; i < axes; ++i) {
      Place coordinate = point;
      coordinate.push_back(static_cast<std::int64_t>(axes - 1 - i));
      Axis axis{static_cast<double>(sizes[static_cast<int>(i) + 2]), options};
      taps.push_back(axis.taps(static_cast<double>(positions[number_of(points, coordinate)])));
    }
    double total = 0;
    Shape choices;
    for (const auto& axis : taps) choices.push_back(std::ssize(axis));
    for_each_place(choices, [&](const Place& choice) {
      Place from = {at[0], at[1]};
      double weight = 1;
      for (std::size_t i = 0; i < axes; ++i) {
        auto [place, share] = taps[i][static_cast<std::size_t>(choice[i])];
        if (!(place >= 0 && place < static_cast<double>(sizes[static_cast<int>(i) + 2]))) return;
        from.push_back(static_cast<std::int64_t>(place));
        weight *= share;
      }
      total += weight * static_cast<double>(of_x[number_of(sizes, from)]);
    });
    return static_cast<float>(total);
  });
}

TEST(GridSample, TakesElementsAtPositions) {
  Dice dice(1);
  for (bool is_volume : {false, true})
    for (SampleMode mode : {SampleMode::bilinear, SampleMode::nearest, SampleMode::bicubic})
      for (SamplePadding padding :
           {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection})
        for (bool align : {false, true}) {
          const GridSampleOptions options{mode, padding, align};
          SCOPED_TRACE(concat(static_cast<int>(mode), " ", static_cast<int>(padding), align));
          Tensor x = dice.floats(is_volume ? Shape{2, 2, 3, 4, 2} : Shape{2, 3, 4, 5});
          Tensor grid = dice.floats(is_volume ? Shape{2, 2, 2, 3, 3} : Shape{2, 3, 4, 2}) * 2.3;
          const Shape result = is_volume ? Shape{2, 2, 2, 2, 3} : Shape{2, 3, 3, 4};
          expect_near(
              [&options](const Tensors& t) { return Tensors{grid_sample(t[0], t[1], options)}; },
              {x, grid}, result, wanted(x, grid, options, result), 1e-4F);
        }
}

TEST(GridSample, ReadsNothingOutside) {
  const float none = std::numeric_limits<float>::quiet_NaN(),
              infinite = std::numeric_limits<float>::infinity();
  Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {1, 1, 2, 2});
  Tensor grid = Tensor::from(Floats{none, 0, infinite, 0, 3e30F, 0, -0.5F, -0.5F}, {1, 1, 4, 2});
  auto sampled = [](SampleMode mode, SamplePadding padding) {
    return [mode, padding](const Tensors& t) {
      return Tensors{grid_sample(t[0], t[1], {.mode = mode, .padding = padding})};
    };
  };
  expect_equal<float>(sampled(SampleMode::nearest, SamplePadding::zeros), {x, grid}, {1, 1, 1, 4},
                      {0, 0, 0, 1});
  expect_equal<float>(sampled(SampleMode::bilinear, SamplePadding::border), {x, grid}, {1, 1, 1, 4},
                      {2, 3, 3, 1});
}

TEST(GridSample, SaysWhatDoesNotFit) {
  Tensor x = zeros({1, 2, 3, 3}), grid = zeros({1, 4, 4, 2});
  expect_contains(error_of([&] { grid_sample(zeros({1, 2}), grid); }), "four or five axes");
  expect_contains(error_of([&] { grid_sample(x, zeros({2, 4, 4, 2})); }), "x's first");
  expect_contains(error_of([&] { grid_sample(x, zeros({1, 4, 4, 3})); }), "2 coordinates");
  expect_contains(error_of([&] { grid_sample(x, grid.to(f64)); }), "one floating dtype");
  expect_contains(error_of([&] { grid_sample(zeros({1, 2, 0, 3}), grid); }), "must have elements");
}

TEST(AffineGrid, MultipliesPositions) {
  Tensor theta = Tensor::from(Floats{2, 0, 0.5F, 0, -1, 0}, {1, 2, 3});
  expect_near(
      [](const Tensors& t) {
        return Tensors{affine_grid(t[0], {1, 1, 2, 3}, true)};
      },
      {theta}, {1, 2, 3, 2}, {-1.5F, 1, 0.5F, 1, 2.5F, 1, -1.5F, -1, 0.5F, -1, 2.5F, -1});
  expect_near(
      [](const Tensors& t) {
        return Tensors{affine_grid(t[0], {1, 1, 2, 1})};
      },
      {theta}, {1, 2, 1, 2}, {0.5F, 0.5F, 0.5F, -0.5F});
  Dice dice(3);
  Tensor volume = dice.floats({2, 3, 4});
  Floats of_theta = volume.to_vector<float>();
  const Shape result = {2, 2, 3, 2, 3};
  expect_near(
      [](const Tensors& t) {
        return Tensors{affine_grid(t[0], {2, 1, 2, 3, 2})};
      },
      {volume}, result, elements<float>(result, [&](const Place& at) {
        const auto row = static_cast<std::size_t>(at[0] * 12 + at[4] * 4);
        auto middle = [](std::int64_t i, float n) {
          return (2 * static_cast<float>(i) + 1) / n - 1;
        };
        return middle(at[3], 2) * of_theta[row] + middle(at[2], 3) * of_theta[row + 1] +
               middle(at[1], 2) * of_theta[row + 2] + of_theta[row + 3];
      }));
  expect_contains(error_of([&] { affine_grid(theta, {1, 2}); }), "four or five");
  expect_contains(error_of([&] { affine_grid(theta, {1, 1, 0, 2}); }), "they must be positive");
  expect_contains(error_of([&] { affine_grid(theta, {2, 1, 2, 2}); }), "2x2x3");
}

}  // namespace
}  // namespace tilewright::grid_sample_test
