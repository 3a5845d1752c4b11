// Elements and parts replaced where index tensors say, at once and compiled.
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/scatters.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::scattering_test {
namespace {

using namespace testing_loops;

// An index of the shape that names each place along the axis once at most.
Tensor distinct(Dice& dice, const Shape& shape, int axis, std::int64_t size) {
  Integers places(static_cast<std::size_t>(element_count(shape)));
  Shape others = shape;
  others[axis] = 1;
  for_each_place(others, [&](const Place& at) {
    Integers all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
      std::swap(all[static_cast<std::size_t>(i)],
                all[static_cast<std::size_t>(dice.between(i, size))]);
      Place here = at;
      here[static_cast<std::size_t>(axis)] = i;
      places[number_of(shape, here)] = all[static_cast<std::size_t>(i)];
    }
  });
  return Tensor::from(places, shape);
}

TEST(Scatter, ReplacesElementsAlongAnAxis) {
  Dice dice(1);
  const Shape sizes = {3, 4, 5}, of_index = {2, 3, 3}, of_source = {3, 3, 4};
  for (int axis : {0, 1, 2}) {
    Tensor x = dice.floats(sizes), source = dice.floats(of_source);
    Tensor index = distinct(dice, of_index, axis, sizes[axis]);
    Floats wanted = x.to_vector<float>(), filled = wanted, from = source.to_vector<float>();
    Integers places = index.to_vector<std::int64_t>();
    for_each_place(of_index, [&](const Place& at) {
      Place to = at;
      to[static_cast<std::size_t>(axis)] = places[number_of(of_index, at)];
      wanted[number_of(sizes, to)] = from[number_of(of_source, at)];
      filled[number_of(sizes, to)] = 7;
    });
    expect_equal<float>(
        [axis](const Tensors& t) { return Tensors{scatter(t[0], axis, t[1], t[2])}; },
        {x, index, source}, sizes, wanted);
    expect_equal<float>([axis](const Tensors& t) { return Tensors{scatter(t[0], axis, t[1], 7)}; },
                        {x, index}, sizes, filled);
  }
}

// Where single elements go is computed by the program that stores them, whatever part of a tile is
// beyond the last one; also by a program for other numbers of rows.
TEST(Scatter, OfSingleElementsFusesWithItsNeighbours) {
  auto function = [](const Tensor& x, const Tensor& index, const Tensor& source) {
    return scatter(x, 1, remainder(index + 3, x.size(1)), source * 2);
  };
  for (std::int64_t columns : {7, 71, 1003}) {
    Compiled f = compile(function, {.fullgraph = true});
    for (std::int64_t rows : {1, 30, 5, 64, 31}) {
      Dice dice(static_cast<unsigned>(rows * columns));
      const Shape sizes = {rows, columns};
      Tensor x = dice.floats(sizes), source = dice.floats(sizes);
      Integers places;
      for (std::int64_t i = 0; i < rows * columns; ++i)
        places.push_back(i % columns * 2 % columns);  // each once
      Floats wanted(places.size());
      const Floats from = source.to_vector<float>();
      for (std::size_t i = 0; i < places.size(); ++i) {
        const auto width = static_cast<std::size_t>(columns);
        wanted[i / width * width + static_cast<std::size_t>((places[i] + 3) % columns)] =
            2 * from[i];
      }
      EXPECT_EQ(f(x, Tensor::from(places, sizes), source).to_vector<float>(), wanted)
          << rows << " " << columns;
      EXPECT_LE(f.report().back().launches, 2);
    }
  }
}

TEST(Scatter, LeavesWhatItIsGiven) {
  Tensor x = zeros({3}).clone();
  EXPECT_EQ(scatter(x, 0, ones({1}, i64), 5).to_vector<float>(), (Floats{0, 5, 0}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 0, 0}));
  EXPECT_EQ(scatter(x, 0, zeros({0}, i64), 5).to_vector<float>(), (Floats{0, 0, 0}));
  EXPECT_EQ(scatter(zeros({}), 0, zeros({1}, i64), 5).to_vector<float>(), (Floats{5}));
  EXPECT_EQ(scatter(zeros({1}, i64), 0, zeros({1}, i64), 7.5).to_vector<std::int64_t>(),
            Integers{7});
}

TEST(Scatter, PutsNothingWhereAnIndexIsOutside) {
  auto function = [](const Tensor& x, const Tensor& index) { return scatter(x, 1, index, 9); };
  Tensor x = zeros({2, 2}), index = Tensor::from(Integers{2, -1}, {2, 1});
  EXPECT_EQ(compile(function, {.index_checks = IndexChecks::none})(x, index).to_vector<float>(),
            Floats(4, 0));
  expect_contains(error_of([&] { compile(function)(x, index); }),
                  "[scatter] index 2 is outside 2 places");
  expect_contains(error_of([&] { function(x, index); }), "[scatter] index 2 is outside 2 places");
}

TEST(Scatter, SaysWhatDoesNotFit) {
  Tensor x = zeros({2, 3}), index = zeros({2, 2}, i64);
  expect_contains(error_of([&] {
                    scatter(x, 1, index, zeros({2, 1}));
                  }),
                  "an element of the source for each of the index");
  expect_contains(error_of([&] {
                    scatter(x, 1, index, zeros({2, 2}, i64));
                  }),
                  "x is f32, the replacement is i64");
  expect_contains(error_of([&] { index_fill(zeros({2}, i64), 0, zeros({1}, i64), zeros({})); }),
                  "must not be of a higher kind");
}

TEST(Put, ReplacesElementsByTheirNumbers) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {2, 2});
  auto function = [](const Tensors& t) { return Tensors{put(t[0], t[1], t[2])}; };
  expect_equal<float>(function,
                      {x, Tensor::from(Integers{-1, 1}, {2, 1}), Tensor::from(Floats{8, 9}, {2})},
                      {2, 2}, {1, 9, 3, 8});
  expect_contains(error_of([&] { put(x, ones({2}, i64), zeros({3})); }), "equally many");
  expect_contains(error_of([&] { put(x, ones({1}, i64) * 4, zeros({1})); }),
                  "index 4 is outside 4 places");
}

TEST(IndexCopy, ReplacesPartsOfAnAxis) {
  Dice dice(2);
  const Shape sizes = {3, 4, 2};
  for (int axis : {0, 1, 2}) {
    Shape of_source = sizes;
    of_source[axis] = 2;
    Tensor x = dice.floats(sizes), source = dice.floats(of_source);
    Tensor index = distinct(dice, {2}, 0, sizes[axis]);
    Floats wanted = x.to_vector<float>(), filled = wanted, from = source.to_vector<float>();
    Integers places = index.to_vector<std::int64_t>();
    for_each_place(of_source, [&](const Place& at) {
      Place to = at;
      const auto i = static_cast<std::size_t>(axis);
      to[i] = places[static_cast<std::size_t>(at[i])];
      wanted[number_of(sizes, to)] = from[number_of(of_source, at)];
      filled[number_of(sizes, to)] = -1;
    });
    expect_equal<float>(
        [axis](const Tensors& t) { return Tensors{index_copy(t[0], axis, t[1], t[2])}; },
        {x, index, source}, sizes, wanted);
    expect_equal<float>(
        [axis](const Tensors& t) { return Tensors{index_fill(t[0], axis, t[1], -1)}; },
        {x, index - sizes[axis]}, sizes, filled);
    expect_equal<float>(
        [axis](const Tensors& t) { return Tensors{index_fill(t[0], axis, t[1], t[2])}; },
        {x, index, Tensor::scalar(-1.0F)}, sizes, filled);
  }
}

TEST(IndexCopy, SaysWhatDoesNotFit) {
  Tensor x = zeros({2, 3}), index = zeros({2}, i64);
  expect_contains(error_of([&] {
                    index_copy(x, 1, index, zeros({2, 3}));
                  }),
                  "the source must be 2x2");
  expect_contains(error_of([&] {
                    index_copy(x, 1, index - 1, zeros({2, 2}));
                  }),
                  "index -1 is outside 3 places");
  expect_contains(error_of([&] { index_fill(x, 1, zeros({1, 2}, i64), 0); }), "one axis at most");
  expect_contains(error_of([&] { index_fill(x, 1, index, zeros({2})); }), "a tensor without axes");
}

TEST(ScatterElements, CountsNegativePlacesFromTheEnd) {
  const Tensor x = zeros({2, 3}), index = Tensor::from(Integers{-1, 1}, {2, 1}),
               source = Tensor::from(Floats{5, 6}, {2, 1});
  auto function = [](const Tensors& t) { return Tensors{scatter_elements(t[0], 1, t[1], t[2])}; };
  expect_equal<float>(function, {x, index, source}, {2, 3}, {0, 0, 5, 0, 6, 0});
  expect_contains(error_of([&] { scatter_elements(x, 1, index - 3, source); }),
                  "[scatter_elements] index -4 is outside");
}

}  // namespace
}  // namespace tilewright::scattering_test
