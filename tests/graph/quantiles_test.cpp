// Quantiles, runs of equal elements and histograms between edges, by hand and against loops.
#include "graph/functions/ordering/quantiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "graph/compile/compile.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/histograms.h"
#include "graph/functions/ordering/runs.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::quantiles_test {
namespace {

using testing_loops::expect_at_once_and_compiled;
using testing_loops::Floats;
using testing_loops::Integers;
using testing_loops::Tensors;

const float none = std::nanf("");

TEST(Quantiles, LieBetweenTwoElements) {
  const Tensor x = Tensor::from(Floats{3, 1, 2, 10}, {4});
  using enum QuantileInterpolation;
  for (const auto& [way, wanted] :
       {std::pair{linear, 1.9F}, {lower, 1.0F}, {higher, 2.0F}, {nearest, 2.0F}, {midpoint, 1.5F}})
    EXPECT_NEAR(quantile(x, 0.3, {.interpolation = way}).item<float>(), wanted, 1e-6F);
  const Tensor q = Tensor::from(Floats{0, 0.5F, 1}, {3});
  EXPECT_EQ(quantile(x, q).to_vector<float>(), (Floats{1, 2.5F, 10}));
}

TEST(Quantiles, ArePerRowWhereAnAxisIsNamed) {
  const Tensor x = Tensor::from(Floats{4, 1, 2, 3, none, 5}, {2, 3});
  expect_at_once_and_compiled(
      [](const Tensors& t) -> Tensors {
        const Tensor q = t[1];
        return {quantile(t[0], q, {.axis = 0}), nanquantile(t[0], q, {.axis = -1}),
                quantile(t[0], 0.5, {.axis = 1, .keep_dims = true}),
                nanquantile(t[0], 1.0, {.keep_dims = true})};
      },
      {x, Tensor::from(Floats{0, 0.5F}, {2})},
      [](const Tensors& got) {
        EXPECT_EQ(got[0].shape(), (Shape{2, 3}));
        const Floats rows = got[0].to_vector<float>();
        EXPECT_EQ(rows[0], 3);
        EXPECT_TRUE(std::isnan(rows[1]));
        EXPECT_EQ(rows[5], 3.5F);
        EXPECT_EQ(got[1].to_vector<float>(), (Floats{1, 3, 2, 4}));
        EXPECT_EQ(got[2].shape(), (Shape{2, 1}));
        EXPECT_EQ(got[2].to_vector<float>()[0], 2);
        EXPECT_EQ(got[3].shape(), (Shape{1, 1}));
        EXPECT_EQ(got[3].to_vector<float>()[0], 5);
      });
}

TEST(Quantiles, RefuseWhatIsNoProbability) {
  const Tensor x = zeros({2, 3});
  expect_contains(error_of([&] { quantile(x, 1.5); }), "[quantile] q is 1.5");
  expect_contains(error_of([&] { nanquantile(x, x); }), "[nanquantile] q is [2x3]");
  expect_contains(error_of([&] { quantile(x.to(i64), 0.5); }), "[quantile] x is i64");
  expect_contains(error_of([&] { quantile(zeros({0}), 0.5); }),
                  "[quantile] the axis has no elements");
  expect_contains(error_of([&] { quantile(x, 0.5, {.axis = 2}); }), "[quantile]");
}

TEST(Runs, OfEqualNeighboursAreOne) {
  const Tensor x = Tensor::from(Integers{1, 1, 2, 2, 2, 1}, {2, 3});
  const UniqueResult all = unique_consecutive(x);
  EXPECT_EQ(all.values.to_vector<std::int64_t>(), (Integers{1, 2, 1}));
  EXPECT_EQ(all.inverse.shape(), (Shape{2, 3}));
  EXPECT_EQ(all.inverse.to_vector<std::int64_t>(), (Integers{0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(all.counts.to_vector<std::int64_t>(), (Integers{2, 3, 1}));
  const Tensor rows = Tensor::from(Integers{1, 1, 1, 1, 2, 2}, {3, 2});
  const UniqueResult of_rows = unique_consecutive(rows, 0);
  EXPECT_EQ(of_rows.values.to_vector<std::int64_t>(), (Integers{1, 1, 2, 2}));
  EXPECT_EQ(of_rows.counts.to_vector<std::int64_t>(), (Integers{2, 1}));
  EXPECT_EQ(unique_consecutive(rows, -1).values.shape(), (Shape{3, 1}));
  EXPECT_EQ(unique_consecutive(zeros({0})).values.shape(), Shape{0});
  expect_contains(error_of([&] { unique_consecutive(rows, 2); }), "[unique_consecutive]");
}

TEST(Runs, OfSortedElementsAreUnique) {
  const Tensor x = Tensor::from(Integers{3, 1, 3, 2}, {2, 2});
  const UniqueResult all = unique(x);
  EXPECT_EQ(all.values.to_vector<std::int64_t>(), (Integers{1, 2, 3}));
  EXPECT_EQ(all.inverse.to_vector<std::int64_t>(), (Integers{2, 0, 2, 1}));
  EXPECT_EQ(all.counts.to_vector<std::int64_t>(), (Integers{1, 1, 2}));
}

// torch.unique(x, dim=..) in PyTorch 2.15.
TEST(Runs, OfSortedSlicesAreUnique) {
  const Tensor x = Tensor::from(Integers{1, 2, 0, 1, 0, 3, 1, 2, 0, 0, 5, 1}, {4, 3});
  const UniqueResult rows = unique(x, 0), columns = unique(x, -1);
  EXPECT_EQ(rows.values.shape(), (Shape{3, 3}));
  EXPECT_EQ(rows.values.to_vector<std::int64_t>(), (Integers{0, 5, 1, 1, 0, 3, 1, 2, 0}));
  EXPECT_EQ(rows.inverse.to_vector<std::int64_t>(), (Integers{2, 1, 2, 0}));
  EXPECT_EQ(rows.counts.to_vector<std::int64_t>(), (Integers{1, 1, 2}));
  EXPECT_EQ(columns.values.to_vector<std::int64_t>(),
            (Integers{0, 1, 2, 3, 1, 0, 0, 1, 2, 1, 0, 5}));
  EXPECT_EQ(columns.inverse.to_vector<std::int64_t>(), (Integers{1, 2, 0}));
  EXPECT_EQ(columns.counts.to_vector<std::int64_t>(), (Integers{1, 1, 1}));
  EXPECT_EQ(unique(x.select(1, 0), 0).values.to_vector<std::int64_t>(), (Integers{0, 1}));
  EXPECT_EQ(unique(zeros({0, 3}), 0).values.shape(), (Shape{0, 3}));
  expect_contains(error_of([] {
                    unique(zeros({3, 0}), 0);
                  }),
                  "[unique] slices of 3x0 along axis 0 have no elements");
  expect_contains(error_of([&] { unique(x, 2); }), "[unique] axis 2 is outside");
  // PyTorch leaves the order of slices with NaNs open.
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const UniqueResult with_nan =
      unique(Tensor::from(Floats{nan, 1, 2, nan, nan, 1, -0.0F, 3, 0, 3}, {5, 2}), 0);
  EXPECT_EQ(with_nan.values.shape(), (Shape{4, 2}));
  EXPECT_EQ(with_nan.inverse.to_vector<std::int64_t>(), (Integers{2, 1, 3, 0, 0}));
}

// Against a sorted list of the slices.
TEST(Runs, OfManySlicesAreUniqueAsInAList) {
  std::mt19937_64 chance(3);
  for (const Shape& shape : {Shape{200, 1, 7}, Shape{3, 90, 4}, Shape{5, 64}, Shape{1, 6}}) {
    std::vector<std::int32_t> elements(static_cast<std::size_t>(element_count(shape)));
    for (std::int32_t& element : elements) element = static_cast<std::int32_t>(chance() % 3) - 1;
    const Tensor x = Tensor::from(elements, shape);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      SCOPED_TRACE(concat(shape, " along ", axis));
      const std::int64_t size = shape[axis];
      std::vector<std::vector<std::int32_t>> slices;
      for (std::int64_t i = 0; i < size; ++i)
        slices.push_back(x.select(axis, i).to_vector<std::int32_t>());
      std::map<std::vector<std::int32_t>, std::int64_t> counted;
      for (const auto& slice : slices) ++counted[slice];
      const UniqueResult found = unique(x, axis);
      ASSERT_EQ(found.values.size(axis), std::ssize(counted));
      std::int64_t place = 0;
      for (const auto& [slice, count] : counted) {
        EXPECT_EQ(found.values.select(axis, place).to_vector<std::int32_t>(), slice);
        EXPECT_EQ(found.counts.to_vector<std::int64_t>()[static_cast<std::size_t>(place)], count);
        ++place;
      }
      const Tensor again = index_select(found.values, axis, found.inverse);
      EXPECT_EQ(again.to_vector<std::int32_t>(), elements);
    }
  }
}

TEST(Runs, TheLongestIsTheMode) {
  const Tensor x = Tensor::from(Integers{5, 2, 2, 5, 1, 7, 7, 9, 9, 9}, {2, 5});
  expect_at_once_and_compiled(
      [](const Tensors& t) -> Tensors {
        auto [value, place] = mode(t[0], 1);
        return {value, place, mode(t[0], 1, true).first};
      },
      {x},
      [](const Tensors& got) {
        EXPECT_EQ(got[0].to_vector<std::int64_t>(), (Integers{2, 9}));
        EXPECT_EQ(got[1].to_vector<std::int64_t>(), (Integers{2, 4}));
        EXPECT_EQ(got[2].shape(), (Shape{2, 1}));
      });
  EXPECT_EQ(mode(full({}, 3.0)).first.item<float>(), 3);
  expect_contains(error_of([] { mode(zeros({2, 0})); }), "[mode] the axis has no elements");
}

TEST(HistogramsOfAxes, CountBetweenEdgesOfEach) {
  const Tensor points = Tensor::from(Floats{0, 0, 1, 1, 2, 4, 0.5F, 3, 9, 0}, {5, 2});
  const Tensor edges[] = {Tensor::from(Floats{0, 1, 2}, {3}), Tensor::from(Floats{0, 2, 4}, {3})};
  expect_at_once_and_compiled(
      [](const Tensors& t) -> Tensors {
        return {histogramdd(t[0], std::vector{t[1], t[2]}).counts,
                histogramdd(t[0], std::vector{t[1], t[2]}, {.density = true}).counts,
                histogram(t[0], t[1])};
      },
      {points, edges[0], edges[1]},
      [](const Tensors& got) {
        EXPECT_EQ(got[0].to_vector<float>(), (Floats{1, 1, 1, 1}));  // 9 is in none
        EXPECT_EQ(got[1].to_vector<float>(), Floats(4, 0.125F));
        EXPECT_EQ(got[2].to_vector<float>(), (Floats{4, 3}));
      });
  const HistogramOfAxes even = histogramdd(points, Shape{2, 1}, {.ranges = {{0, 2}, {0, 4}}});
  EXPECT_EQ(even.edges[0].to_vector<float>(), (Floats{0, 1, 2}));
  EXPECT_EQ(even.counts.to_vector<float>(), (Floats{2, 2}));
  EXPECT_EQ(histogram(points, edges[1], full({10}, 2.0)).to_vector<float>(), (Floats{12, 6}));
}

TEST(HistogramsOfAxes, RefuseOtherNumbersOfAxes) {
  const Tensor points = zeros({5, 2}), edges = Tensor::from(Floats{0, 1}, {2});
  expect_contains(error_of([&] { histogramdd(points, Shape{2}); }),
                  "[histogramdd] the bins are [2]");
  expect_contains(error_of([&] { histogramdd(points, std::vector{edges}); }),
                  "[histogramdd] edges of 1 axes");
  expect_contains(error_of([&] { histogramdd(zeros({5}), Shape{2}); }),
                  "[histogramdd] the points are f32 [5]");
  expect_contains(error_of([&] {
                    histogramdd(points, Shape{2, 2}, {.ranges = {{0, 1}}});
                  }),
                  "[histogramdd] 1 ranges");
  expect_contains(error_of([&] { histogram(points, zeros({1})); }), "[histogram] edges are [1]");
  expect_contains(error_of([&] { histogram(points, edges, zeros({3})); }),
                  "[histogram] the weight is [3], of 10 points");
}

}  // namespace
}  // namespace tilewright::quantiles_test
