#include "graph/tensor/checks/row_checks.h"

#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/reducing/class_losses.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::row_checks_test {
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
// Elements behind them in memory are not part of the view.
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

// A function with a bad index reports the eager error, wherever the index is checked.
void expect_same_error(const std::function<Tensor(const Tensor&)>& function, const Tensor& ids,
                       IndexChecks checks) {
  const std::string error = error_of([&] { function(ids); });
  EXPECT_NE(error, "no error");
  expect_contains(error, "row_checks_test.cpp:");
  for (Mode mode : {Mode::default_, Mode::reduce_overhead})
    for (Backend backend : {Backend::aot_eager, Backend::tilewright}) {
      Compiled f = compile(
          function, {.mode = mode, .fullgraph = true, .backend = backend, .index_checks = checks});
      EXPECT_EQ(error_of([&] { f(ids); }), error);
    }
}

Tensor summed_rows(const Tensor& table, const Tensor& ids, bool adds_one) {
  auto turn = [&](const Tensors& s, const Tensors& e) {
    Tensor row = embedding(adds_one ? e[0] + 1 : e[0], table);
    return Turn{{s[0] + row.reshape({2})}, {}};
  };
  return scan(turn, {zeros({2})}, {ids.reshape({3, 1})}).first[0];
}

TEST(RowChecks, IdsOfTheTurnsOfAScanAreLookedAt) {
  const Tensor table = ramp({5, 2});
  const std::vector<std::function<Tensor(const Tensor&)>> known = {
      [&](const Tensor& ids) { return summed_rows(table, ids, false); },
      [&](const Tensor& ids) {
        return scan(
                   [&](const Tensors& s, const Tensors&) {
                     return Turn{{s[0] + embedding(ids, table)}, {}};
                   },
                   {zeros({3, 2})}, {}, {.turns = 2})
            .first[0];
      }};
  for (const auto& function : known)
    for (IndexChecks checks : {IndexChecks::host_tensors, IndexChecks::all})
      expect_same_error(function, numbers({0, 7, 2}), checks);
  auto computed = [&](const Tensor& ids) { return summed_rows(table, ids, true); };
  expect_same_error(computed, numbers({0, 4, 2}), IndexChecks::all);
  Compiled f = compile(computed, {.index_checks = IndexChecks::all});
  expect_near(f(numbers({0, 3, 2})), computed(numbers({0, 3, 2})));
}

TEST(RowChecks, IdsOfNestedLoopsAreLookedAt) {
  const Tensor table = ramp({5});
  auto function = [&](const Tensor& ids) {
    auto turn = [&](const Tensors& s, const Tensors& row) {
      auto inner = [&](const Tensors& t, const Tensors& e) {
        return Turn{{t[0] + gather(table, 0, e[0] * 2)}, {}};
      };
      return Turn{{scan(inner, {s[0]}, {row[0].reshape({2, 1})}).first[0]}, {s[0]}};
    };
    return scan(turn, {zeros({1})}, {ids.reshape({2, 2})}).first[0];
  };
  expect_same_error(function, numbers({0, 1, 2, 3}), IndexChecks::all);
  Compiled f = compile(function, {.index_checks = IndexChecks::all});
  expect_near(f(numbers({0, 1, 2, 1})), function(numbers({0, 1, 2, 1})));
}

TEST(RowChecks, IdsOfTheTurnsOfAWhileLoopAreLookedAt) {
  const Tensor table = ramp({5}) * 0.0 + 1.0;
  auto function = [&](const Tensor& limit) {
    return while_loop([&](const Tensors& s) { return sum(s[1]) < sum(limit); },
                      [&](const Tensors& s) {
                        return Tensors{s[0] + gather(table, 0, s[1]), s[1] + 1};
                      },
                      {zeros({1}), zeros({1}, i64)})[0];
  };
  expect_same_error(function, numbers({6}), IndexChecks::all);
  Compiled f = compile(function, {.index_checks = IndexChecks::all});
  EXPECT_EQ(f(numbers({5})).to_vector<float>(), Floats{5});
  EXPECT_EQ(f(numbers({0})).to_vector<float>(), Floats{0});
}

// It sees one state more than the body.
TEST(RowChecks, IdsOfTheConditionOfAWhileLoopAreLookedAt) {
  const Tensor table = ramp({5}) * 0.0 + 1.0;
  auto function = [&](const Tensor& from) {
    return while_loop(
        [&](const Tensors& s) { return gather(table, 0, s[0]) * (s[0] < 5).to(f32) > 0.0; },
        [](const Tensors& s) { return Tensors{s[0] + 1}; }, {from})[0];
  };
  expect_same_error(function, numbers({2}), IndexChecks::all);
  expect_same_error(function, numbers({9}), IndexChecks::all);
}

TEST(RowChecks, IdsOfTheBranchThatIsTakenAreLookedAt) {
  const Tensor table = ramp({5});
  auto function = [&](const Tensor& ids) {
    return cond(
        sum(ids) > 0, [&](const Tensors& s) { return Tensors{gather(table, 0, s[0])}; },
        [&](const Tensors& s) { return Tensors{gather(table, 0, s[0] + 9)}; }, {ids})[0];
  };
  expect_same_error(function, numbers({0, 7}), IndexChecks::all);
  expect_same_error(function, numbers({0, -7}), IndexChecks::all);
  for (IndexChecks checks : {IndexChecks::host_tensors, IndexChecks::all}) {
    Compiled f = compile(function, {.index_checks = checks});
    expect_near(f(numbers({0, 3})), function(numbers({0, 3})));
    expect_near(f(numbers({-8, -6})), function(numbers({-8, -6})));
  }
}

TEST(RowChecks, FunctionsSayWhatTheySayAtOnce) {
  const Tensor table = ramp({5}), source = ramp({3}), scores = ramp({3, 5});
  const std::vector<std::function<Tensor(const Tensor&)>> functions = {
      [&](const Tensor& i) { return take(table, i); },
      [&](const Tensor& i) { return index_select(table, 0, i); },
      [&](const Tensor& i) { return index_add(table, 0, i, source); },
      [&](const Tensor& i) { return put(table, i, source); },
      [&](const Tensor& i) { return one_hot(i, 5); },
      [&](const Tensor& i) { return nll_loss(scores, i); },
      [&](const Tensor& i) { return cross_entropy(scores, i); },
      [&](const Tensor& i) { return multi_margin_loss(scores, i); }};
  for (const auto& function : functions)
    for (std::int64_t bad : {7, -9}) {
      expect_same_error(function, numbers({0, bad, 2}), IndexChecks::host_tensors);
      auto of_computed = [&](const Tensor& i) { return function(i + 1); };
      expect_same_error(of_computed, numbers({0, bad - 1, 2}), IndexChecks::all);
    }
  Compiled ignoring = compile([&](const Tensor& i) { return nll_loss(scores, i + 0); },
                              {.index_checks = IndexChecks::all});
  expect_near(ignoring(numbers({0, -100, 2})), nll_loss(scores, numbers({0, -100, 2})));
}

// A captured index is data: its present contents count, and so does a view of it.
TEST(RowChecks, IdsThatTheFunctionHoldsAreLookedAtInEachCall) {
  const Tensor table = ramp({5});
  Tensor ids = numbers({0, 1, 2, 3});
  Compiled f = compile([&](const Tensor& x) { return gather(table, 0, ids.slice(0, 1, 3)) + x; });
  f(zeros({1}));
  ids.copy_from(numbers({9, 1, 2, 9}));
  EXPECT_EQ(error_of([&] { f(zeros({1})); }), "no error");
  ids.copy_from(numbers({0, 1, 8, 3}));
  expect_refused([&] { f(zeros({1})); }, "[gather] index 8 is outside 5 places");
}

TEST(RowChecks, NothingIsLookedAtThatIsKnownToLieInside) {
  Tensor table = ramp({10, 3});
  auto launches = [&](const std::function<Tensor(const Tensor&)>& function, IndexChecks checks) {
    Compiled f = compile(function, {.fullgraph = true, .index_checks = checks});
    f(numbers({4, 5, 1}));
    return f.report().at(0).launches;
  };
  auto rows = [&](const Tensor& ids) { return embedding(ids, table) + 1; };
  const std::function<Tensor(const Tensor&)> inside[] = {
      [&](const Tensor& x) { return rows(argsort(x)); },
      [&](const Tensor& x) { return rows(argsort(x) * 4 + 1); },
      [&](const Tensor& x) { return rows(clamp(x * 7, 0, 9)); },
      [&](const Tensor& x) { return rows(remainder(x * 7, 10)); },
      [&](const Tensor& x) { return rows(where(x > 2, argsort(x), arange(0, 3) + 7)); },
      [&](const Tensor& x) { return rows(bitwise_and(x.to(u8), 7).to(i64)); },
      [&](const Tensor& x) { return rows(argmax(x, 0, true)); },
  };
  for (const auto& function : inside)
    EXPECT_EQ(launches(function, IndexChecks::all), launches(function, IndexChecks::none));
  const std::function<Tensor(const Tensor&)> outside[] = {
      [&](const Tensor& x) { return rows(argsort(x) * 5); },
      [&](const Tensor& x) { return rows(argsort(x) - 1); },
      [&](const Tensor& x) { return rows(clamp(x * 2, 0, 10)); },
      [&](const Tensor& x) { return rows(where(x > 2, argsort(x), arange(0, 3) + 8)); },
      [&](const Tensor& x) { return rows((x * 51).to(i8).to(i64)); },
  };
  for (const auto& function : outside)
    expect_refused([&] { launches(function, IndexChecks::all); }, "is outside a table of 10");
}

TEST(RowChecks, NothingIsLookedAtWhereNothingIsWanted) {
  Tensor table = ramp({10, 3});
  Compiled f = compile([&](const Tensor& ids) { return embedding(ids, table); },
                       {.index_checks = IndexChecks::none});
  EXPECT_EQ(f(numbers({11})).to_vector<float>(), Floats(3, 0));
}

}  // namespace
}  // namespace tilewright::row_checks_test
