#include "graph/tensor/row_checks.h"

#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright {
namespace {

using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;

Tensor numbers(const Integers& n) { return Tensor::from(n, {static_cast<std::int64_t>(n.size())}); }

void expect_refused(const std::function<void()>& call, const std::string& what) {
  std::string message = error_of(call);
  expect_contains(message, what);
  expect_contains(message, "row_checks_test.cpp:");
}

TEST(RowChecks, IdsOfTheHostAreLookedAtBeforeTheCall) {
  Tensor table = ramp({10, 3});
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    Compiled f =
        compile([&](const Tensor& ids) { return embedding(ids, table) * 2; }, {.mode = mode});
    EXPECT_EQ(f(numbers({9, 0})).shape(), (Shape{2, 3}));
    expect_refused([&] { f(numbers({9, 11})); }, "[embedding] id 11 is outside a table of 10 rows");
    expect_refused([&] { f(numbers({-1, 0})); }, "[embedding] id -1 is outside a table of 10 rows");
    EXPECT_EQ(f(numbers({9, 0})).shape(), (Shape{2, 3}));
  }
}

TEST(RowChecks, OnlyTheElementsOfAViewThatAreUsedCount) {
  Tensor table = ramp({10, 3});
  Compiled f = compile([&](const Tensor& ids) {
    return embedding(ids.reshape({2, 3}).transpose(0, 1).slice(0, 0, 2).to(i32), table);
  });
  f(numbers({0, 1, 99, 3, 4, -7}));
  expect_refused([&] { f(numbers({0, 1, 2, 3, 10, 5})); }, "id 10 is outside a table of 10 rows");
}

// 2049 is 2048 as f16, which is a row.
// What lies behind them in memory is no part of the view.
TEST(RowChecks, RepeatedIdsAreLookedAtOnce) {
  Tensor table = ramp({10, 1});
  Compiled f = compile([&](const Tensor& ids) { return embedding(ids, table); });
  Tensor ids = numbers({1, 2, 99, 99}).slice(0, 0, 2).reshape({1, 2}).expand({2, 2});
  EXPECT_EQ(f(ids).shape(), (Shape{2, 2, 1}));
}

TEST(RowChecks, IdsThatWereRoundedAreNotLookedAtAsTheyWere) {
  Tensor table = ramp({2049, 1});
  Compiled f = compile([&](const Tensor& ids) { return embedding(ids.to(f16).to(i64), table); });
  Floats rows = table.to_vector<float>();
  EXPECT_EQ(f(numbers({2049, 3})).to_vector<float>(), (Floats{rows[2048], rows[3]}));
}

TEST(RowChecks, RowsThatAreWrittenAreLookedAtBeforeAnythingIsWritten) {
  Tensor cache = zeros({4, 2}).clone();
  Compiled f = compile([&](const Tensor& at, const Tensor& rows) {
    cache.copy_from(cache.index_copy_(0, at, rows) + 1);
    return cache.clone();
  });
  expect_refused(
      [&] {
        f(numbers({1, 4}), ramp({2, 2}));
      },
      "[index_copy_] row 4 is outside an axis of size 4");
  EXPECT_EQ(cache.to_vector<float>(), Floats(8, 0));
  f(numbers({1, 3}), ramp({2, 2}));
  EXPECT_EQ(cache.to_vector<float>()[0], 1);
}

TEST(RowChecks, ComputedIdsAreLookedAtOnRequest) {
  Tensor table = ramp({10, 3});
  auto function = [&](const Tensor& ids) { return embedding(ids * 2, table); };
  EXPECT_EQ(compile(function)(numbers({5})).to_vector<float>(), Floats(3, 0));
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    Compiled f = compile(function, {.mode = mode, .index_checks = IndexChecks::all});
    expect_refused([&] { f(numbers({4, 5, 1})); }, "[embedding] id 10 is outside a table of 10");
    expect_refused([&] { f(numbers({4, -3, 1})); }, "[embedding] id -6 is outside a table of 10");
    EXPECT_EQ(f.call({numbers({4, 3, 0})}).size(), 1u);
    expect_near(f(numbers({4, 3, 0})), function(numbers({4, 3, 0})));
  }
}

TEST(RowChecks, NothingIsLookedAtWhereNothingIsWanted) {
  Tensor table = ramp({10, 3});
  Compiled f = compile([&](const Tensor& ids) { return embedding(ids, table); },
                       {.index_checks = IndexChecks::none});
  EXPECT_EQ(f(numbers({11})).to_vector<float>(), Floats(3, 0));
}

}  // namespace
}  // namespace tilewright
