// Elements and parts by index tensors, at once and compiled, against loops.
#include "graph/functions/indexing/gathering.h"

#include <gtest/gtest.h>

#include "graph/ir/text.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"
#include "tests/graph/captured.h"

namespace tilewright::gathering_test {
namespace {

using namespace testing_loops;

TEST(Gather, TakesElementsAlongAnAxis) {
  Dice dice(1);
  const Shape sizes = {3, 4, 5};
  Tensor x = dice.floats(sizes);
  Floats elements_of_x = x.to_vector<float>();
  for (int axis : {0, 1, 2, -2}) {
    const int along = axis < 0 ? axis + 3 : axis;
    for (const Shape& of_index : {Shape{3, 4, 5}, Shape{2, 3, 4}, Shape{1, 4, 1}, Shape{0, 4, 5}}) {
      Tensor index = dice.integers(of_index, 0, sizes[along]);
      Integers places = index.to_vector<std::int64_t>();
      Floats wanted = elements<float>(of_index, [&](const Place& at) {
        Place from = at;
        from[static_cast<std::size_t>(along)] = places[number_of(of_index, at)];
        return elements_of_x[number_of(sizes, from)];
      });
      auto function = [axis](const Tensors& t) { return Tensors{gather(t[0], axis, t[1])}; };
      expect_equal<float>(function, {x, index}, of_index, wanted);
      expect_equal<float>(function, {x, index.to(i32)}, of_index, wanted);
    }
  }
}

TEST(Gather, TakesATensorWithoutAxesAsOneElement) {
  auto function = [](const Tensors& t) { return Tensors{gather(t[0], 0, t[1])}; };
  Tensor x = Tensor::scalar(3.0F);
  expect_equal<float>(function, {x, zeros({}, i64)}, {}, {3});
  expect_equal<float>(function, {x, zeros({1}, i64)}, {1}, {3});
}

TEST(Gather, NamesNoNeighbourWhereAnIndexIsOutside) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
  auto function = [](const Tensor& t, const Tensor& index) { return gather(t, 1, index); };
  Tensor index = Tensor::from(Integers{3, 2, -1, 0}, {2, 2});
  EXPECT_EQ(compile(function, {.index_checks = IndexChecks::none})(x, index).to_vector<float>(),
            (Floats{0, 3, 0, 4}));
  const std::string error = error_of([&] { function(x, index); });
  expect_contains(error, "[gather] index 3 is outside 3 places");
  for (IndexChecks checks : {IndexChecks::host_tensors, IndexChecks::all})
    EXPECT_EQ(error_of([&] { compile(function, {.index_checks = checks})(x, index); }), error);
}

// The numbers of single elements are computed where these are read, and so is what is made of them.
TEST(Gather, OfSingleElementsFusesWithItsNeighbours) {
  Dice dice(5);
  const Shape sizes = {30, 70};
  Tensor x = dice.floats(sizes), y = dice.floats(sizes), index = dice.integers(sizes, 0, 70);
  auto function = [](const Tensor& a, const Tensor& b, const Tensor& i) {
    return gather(a, 1, remainder(i + 3, 70)) * 2 + b;
  };
  const Floats of_x = x.to_vector<float>(), of_y = y.to_vector<float>();
  const Integers places = index.to_vector<std::int64_t>();
  Floats wanted;
  for (std::size_t i = 0; i < of_x.size(); ++i)
    wanted.push_back(of_x[i / 70 * 70 + static_cast<std::size_t>((places[i] + 3) % 70)] * 2 +
                     of_y[i]);
  Compiled f = compile(function, {.fullgraph = true});
  EXPECT_EQ(f(x, y, index).to_vector<float>(), wanted);
  EXPECT_EQ(f.report().at(0).launches, 1);
  // A tensor that is read is written at the end, after all reads of any place.
  auto in_place = [](Tensor a, const Tensor& i) {
    a.copy_from(gather(a, 1, i) + 1);
    return sum(a);
  };
  Tensor changed = x.clone();
  compile(in_place, {.fullgraph = true})(changed, index);
  Floats shuffled;
  for (std::size_t i = 0; i < of_x.size(); ++i)
    shuffled.push_back(of_x[i / 70 * 70 + static_cast<std::size_t>(places[i])] + 1);
  EXPECT_EQ(changed.to_vector<float>(), shuffled);
}

TEST(Gather, SaysWhatDoesNotFit) {
  Tensor x = zeros({2, 3}), index = zeros({2, 2}, i64);
  expect_contains(error_of([&] { gather(x, 2, index); }), "axis 2");
  expect_contains(error_of([&] { gather(x, 1, zeros({2}, i64)); }), "must have as many axes");
  expect_contains(error_of([&] {
                    gather(x, 1, zeros({3, 1}, i64));
                  }),
                  "no more elements along any");
  expect_contains(error_of([&] { gather(x, 1, zeros({2, 2})); }), "it must be i32 or i64");
}

// Nothing is looked up where there is nothing, and zeros are no work.
TEST(IndexSelect, OfNothingReadsNothing) {
  for (std::int64_t width : {0, 2}) {
    graph::Capture capture;
    Tensor x = capture.placeholder(f32, {4, width}), index = capture.placeholder(i64, {3});
    const std::string text = print(capture.finish({index_select(x, 0, index)}).graph);
    EXPECT_EQ(text.find("embedding") != std::string::npos, width != 0) << text;
  }
}

TEST(TakeAlongDim, BroadcastsTheOtherAxes) {
  Dice dice(2);
  Tensor x = dice.floats({2, 1, 5}), index = dice.integers({4, 3}, 0, 5);
  Floats of_x = x.to_vector<float>();
  Integers places = index.to_vector<std::int64_t>();
  auto function = [](const Tensors& t) {
    return Tensors{take_along_dim(t[0], (t[1] - 5).reshape({1, 4, 3}), 2)};
  };
  expect_equal<float>(
      function, {x, index}, {2, 4, 3}, elements<float>({2, 4, 3}, [&](const Place& at) {
        return of_x[static_cast<std::size_t>(at[0] * 5 +
                                             places[static_cast<std::size_t>(at[1] * 3 + at[2])])];
      }));
  auto flat = [](const Tensors& t) { return Tensors{take_along_dim(t[0], t[1])}; };
  expect_equal<float>(flat, {x, Tensor::from(Integers{9, 0}, {2, 1})}, {2}, {of_x[9], of_x[0]});
  expect_contains(error_of([&] { take_along_dim(x, index, 1); }), "must have as many axes");
  expect_contains(error_of([&] {
                    take_along_dim(zeros({2, 3}), zeros({5, 1}, i64), 1);
                  }),
                  "they must broadcast but for axis 1");
}

TEST(Take, CountsFromTheEndToo) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
  auto function = [](const Tensors& t) { return Tensors{take(t[0], t[1])}; };
  expect_equal<float>(function, {x, Tensor::from(Integers{0, 5, -1, -6}, {2, 2})}, {2, 2},
                      {1, 6, 6, 1});
  expect_equal<float>(function, {x, zeros({0, 2}, i64)}, {0, 2}, {});
  expect_contains(error_of([&] { take(x, ones({1}, i64) * 6); }), "index 6 is outside 6 places");
  expect_contains(error_of([&] { take(x, ones({1}, i64) * -7); }), "it must be in [-6, 6)");
  expect_contains(error_of([&] { take(zeros({0}), zeros({1}, i64)); }), "no elements to take");
}

TEST(IndexSelect, TakesPartsOfAnAxis) {
  Dice dice(3);
  const Shape sizes = {3, 4, 2};
  Tensor x = dice.integers(sizes, -99, 99);
  Integers of_x = x.to_vector<std::int64_t>();
  for (int axis : {0, 1, 2}) {
    Tensor index = dice.integers({5}, 0, sizes[axis]);
    Integers places = index.to_vector<std::int64_t>();
    Shape result = sizes;
    result[axis] = 5;
    auto function = [axis](const Tensors& t) { return Tensors{index_select(t[0], axis, t[1])}; };
    expect_equal<std::int64_t>(function, {x, index}, result,
                               elements<std::int64_t>(result, [&](const Place& at) {
                                 Place from = at;
                                 const auto i = static_cast<std::size_t>(axis);
                                 from[i] = places[static_cast<std::size_t>(at[i])];
                                 return of_x[number_of(sizes, from)];
                               }));
  }
  auto first = [](const Tensors& t) { return Tensors{index_select(t[0], 0, t[1])}; };
  expect_equal<float>(first, {Tensor::scalar(7.0F), zeros({1}, i64)}, {}, {7});
  expect_equal<float>(first, {Tensor::from(Floats{4, 5}, {2}), ones({}, i64)}, {1}, {5});
  expect_contains(error_of([&] { index_select(x, 1, ones({1}, i64) * 4); }),
                  "index 4 is outside 4 places");
  expect_contains(error_of([&] { index_select(x, 1, zeros({1, 1}, i64)); }), "one axis at most");
  expect_contains(error_of([&] { index_select(zeros({}), 0, zeros({2}, i64)); }),
                  "there must be one");
}

TEST(IndexSelect, TakesTransposedTensors) {
  Tensor x = Tensor::from(Integers{1, 2, 3, 4, 5, 6}, {2, 3}).transpose(0, 1);
  auto function = [](const Tensors& t) { return Tensors{index_select(t[0], 0, t[1])}; };
  expect_equal<std::int64_t>(function, {x, Tensor::from(Integers{2, 0}, {2})}, {2, 2},
                             {3, 6, 1, 4});
}

TEST(OneHot, HasAOneInTheClass) {
  auto of_four = [](const Tensors& t) { return Tensors{one_hot(t[0], 4)}; };
  expect_equal<std::int64_t>(of_four, {Tensor::from(Integers{2, 0}, {2, 1})}, {2, 1, 4},
                             {0, 0, 1, 0, 1, 0, 0, 0});
  EXPECT_EQ(one_hot(Tensor::from(Integers{2, 1}, {2})).to_vector<std::int64_t>(),
            (Integers{0, 0, 1, 0, 1, 0}));
  expect_contains(error_of([&] { one_hot(ones({1}, i64), 1); }), "index 1 is outside 1 places");
  expect_contains(error_of([&] { one_hot(ones({1}, i64), 0); }), "there are 0 classes");
  expect_contains(error_of([&] { one_hot(zeros({0}, i64)); }), "say how many classes");
  expect_contains(error_of([&] {
                    compile([](const Tensor& t) { return one_hot(t); },
                            {.fullgraph = true})(ones({1}, i64));
                  }),
                  "fullgraph");
}

TEST(GatherElements, CountsNegativePlacesFromTheEnd) {
  const Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3}),
               index = Tensor::from(Integers{-1, 0, 2, -3}, {2, 2});
  auto function = [](const Tensors& t) { return Tensors{gather_elements(t[0], 1, t[1])}; };
  expect_equal<float>(function, {x, index}, {2, 2}, {3, 1, 6, 4});
  expect_contains(error_of([&] {
                    gather_elements(x, 1, full({2, 1}, std::int64_t{-4}, i64));
                  }),
                  "[gather_elements] index -4 is outside");
}

TEST(OneHot, HasTwoValuesAlongAnAxis) {
  const Tensor x = Tensor::from(Integers{1, -1, 5}, {3}), values = Tensor::from(Floats{7, 8}, {2});
  for (int axis : {0, 1}) {
    auto function = [=](const Tensors& t) { return Tensors{one_hot(t[0], 2, t[1], axis)}; };
    // The class 5 is nowhere.
    expect_equal<float>(function, {x, values}, axis == 0 ? Shape{2, 3} : Shape{3, 2},
                        axis == 0 ? Floats{7, 7, 7, 8, 8, 7} : Floats{7, 8, 7, 8, 7, 7});
  }
  expect_contains(error_of([&] { one_hot(x, 2, ones({3}), 0); }), "[one_hot] 2 classes");
}

TEST(ReverseSequences, TurnsAsManyElementsAsASequenceHas) {
  const Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {3, 2}),
               lengths = Tensor::from(Integers{2, 3}, {2});
  auto function = [](const Tensors& t) { return Tensors{reverse_sequences(t[0], t[1], false)}; };
  expect_equal<float>(function, {x, lengths}, {3, 2}, {3, 6, 1, 4, 5, 2});
  EXPECT_EQ(reverse_sequences(x.transpose(0, 1), lengths, true).to_vector<float>(),
            (Floats{3, 1, 5, 6, 4, 2}));
  expect_contains(error_of([&] { reverse_sequences(x, ones({3}), false); }),
                  "[reverse_sequences] x is 3x2, the lengths 3");
}

TEST(MaskedIndex, LooksAtNoIndexWhereTheMaskIsFalse) {
  const Tensor x = Tensor::from(Floats{1, 2, 3}, {3}),
               index = Tensor::from(Integers{2, 9, -3}, {3}), mask = index < 5;
  auto read = [](const Tensors& t) { return Tensors{masked_index(t[0], t[2], {t[1]}, -1.0)}; };
  expect_equal<float>(read, {x, index, mask}, {3}, {3, -1, 1});
  auto added = [](const Tensors& t) {
    return Tensors{masked_index_add(t[0], t[2], {t[1]}, full({3}, 10.0))};
  };
  expect_equal<float>(added, {x, index, mask}, {3}, {11, 2, 13});
}

}  // namespace
}  // namespace tilewright::gathering_test
