// Adaptive pooling against its definition in loops, at once and compiled.
#include <gtest/gtest.h>

#include "graph/functions/pooling/adaptive_pooling.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::adaptive_pooling_test {
namespace {

using namespace testing_loops;

// Part i of n goes from i s / n, rounded down, to (i + 1) s / n, rounded up.
TEST(AdaptivePooling, DividesAxesIntoParts) {
  Dice dice(4);
  for (const auto& [sizes, parts] : std::vector<std::pair<Shape, Shape>>{{{12}, {4}},
                                                                         {{7}, {3}},
                                                                         {{2}, {5}},
                                                                         {{6, 7}, {3, 4}},
                                                                         {{5, 4}, {1, 7}},
                                                                         {{3, 4, 5}, {2, 2, 3}}}) {
    SCOPED_TRACE(concat(sizes, " into ", parts));
    Shape given = {2}, result = {2};
    given.insert(given.end(), sizes.begin(), sizes.end());
    result.insert(result.end(), parts.begin(), parts.end());
    Tensor x = dice.integers(given, -9, 9).to(f32);
    Floats all = x.to_vector<float>(), means, values;
    Integers places;
    for_each_place(result, [&](const Place& at) {
      float total = 0, count = 0, best = -99;
      std::int64_t best_place = -1;
      for_each_place(sizes, [&](const Place& from) {
        for (int i = 0; i < sizes.rank(); ++i) {
          const auto axis = static_cast<std::size_t>(i);
          if (from[axis] < at[axis + 1] * sizes[i] / parts[i] ||
              from[axis] >= ((at[axis + 1] + 1) * sizes[i] + parts[i] - 1) / parts[i])
            return;
        }
        const std::size_t number = number_of(sizes, from);
        float value = all[static_cast<std::size_t>(at[0] * element_count(sizes)) + number];
        total += value;
        ++count;
        if (value <= best) return;
        best = value;
        best_place = static_cast<std::int64_t>(number);
      });
      means.push_back(total / count);
      values.push_back(best);
      places.push_back(best_place);
    });
    const Shape wanted = parts;
    const int rank = sizes.rank();
    expect_near(
        [wanted, rank](const Tensors& t) {
          return Tensors{rank == 1   ? adaptive_avg_pool1d(t[0], wanted)
                         : rank == 2 ? adaptive_avg_pool2d(t[0], wanted)
                                     : adaptive_avg_pool3d(t[0], wanted)};
        },
        {x}, result, means);
    expect_at_once_and_compiled(
        [wanted, rank](const Tensors& t) {
          auto both = rank == 1   ? adaptive_max_pool1d(t[0], wanted)
                      : rank == 2 ? adaptive_max_pool2d(t[0], wanted)
                                  : adaptive_max_pool3d(t[0], wanted);
          return Tensors{both.first, both.second};
        },
        {x},
        [&](const Tensors& got) {
          EXPECT_EQ(got[0].to_vector<float>(), values);
          EXPECT_EQ(got[1].shape(), result);
          EXPECT_EQ(got[1].to_vector<std::int64_t>(), places);
        });
  }
}

TEST(AdaptivePooling, SaysWhatDoesNotFit) {
  Tensor x = zeros({2, 4, 4});
  expect_contains(error_of([&] { adaptive_avg_pool2d(x, {0}); }), "a value of the parts is 0");
  expect_contains(error_of([&] { adaptive_avg_pool2d(x, {}); }), "there are no parts");
  expect_contains(error_of([&] {
                    adaptive_max_pool2d(zeros({1, 0, 4}), {1});
                  }),
                  "must have an element");
  expect_contains(error_of([&] { adaptive_avg_pool2d(x, {60000}); }), "are too many");
  expect_contains(error_of([&] { adaptive_avg_pool2d(x.to(i64), {1}); }), "it must be floating");
  expect_contains(error_of([&] { adaptive_avg_pool2d(zeros({4}), {1}); }), "3 or 4 axes");
}

}  // namespace
}  // namespace tilewright::adaptive_pooling_test
