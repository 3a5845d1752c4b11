// x[a, :, b] and masks, at once and compiled, against loops.
#include "graph/functions/indexing/advanced_indexing.h"

#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::advanced_indexing_test {
namespace {

using namespace testing_loops;

// An index of random places, from the end or from the front, for some axes of the sizes.
struct Indices {
  std::vector<bool> is_given;
  Shape first, others;  // the shapes of the first index and of those after it; they broadcast
};

// Which element of x is at a place of the result: its number, by the definition.
std::vector<std::size_t> numbers_wanted(const Shape& sizes, const Tensors& indices,
                                        const Shape& places, Shape& result) {
  std::vector<int> given, kept;
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    (i < indices.size() && indices[i].defined() ? given : kept).push_back(axis);
  }
  const bool are_neighbours = given.back() - given.front() + 1 == std::ssize(given);
  const int first = are_neighbours ? given.front() : 0;
  result = {};
  for (int i = 0; i < first; ++i) result.push_back(sizes[kept[static_cast<std::size_t>(i)]]);
  result.insert(result.end(), places.begin(), places.end());
  for (std::size_t i = static_cast<std::size_t>(first); i < kept.size(); ++i)
    result.push_back(sizes[kept[i]]);
  return elements<std::size_t>(result, [&](const Place& at) {
    Place from(sizes.size());
    Place in_index(at.begin() + first, at.begin() + first + places.rank());
    for (std::size_t i = 0; i < kept.size(); ++i)
      from[static_cast<std::size_t>(kept[i])] =
          at[i < static_cast<std::size_t>(first) ? i : i + places.size()];
    for (int axis : given) {
      const auto i = static_cast<std::size_t>(axis);
      Tensor whole = indices[i].expand(places).contiguous();
      std::int64_t place = whole.to_vector<std::int64_t>()[number_of(places, in_index)];
      from[i] = place < 0 ? place + sizes[axis] : place;
    }
    return number_of(sizes, from);
  });
}

Tensors with_gaps(const std::vector<bool>& is_given, const Tensors& t, std::size_t first) {
  Tensors indices;
  for (bool is : is_given) indices.push_back(is ? t[first++] : Tensor());
  return indices;
}

TEST(AdvancedIndexing, AddsWhereItIsTo) {
  auto added = [](const Tensors& t) {
    return Tensors{index_put(t[0], {Tensor(), t[1]}, t[2], true)};
  };
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
  // Column 2 twice, once counted from the end; the values broadcast over the rows.
  expect_equal<float>(
      added, {x, Tensor::from(Integers{2, 0, -1}, {3}), Tensor::from(Floats{10, 20, 40}, {3})},
      {2, 3}, {21, 2, 53, 24, 5, 56});
  auto all = [](const Tensors& t) { return Tensors{index_put(t[0], {}, t[1], true)}; };
  expect_equal<float>(all, {x, Tensor::from(Floats{1}, {1})}, {2, 3}, {2, 3, 4, 5, 6, 7});
}

TEST(AdvancedIndexing, TakesAndReplacesWhatIndicesName) {
  Dice dice(1);
  const Shape sizes = {3, 2, 4, 3};
  for (const Indices& given : std::vector<Indices>{{{true}, {5}, {}},
                                                   {{false, true}, {2, 2}, {}},
                                                   {{true, true}, {2, 1}, {3}},
                                                   {{false, true, true}, {4}, {1}},
                                                   {{true, false, true}, {3}, {}},
                                                   {{false, true, false, true}, {2, 1}, {1, 2}},
                                                   {{true, true, true, true}, {6}, {6}}}) {
    Tensor x = dice.floats(sizes);
    Tensors arguments = {x}, indices;
    Shape places;
    for (std::size_t i = 0; i < given.is_given.size(); ++i) {
      indices.emplace_back();
      if (!given.is_given[i]) continue;
      const Shape& shape = arguments.size() == 1 ? given.first : given.others;
      const std::int64_t size = sizes[static_cast<int>(i)];
      indices.back() = dice.integers(shape, -size, size);
      places = *broadcast_shapes(places, shape);
      arguments.push_back(indices.back());
    }
    Shape result;
    std::vector<std::size_t> numbers = numbers_wanted(sizes, indices, places, result);
    Floats of_x = x.to_vector<float>(), wanted;
    for (std::size_t number : numbers) wanted.push_back(of_x[number]);
    auto is_given = given.is_given;
    expect_equal<float>(
        [is_given](const Tensors& t) { return Tensors{index(t[0], with_gaps(is_given, t, 1))}; },
        arguments, result, wanted);
    // All writes are of one number, since it is undefined which of several values stays.
    for (std::size_t number : numbers) of_x[number] = 5;
    arguments.push_back(Tensor::from(Floats{5}, {1}));
    expect_equal<float>(
        [is_given](const Tensors& t) {
          return Tensors{index_put(t[0], with_gaps(is_given, t, 1), t.back())};
        },
        arguments, sizes, of_x);
  }
}

TEST(AdvancedIndexing, PutsEachValueInItsPlace) {
  Tensor x = zeros({2, 3, 2}), at = Tensor::from(Integers{2, 0}, {2});
  Tensor values = Tensor::from(Floats{1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  expect_equal<float>(
      [](const Tensors& t) {
        return Tensors{index_put(t[0], {Tensor(), t[1]}, t[2])};
      },
      {x, at, values}, {2, 3, 2}, {3, 4, 0, 0, 1, 2, 7, 8, 0, 0, 5, 6});
  expect_equal<float>(
      [](const Tensors& t) {
        return Tensors{index_put(t[0], {t[1], Tensor(), t[1]}, t[2])};
      },
      {x, Tensor::from(Integers{-1, 0}, {2}), Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3})},
      {2, 3, 2}, {4, 0, 5, 0, 6, 0, 0, 1, 0, 2, 0, 3});
}

TEST(AdvancedIndexing, NamesNoElementOutside) {
  auto function = [](const Tensor& x, const Tensor& a, const Tensor& b) {
    return index(x, {a, b});
  };
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
  Tensor a = Tensor::from(Integers{0, 1, 1}, {3}), b = Tensor::from(Integers{3, -4, -1}, {3});
  EXPECT_EQ(compile(function, {.index_checks = IndexChecks::none})(x, a, b).to_vector<float>(),
            (Floats{0, 0, 6}));
  const std::string error = error_of([&] { function(x, a, b); });
  expect_contains(error, "[index] index 3 is outside 3 places");
  for (IndexChecks checks : {IndexChecks::host_tensors, IndexChecks::all})
    EXPECT_EQ(error_of([&] { compile(function, {.index_checks = checks})(x, a, b); }), error);
}

TEST(AdvancedIndexing, TakesWhereMasksAreTrue) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3}), mask = x > 3.5;
  EXPECT_EQ(index(x, {mask}).to_vector<float>(), (Floats{4, 5, 6}));
  Tensor columns = Tensor::from(Integers{1, 0, 1}, {3}) != 0;
  EXPECT_EQ(index(x, {Tensor(), columns}).to_vector<float>(), (Floats{1, 3, 4, 6}));
  EXPECT_EQ(index_put(x, {mask}, full({}, 0)).to_vector<float>(), (Floats{1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(index(x, {mask.to(u8)}).to_vector<float>(), (Floats{4, 5, 6}));
  EXPECT_EQ(index(x, {x > 9}).shape(), Shape{0});
  EXPECT_EQ(nonzero(x - 2).to_vector<std::int64_t>(), (Integers{0, 0, 0, 2, 1, 0, 1, 1, 1, 2}));
  EXPECT_EQ(nonzero(zeros({})).shape(), (Shape{0, 0}));
  EXPECT_EQ(masked_select(x, columns).to_vector<float>(), (Floats{1, 3, 4, 6}));
  Compiled broken = compile([](const Tensor& t) { return masked_select(t, t > 2) * 2; });
  EXPECT_EQ(broken(x).to_vector<float>(), (Floats{6, 8, 10, 12}));
  Compiled whole =
      compile([](const Tensor& t) { return masked_select(t, t > 2); }, {.fullgraph = true});
  expect_contains(error_of([&] { whole(x); }), "fullgraph");
}

TEST(AdvancedIndexing, SaysWhatDoesNotFit) {
  Tensor x = zeros({2, 3}), one = zeros({1}, i64);
  expect_contains(error_of([&] {
                    index(x, {one, one, one});
                  }),
                  "3 indices are given for a tensor of shape 2x3");
  expect_contains(error_of([&] {
                    index(x, {zeros({2}, i64), zeros({3}, i64)});
                  }),
                  "they must broadcast");
  expect_contains(error_of([&] { index(x, {zeros({3}, DType::boolean)}); }),
                  "it must have the sizes of the axes that it is over");
  expect_contains(error_of([&] {
                    index_put(x, {one}, zeros({1, 3}, i64));
                  }),
                  "x is f32, the replacement is i64");
  expect_contains(error_of([&] { masked_select(x, x); }), "it must be bool");
  expect_contains(error_of([&] { masked_fill(x, zeros({4}, DType::boolean), 0); }),
                  "they must broadcast");
  expect_contains(error_of([&] {
                    masked_scatter(x, ones({2, 3}, DType::boolean), zeros({5}));
                  }),
                  "the mask has 6 places; the source has 5 elements");
}

TEST(MaskedFill, BroadcastsBoth) {
  Tensor x = Tensor::from(Floats{1, 2}, {2, 1}), mask = Tensor::from(Integers{1, 0, 1}, {3}) != 0;
  expect_equal<float>([](const Tensors& t) { return Tensors{masked_fill(t[0], t[1], 9)}; },
                      {x, mask}, {2, 3}, {9, 1, 9, 9, 2, 9});
  expect_equal<std::int64_t>(
      [](const Tensors& t) { return Tensors{masked_fill(t[0].to(i64), t[1], t[2])}; },
      {x, mask, full({}, -4, i32)}, {2, 3}, {-4, 1, -4, -4, 2, -4});
}

TEST(MaskedScatter, TakesTheSourceInOrder) {
  Dice dice(3);
  Tensor x = dice.floats({3, 5, 4}), source = dice.floats({7, 9});
  Tensor mask = dice.integers({5, 4}, 0, 2) != 0;
  Floats wanted = x.to_vector<float>(), from = source.to_vector<float>();
  std::vector<std::uint8_t> set = mask.to(u8).to_vector<std::uint8_t>();
  std::size_t next = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (set[i % 20] != 0) wanted[i] = from[next++];
  expect_equal<float>([](const Tensors& t) { return Tensors{masked_scatter(t[0], t[1], t[2])}; },
                      {x, mask, source}, {3, 5, 4}, wanted);
  Compiled checked = compile(
      [](const Tensor& a, const Tensor& b, const Tensor& c) { return masked_scatter(a, b, c); },
      {.index_checks = IndexChecks::all});
  EXPECT_EQ(checked(x, mask, source).to_vector<float>(), wanted);
  expect_contains(error_of([&] { checked(x, mask, source.slice(0, 0, 1)); }),
                  "id -1 is outside a table of 9 rows");
}

TEST(Tuples, NamePartsOfTheFirstAxes) {
  const Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}),
               index = Tensor::from(Integers{0, -1, 1, 0}, {2, 2});
  auto gathered = [](const Tensors& t) { return Tensors{gather_nd(t[0], t[1])}; };
  expect_equal<float>(gathered, {x, index}, {2, 2}, {3, 4, 5, 6});
  auto of_batch = [](const Tensors& t) { return Tensors{gather_nd(t[0], t[1], 1)}; };
  expect_equal<float>(of_batch, {x, index}, {2}, {2, 7});
  EXPECT_EQ(gather_nd(x, zeros({3, 0}, i64)).shape(), (Shape{3, 2, 2, 2}));
  expect_contains(error_of([&] {
                    gather_nd(x, zeros({1, 4}, i64));
                  }),
                  "[gather_nd] an index [1x4] does not fit [2x2x2]");
}

TEST(Tuples, ReplaceAndJoinParts) {
  const Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {2, 2}),
               index = Tensor::from(Integers{-1, 1}, {2, 1}),
               updates = Tensor::from(Floats{5, 1, 2, 9}, {2, 2});
  auto joined = [](std::optional<ScatterReduction> reduction) {
    return [=](const Tensors& t) { return Tensors{scatter_nd(t[0], t[1], t[2], reduction)}; };
  };
  expect_equal<float>(joined(ScatterReduction::sum), {x, index, updates}, {2, 2}, {1, 2, 10, 14});
  expect_equal<float>(joined(ScatterReduction::prod), {x, index, updates}, {2, 2}, {1, 2, 30, 36});
  expect_equal<float>(joined(ScatterReduction::amax), {x, index, updates}, {2, 2}, {1, 2, 5, 9});
  EXPECT_EQ(scatter_nd(x, index.slice(0, 0, 1), updates.slice(0, 0, 1)).to_vector<float>(),
            (Floats{1, 2, 5, 1}));
}

TEST(Tuples, OfNoPlacesNameAll) {
  const Tensor x = Tensor::from(Floats{1, 4}, {2}), none = zeros({2, 0}, i64),
               updates = Tensor::from(Floats{3, 3, 2, 5}, {2, 2});
  auto joined = [&](std::optional<ScatterReduction> reduction) {
    return scatter_nd(x, none, updates, reduction).to_vector<float>();
  };
  EXPECT_EQ(joined({}), (Floats{2, 5}));
  EXPECT_EQ(joined(ScatterReduction::sum), (Floats{6, 12}));
  EXPECT_EQ(joined(ScatterReduction::prod), (Floats{6, 60}));
  EXPECT_EQ(joined(ScatterReduction::mean), (Floats{2, 4}));
  EXPECT_EQ(joined(ScatterReduction::amax), (Floats{3, 5}));
  EXPECT_EQ(joined(ScatterReduction::amin), (Floats{1, 3}));
  expect_contains(error_of([&] { scatter_nd(x, none, x); }), "[scatter_nd] updates [2] of [2]");
}

TEST(NonzeroStatic, HasAsManyPlacesAsAreAskedFor) {
  const Tensor x = Tensor::from(Floats{0, 5, 6, 0}, {2, 2});
  auto places = [](const Tensors& t) { return Tensors{nonzero_static(t[0], 3, -7)}; };
  expect_equal<std::int64_t>(places, {x}, {3, 2}, {0, 1, 1, 0, -7, -7});
  EXPECT_EQ(nonzero_static(x, 1).to_vector<std::int64_t>(), (Integers{0, 1}));
  EXPECT_EQ(nonzero_static(full({}, 1.0), 2).shape(), (Shape{2, 0}));
  expect_contains(error_of([&] { nonzero_static(x, -1); }), "[nonzero_static] -1 places");
}

}  // namespace
}  // namespace tilewright::advanced_indexing_test
