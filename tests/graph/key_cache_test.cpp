// Rows that are written to caches at places of their own, at once and compiled.
#include "graph/functions/attending/key_cache.h"

#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::key_cache_test {
namespace {

using namespace testing_loops;

TEST(KeyCache, TakesRowsAtAPlaceOfEachOfTheBatch) {
  const Tensor past = Tensor::from(Floats{7, 8, 5, 6}, {2, 1, 2, 1}),
               rows = Tensor::from(Floats{1, 2}, {2, 1, 1, 1}),
               from = Tensor::from(Integers{1, 2}, {2, 1});
  auto written = [](const Tensors& t) { return Tensors{rows_in_cache(t[0], t[1], t[2], 4)}; };
  expect_equal<float>(written, {past, rows, from}, {2, 1, 4, 1}, {7, 1, 0, 0, 5, 6, 2, 0});
  EXPECT_EQ(rows_in_cache({}, rows, zeros({2, 1}, i64), 2).to_vector<float>(),
            (Floats{1, 0, 2, 0}));
}

TEST(KeyCache, WritesAlongAnAxisAndMayWrap) {
  const Tensor cache = Tensor::from(Floats{9, 8, 7, 6}, {1, 4}),
               update = Tensor::from(Floats{1, 2}, {1, 2}), place = Tensor::from(Integers{3}, {1});
  for (bool wraps : {false, true}) {
    auto written = [=](const Tensors& t) {
      return Tensors{tensor_scatter(t[0], t[1], t[2], 1, wraps)};
    };
    expect_equal<float>(written, {cache, update, place}, {1, 4}, {wraps ? 2.0F : 9.0F, 8, 7, 1});
  }
}

TEST(KeyCache, SaysWhatDoesNotFit) {
  const Tensor rows = ones({2, 1, 1, 1});
  expect_contains(error_of([&] { rows_in_cache({}, rows, zeros({2}, i64), 2); }),
                  "[rows_in_cache] rows 2x1x1x1 from 2 on");
  expect_contains(error_of([&] {
                    rows_in_cache(ones({2, 1, 3, 1}), rows, zeros({2, 1}, i64), 2);
                  }),
                  "in a cache of 2 with 3");
  expect_contains(error_of([&] {
                    tensor_scatter(ones({2, 4}), ones({2, 1}), zeros({1}, i64), 1);
                  }),
                  "[tensor_scatter] an update 2x1 along axis 1");
}

}  // namespace
}  // namespace tilewright::key_cache_test
