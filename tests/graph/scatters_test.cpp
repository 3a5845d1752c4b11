// Scatters that reduce against loops over their elements, at once and compiled.
#include "graph/functions/indexing/scatters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "graph/compile/compile.h"
#include "graph/functions/indexing/gathering.h"
#include "runtime/base/half.h"
#include "runtime/cpu/parallel.h"
#include "tests/errors.h"

namespace tilewright::scatters_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Reduction = ScatterReduction;

constexpr Reduction reductions[] = {Reduction::sum, Reduction::prod, Reduction::mean,
                                    Reduction::amax, Reduction::amin};

Options fullgraph() {
  Options options;
  options.fullgraph = true;
  return options;
}

// Small whole numbers, so that no order of sums makes a difference in f32, but for some halves.
Floats values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  Floats result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(static_cast<float>(static_cast<int>(engine() % 9) - 4) / 2);
  return result;
}
Integers numbers(std::int64_t count, std::int64_t below, unsigned seed) {
  std::mt19937 engine(seed);
  Integers result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(static_cast<std::int64_t>(engine()) % below);
  return result;
}

float joined(float a, float b, Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean: return a + b;
    case Reduction::prod: return a * b;
    case Reduction::amax: return std::max(a, b);
    case Reduction::amin: return std::min(a, b);
  }
  __builtin_unreachable();
}

// The order and the places of joined elements.
struct Joins {
  std::vector<std::size_t> to, from;
};
Floats looped(Floats x, const Floats& source, const Joins& joins, Reduction reduction,
              bool include_self) {
  std::vector<int> counts(x.size(), include_self ? 1 : 0);
  for (std::size_t i = 0; i < joins.to.size(); ++i) {
    float& at = x[joins.to[i]];
    const float next = source[joins.from[i]];
    at = counts[joins.to[i]]++ == 0 ? next : joined(at, next, reduction);
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    if (reduction == Reduction::mean && counts[i] > 0) x[i] /= static_cast<float>(counts[i]);
  return x;
}

// Joins for shapes [a, b, c]: where the elements of the index go along the axis.
Joins joins_of(const Shape& x, const Shape& source, const Shape& index, const Integers& rows,
               int axis) {
  Joins joins;
  std::size_t number = 0;
  for (std::int64_t i = 0; i < index[0]; ++i)
    for (std::int64_t k = 0; k < index[1]; ++k)
      for (std::int64_t m = 0; m < index[2]; ++m) {
        std::int64_t at[3] = {i, k, m};
        joins.from.push_back(static_cast<std::size_t>((i * source[1] + k) * source[2] + m));
        at[axis] = rows[number++];
        joins.to.push_back(static_cast<std::size_t>((at[0] * x[1] + at[1]) * x[2] + at[2]));
      }
  return joins;
}

TEST(Scatters, AreThoseOfALoopAlongEachAxis) {
  const Shape x = {4, 5, 37}, source = {7, 6, 40};
  for (int axis = 0; axis < 3; ++axis) {
    Shape index = {3, 4, 35};
    index[axis] = source[axis];
    const Integers rows = numbers(element_count(index), x[axis], 3);
    const Floats to = values(element_count(x), 1), from = values(element_count(source), 2);
    const Joins joins = joins_of(x, source, index, rows, axis);
    for (Reduction reduction : reductions)
      for (bool include_self : {true, false}) {
        auto function = [&](const Tensor& a, const Tensor& i, const Tensor& b) {
          return scatter_reduce(a, axis - 3, i, b, reduction, include_self);
        };
        Tensor a = Tensor::from(to, x), b = Tensor::from(from, source);
        Tensor i = Tensor::from(rows, index);
        const Floats wanted = looped(to, from, joins, reduction, include_self);
        EXPECT_EQ(function(a, i, b).to_vector<float>(), wanted) << axis;
        EXPECT_EQ(compile(function, fullgraph())(a, i, b).to_vector<float>(), wanted) << axis;
      }
  }
}

TEST(Scatters, OfSlicesAreThoseOfALoop) {
  const Shape x = {4, 5, 37};
  for (int axis = 0; axis < 3; ++axis) {
    Shape source = x;
    source[axis] = 9;
    const Integers rows = numbers(9, x[axis], 5);
    Integers all;
    for (std::int64_t i = 0; i < element_count(source); ++i) {
      const std::int64_t at[3] = {i / (source[1] * source[2]), i / source[2] % source[1],
                                  i % source[2]};
      all.push_back(rows[static_cast<std::size_t>(at[axis])]);
    }
    const Floats to = values(element_count(x), 1), from = values(element_count(source), 2);
    const Joins joins = joins_of(x, source, source, all, axis);
    Tensor a = Tensor::from(to, x), b = Tensor::from(from, source), i = Tensor::from(rows, {9});
    for (Reduction reduction : reductions)
      for (bool include_self : {true, false}) {
        auto function = [&](const Tensor& t, const Tensor& r, const Tensor& s) {
          return index_reduce(t, axis, r, s, reduction, include_self);
        };
        const Floats wanted = looped(to, from, joins, reduction, include_self);
        EXPECT_EQ(function(a, i, b).to_vector<float>(), wanted) << axis;
        EXPECT_EQ(compile(function, fullgraph())(a, i, b).to_vector<float>(), wanted) << axis;
      }
    auto twice = [&](const Tensor& t, const Tensor& r, const Tensor& s) {
      return index_add(t, axis, r.to(i32), s, 2);
    };
    Floats doubled = from;
    for (float& f : doubled) f *= 2;
    const Floats wanted = looped(to, doubled, joins, Reduction::sum, true);
    EXPECT_EQ(twice(a, i, b).to_vector<float>(), wanted);
    EXPECT_EQ(compile(twice, fullgraph())(a, i, b).to_vector<float>(), wanted);
  }
}

// As the rows of a graph's nodes join along its edges, times a weight per edge: the source of the
// rows is read in place, in any layout.
TEST(Scatters, OfGatheredRowsAreThoseOfALoop) {
  const std::int64_t nodes = 11, edges = 60;
  const Integers from = numbers(edges, nodes, 3), to = numbers(edges, nodes, 4);
  const Floats weights = values(edges, 5);
  Tensor a = Tensor::from(from, {edges}), b = Tensor::from(to, {edges}),
         each = Tensor::from(weights, {edges, 1});
  for (std::int64_t width : {1, 7, 8, 33, 200, 1100}) {
    const Floats x = values(nodes * width, 1);
    Floats wanted(x.size()), differences(x.size());
    for (std::size_t i = 0; i < from.size(); ++i)
      for (std::int64_t k = 0; k < width; ++k) {
        const float one = x[static_cast<std::size_t>(from[i] * width + k)];
        const auto place = static_cast<std::size_t>(to[i] * width + k);
        wanted[place] += one * weights[i];
        differences[place] += one - x[place];
      }
    auto weighted = [&](const Tensor& t, const Tensor& w) {
      return index_add(zeros({nodes, width}), 0, b, index_select(t, 0, a) * w);
    };
    auto of_differences = [&](const Tensor& t, const Tensor&) {
      return index_add(zeros({nodes, width}), 0, b, index_select(t, 0, a) - index_select(t, 0, b));
    };
    Tensor rows = Tensor::from(x, {nodes, width});
    Tensor turned = rows.transpose(0, 1).clone().transpose(0, 1);
    Tensor apart = cat({rows, rows}, 1).slice(1, width, 2 * width);
    for (const Tensor& t : {rows, turned, apart}) {
      EXPECT_EQ(compile(weighted, fullgraph())(t, each).to_vector<float>(), wanted) << width;
      EXPECT_EQ(compile(of_differences, fullgraph())(t, each).to_vector<float>(), differences);
    }
  }
}

// Rows that a tensor gives to itself are those that it had before.
TEST(Scatters, OfRowsOfTheTargetReadWhatWasThere) {
  const Shape sizes = {6, 16};
  const Floats x = values(element_count(sizes), 1);
  const Integers from = numbers(20, 6, 2), to = numbers(20, 6, 3);
  Floats wanted = x;
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::int64_t k = 0; k < 16; ++k)
      wanted[static_cast<std::size_t>(to[i] * 16 + k)] +=
          x[static_cast<std::size_t>(from[i] * 16 + k)];
  Tensor a = Tensor::from(from, {20}), b = Tensor::from(to, {20});
  auto function = [&](Tensor t) {
    t.copy_from(index_add(t, 0, b, index_select(t, 0, a)));
    return t * 2;
  };
  Tensor changed = Tensor::from(x, sizes);
  compile(function, fullgraph())(changed);
  EXPECT_EQ(changed.to_vector<float>(), wanted);
}

// The order is that of the sources, also where many programs run.
TEST(Scatters, AddInTheOrderOfTheSources) {
  std::mt19937 engine(7);
  constexpr std::int64_t rows = 13, sources = 4000, columns = 70;
  Floats from;
  for (std::int64_t i = 0; i < sources * columns; ++i)
    from.push_back(std::ldexp(static_cast<float>(engine() % 1000) - 500, engine() % 20));
  const Integers index = numbers(sources, rows, 8);
  Floats wanted(rows * columns);
  for (std::size_t i = 0; i < sources; ++i)
    for (std::size_t c = 0; c < columns; ++c)
      wanted[static_cast<std::size_t>(index[i]) * columns + c] += from[i * columns + c];
  auto function = [&](const Tensor& i, const Tensor& s) {
    return index_add(zeros({rows, columns}), 0, i, s);
  };
  Tensor i = Tensor::from(index, {sources}), s = Tensor::from(from, {sources, columns});
  EXPECT_EQ(function(i, s).to_vector<float>(), wanted);
  EXPECT_EQ(compile(function, fullgraph())(i, s).to_vector<float>(), wanted);
}

// Few rows of many sources are dealt out to copies, whose outcome does not depend on how many there
// are where no element is rounded.
TEST(Scatters, OfManySourcesAreThoseOfALoop) {
  struct ThreadCount {
    explicit ThreadCount(int count) : before(thread_count()) { set_thread_count(count); }
    ~ThreadCount() { set_thread_count(before); }
    int before;
  };
  constexpr Reduction sums[] = {Reduction::sum, Reduction::amax, Reduction::amin};
  for (std::int64_t sources : {255, 256, 1003, 40001})
    for (std::int64_t rows : {1, 3, 129})
      for (std::int64_t columns : {1, 5}) {
        const Integers index = numbers(sources, rows, 11);
        const Floats to = values(rows * columns, 1), from = values(sources * columns, 2);
        Joins joins;
        for (std::int64_t i = 0; i < sources * columns; ++i) {
          joins.from.push_back(static_cast<std::size_t>(i));
          joins.to.push_back(static_cast<std::size_t>(
              index[static_cast<std::size_t>(i / columns)] * columns + i % columns));
        }
        Tensor i = Tensor::from(index, {sources}), s = Tensor::from(from, {sources, columns}),
               x = Tensor::from(to, {rows, columns});
        for (Reduction reduction : sums) {
          const Floats wanted = looped(to, from, joins, reduction, true);
          for (int threads : {1, 3}) {
            ThreadCount set(threads);
            Compiled f = compile(
                [&](const Tensor& a, const Tensor& n, const Tensor& b) {
                  return reduction == Reduction::sum ? index_add(a, 0, n, b)
                                                     : index_reduce(a, 0, n, b, reduction);
                },
                fullgraph());
            ASSERT_EQ(f(x, i, s).to_vector<float>(), wanted)
                << sources << " " << rows << " " << columns << " " << threads;
            ASSERT_EQ(f(x, i, s).to_vector<float>(), wanted);
          }
        }
      }
}

TEST(Scatters, CopiesOfProductsWrapAsOne) {
  constexpr std::int64_t sources = 50000;
  const Integers index = numbers(sources, 7, 12);
  Integers from(sources), wanted(7, 3);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<std::int64_t>(2 * i + 1);
    auto& at = wanted[static_cast<std::size_t>(index[i])];
    at = static_cast<std::int64_t>(static_cast<std::uint64_t>(at) *
                                   static_cast<std::uint64_t>(from[i]));
  }
  Tensor x = full({7}, std::int64_t{3}, i64), s = Tensor::from(from, {sources});
  auto function = [&](const Tensor& n) { return index_reduce(x, 0, n, s, Reduction::prod); };
  EXPECT_EQ(
      compile(function, fullgraph())(Tensor::from(index, {sources})).to_vector<std::int64_t>(),
      wanted);
  // A row outside is none, of any copy.
  Options unchecked = fullgraph();
  unchecked.index_checks = IndexChecks::none;
  Integers outside = index;
  for (std::int64_t& row : outside) row += row % 2 == 0 ? 700 : -700;
  EXPECT_EQ(
      compile(function, unchecked)(Tensor::from(outside, {sources})).to_vector<std::int64_t>(),
      Integers(7, 3));
}

TEST(Scatters, OfIntegersWrapAndMeansOfThemAreRoundedDown) {
  Tensor x = Tensor::from(Integers{INT64_MAX, -3, 5}, {3});
  Tensor index = Tensor::from(Integers{0, 1, 1, 1}, {4});
  Tensor source = Tensor::from(Integers{1, -1, -1, -2}, {4});
  EXPECT_EQ(scatter_add(x, 0, index, source).to_vector<std::int64_t>(),
            (Integers{INT64_MIN, -7, 5}));
  EXPECT_EQ(scatter_reduce(x, 0, index, source, Reduction::mean, false).to_vector<std::int64_t>(),
            (Integers{1, -2, 5}));
  EXPECT_EQ(scatter_reduce(x, 0, index, source, Reduction::amax, false).to_vector<std::int64_t>(),
            (Integers{1, -1, 5}));
}

TEST(Scatters, OfBoolAreOrAndAnd) {
  Tensor x = Tensor::from(Floats{0, 1, 0, 1}, {4}).to(DType::boolean);
  Tensor index = Tensor::from(Integers{0, 1, 2, 2}, {4});
  Tensor source = Tensor::from(Floats{1, 0, 0, 0}, {4}).to(DType::boolean);
  EXPECT_EQ(scatter_add(x, 0, index, source).to(f32).to_vector<float>(), (Floats{1, 1, 0, 1}));
  EXPECT_EQ(scatter_reduce(x, 0, index, source, Reduction::prod).to(f32).to_vector<float>(),
            (Floats{0, 0, 0, 1}));
  expect_contains(error_of([&] { scatter_reduce(x, 0, index, source, Reduction::mean); }),
                  "[scatter_reduce] the mean of bool");
}

// Sums of 16 bits are carried in f32 by scatters, and rounded each time by those of slices.
TEST(Scatters, OfSixteenBitsAreRoundedAsPyTorchDoes) {
  Tensor x = Tensor::from(Floats{256}, {1}).to(DType::bf16);
  Tensor index = Tensor::from(Integers{0, 0}, {2}), source = ones({2}, DType::bf16);
  EXPECT_EQ(scatter_add(x, 0, index, source).to(f32).to_vector<float>(), (Floats{258}));
  EXPECT_EQ(index_add(x, 0, index, source).to(f32).to_vector<float>(), (Floats{256}));
  EXPECT_EQ(put(x, index, source, true).to(f32).to_vector<float>(), (Floats{256}));
}

// Also where many join one element, each time rounded.
TEST(Scatters, OfSixteenBitsKeepTheOrderOfManySources) {
  constexpr std::int64_t sources = 2000;
  Floats from = values(sources, 5);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] += static_cast<float>(i % 7) / 16;
  const Tensor source = Tensor::from(from, {sources}).to(bf16);
  const Integers index = numbers(sources, 3, 6);
  Floats wanted(3);
  const Floats rounded = source.to(f32).to_vector<float>();
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    float& at = wanted[static_cast<std::size_t>(index[i])];
    at = Tensor::scalar(at + rounded[i]).to(bf16).to(f32).item<float>();
  }
  auto function = [&](const Tensor& i, const Tensor& s) {
    return index_add(zeros({3}, bf16), 0, i, s).to(f32);
  };
  EXPECT_EQ(
      compile(function, fullgraph())(Tensor::from(index, {sources}), source).to_vector<float>(),
      wanted);
}

TEST(Scatters, ANotANumberWins) {
  Tensor x = Tensor::from(Floats{1, 2}, {2});
  Tensor index = Tensor::from(Integers{0, 0, 1}, {3});
  Tensor source = Tensor::from(Floats{std::nanf(""), 5, 7}, {3});
  for (Reduction reduction : {Reduction::amax, Reduction::amin}) {
    Floats got = scatter_reduce(x, 0, index, source, reduction).to_vector<float>();
    EXPECT_TRUE(std::isnan(got[0]));
    EXPECT_EQ(got[1], reduction == Reduction::amax ? 7 : 2);
  }
}

TEST(Scatters, OfTensorsWithoutAxesAndWithoutElements) {
  Tensor one = Tensor::from(Floats{2}, {}), zero = Tensor::from(Integers{0}, {});
  Tensor sum = scatter_add(one, 0, zero, Tensor::from(Floats{3}, {}));
  EXPECT_EQ(sum.shape(), Shape{});
  EXPECT_EQ(sum.item<float>(), 5);
  EXPECT_EQ(index_add(one, -1, Tensor::from(Integers{0}, {1}), Tensor::from(Floats{3}, {}), 4)
                .item<float>(),
            14);
  Tensor x = Tensor::from(Floats{1, 2}, {2});
  Tensor same = scatter_add(x, 0, zeros({0}, i64), x);
  EXPECT_EQ(same.to_vector<float>(), (Floats{1, 2}));
  EXPECT_NE(same.const_data(), x.const_data());
  EXPECT_EQ(index_add(zeros({3, 0}), 0, Tensor::from(Integers{1}, {1}), zeros({1, 0})).shape(),
            (Shape{3, 0}));
}

TEST(Scatters, OfANumber) {
  auto function = [](const Tensor& x, const Tensor& i) {
    return scatter(scatter(x, 0, i, 2, Reduction::prod), 0, i, 0.5, Reduction::sum);
  };
  Tensor x = Tensor::from(Floats{1, 2, 3}, {3}), i = Tensor::from(Integers{2, 0, 2}, {3});
  EXPECT_EQ(function(x, i).to_vector<float>(), (Floats{2.5, 2, 13}));
  EXPECT_EQ(compile(function, fullgraph())(x, i).to_vector<float>(), (Floats{2.5, 2, 13}));
}

TEST(Scatters, PutCountsFromTheEndAndAddsWhereToldTo) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {2, 2});
  Tensor index = Tensor::from(Integers{-1, 0, -1}, {3});
  Tensor source = Tensor::from(Floats{10, 20, 30}, {3});
  auto adds = [](const Tensor& a, const Tensor& i, const Tensor& s) { return put(a, i, s, true); };
  EXPECT_EQ(adds(x, index, source).to_vector<float>(), (Floats{21, 2, 3, 44}));
  EXPECT_EQ(compile(adds, fullgraph())(x, index, source).to_vector<float>(),
            (Floats{21, 2, 3, 44}));
  Tensor two = index.slice(0, 0, 2);
  EXPECT_EQ(put(x, two, source.slice(0, 0, 2)).to_vector<float>(), (Floats{20, 2, 3, 10}));
}

// Elements are joined in the memory of an argument, without a copy, if the result replaces it.
TEST(Scatters, JoinInThePlaceOfAnArgument) {
  auto function = compile(
      [](const Tensor& x, const Tensor& i, const Tensor& s) {
        Tensor to = x;
        to.copy_from(index_add(to, 0, i, s));
        return sum(s);
      },
      fullgraph());
  Tensor x = Tensor::from(Floats{1, 2, 3}, {3}), i = Tensor::from(Integers{1, 1}, {2});
  Tensor s = Tensor::from(Floats{10, 20}, {2});
  function(x, i, s);
  function(x, i, s);
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 62, 3}));
}

TEST(Scatters, RefuseRowsOutside) {
  Tensor x = zeros({3, 2}), source = ones({1, 2});
  auto at = [&](std::int64_t row) { return Tensor::from(Integers{row}, {1}); };
  for (std::int64_t row : {-1, 3}) {
    expect_contains(error_of([&] { index_add(x, 0, at(row), source); }),
                    "is outside an axis of size 3");
    expect_contains(error_of([&] {
                      scatter_add(x, 0, at(row).reshape({1, 1}), source);
                    }),
                    "[scatter_add] row ");
    auto compiled = compile(
        [](const Tensor& a, const Tensor& i, const Tensor& s) { return index_add(a, 0, i, s); });
    expect_contains(error_of([&] { compiled(x, at(row), source); }),
                    "is outside an axis of size 3");
  }
  expect_contains(error_of([&] { put(x, at(6), ones({1})); }), "index 6 is outside 6 places");
}

TEST(Scatters, RefuseWhatDoesNotFit) {
  Tensor x = zeros({3, 2}), index = zeros({1, 2}, i64), source = ones({1, 2});
  expect_contains(error_of([&] { scatter_add(x, 0, index.to(f32), source); }),
                  "[scatter_add] the index is f32");
  expect_contains(error_of([&] { scatter_add(x, 0, index, source.to(f64)); }),
                  "[scatter_add] the tensor is f32, the source f64");
  expect_contains(error_of([&] {
                    scatter_add(x, 0, zeros({1, 3}, i64), ones({1, 3}));
                  }),
                  "the index must have as many axes as both");
  expect_contains(error_of([&] { scatter_add(x, 2, index, source); }), "[scatter_add] axis 2");
  expect_contains(error_of([&] { index_add(x, 0, zeros({2}, i64), source); }),
                  "[index_add] the tensor is");
  expect_contains(error_of([&] { scatter(x, 0, index, source, Reduction::mean); }),
                  "[scatter] the reduction is neither sum nor prod");
  expect_contains(error_of([&] { put(x, index, ones({3})); }), "[put] 2 indices of 3 sources");
  expect_contains(error_of([&] { put(zeros({0}), index, source); }),
                  "[put] the tensor has no elements");
}

TEST(Scatters, OfElementsCountFromTheEnd) {
  const Tensor x = ones({2, 3}), index = Tensor::from(Integers{-1, -3}, {2, 1}),
               source = Tensor::from(Floats{5, 6}, {2, 1});
  auto joined = [&](ScatterReduction reduction) {
    return scatter_elements(x, 1, index, source, reduction).to_vector<float>();
  };
  EXPECT_EQ(joined(ScatterReduction::sum), (Floats{1, 1, 6, 7, 1, 1}));
  EXPECT_EQ(joined(ScatterReduction::amin), (Floats{1, 1, 1, 1, 1, 1}));
  expect_contains(
      error_of([&] { scatter_elements(x, 1, index - 1, source, ScatterReduction::sum); }),
      "[scatter_elements] index -4 is outside");
}

}  // namespace
}  // namespace tilewright::scatters_test
