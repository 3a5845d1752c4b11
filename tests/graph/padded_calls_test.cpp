// Calls that are padded to declared sizes, and those that are not since results would change.
#include "graph/compile/padded_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/functions/log.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/products.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::padded_calls_test {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

Options of_default_device(Options options = {}) {
  options.tell_breaks = false;
  return options;
}

// Rows of 8 numbers that differ, so many along the axis.
Tensor rows(std::int64_t count) { return sin(ramp({count, 8}) * 25); }

// How many plans calls of 2 to 12 rows make with buckets of 4 and 12, and that they are right.
std::size_t plans_of(const Function& function, const std::function<Tensor(std::int64_t)>& example,
                     int axis = 0) {
  auto fast = compile([&](const Tensor& x) { return function(x); }, of_default_device());
  Tensor first = example(2);
  mark_dynamic(first, axis, {.buckets = {4, 12}});
  fast(first);
  for (std::int64_t count : {2, 3, 4, 5, 7, 11, 12, 3, 7}) {
    Tensor x = example(count), y = fast(x), expected = function(x);
    EXPECT_EQ(y.shape(), expected.shape());
    EXPECT_TRUE(y.is_contiguous());
    expect_near(y, expected);
  }
  return fast.report().size();
}
std::size_t plans_of_rows(const Function& function) { return plans_of(function, rows); }

std::string obstacle_of(const Function& function, const Tensor& example, int axis = 0) {
  auto fast = compile([&](const Tensor& x) { return function(x); }, of_default_device());
  mark_dynamic(example, axis, {.buckets = {4, 12}});
  Tensor expected = function(example);
  expect_near(fast(example), expected);
  const std::string sizes = fast.report().at(0).sizes;
  std::size_t at = sizes.find("not padded: ");
  return at == std::string::npos ? "" : sizes.substr(at);
}

// Each bucket is a size: beside the signatures, and the one used least recently gives way.
TEST(PaddedCalls, CountUnderMaxSizesAndNotUnderMaxSignatures) {
  const Function twice = [](const Tensor& x) { return x * 2; };
  auto fast = compile([&](const Tensor& x) { return twice(x); },
                      of_default_device({.max_signatures = 1, .max_sizes = 2}));
  Tensor first = rows(2);
  mark_dynamic(first, 0, {.buckets = {4, 8, 12}});
  fast(first);
  auto buckets = [&] {
    std::vector<std::int64_t> sizes;
    for (const PlanReport& report : fast.report()) {
      EXPECT_TRUE(report.sizes_vary);
      sizes.push_back(std::stoll(report.signature.substr(report.signature.find(' ') + 1)));
    }
    std::ranges::sort(sizes);
    return sizes;
  };
  for (std::int64_t count : {3, 7, 4}) expect_near(fast(rows(count)), twice(rows(count)));
  EXPECT_EQ(buckets(), (std::vector<std::int64_t>{4, 8}));
  for (std::int64_t count : {1, 11}) expect_near(fast(rows(count)), twice(rows(count)));
  EXPECT_EQ(buckets(), (std::vector<std::int64_t>{4, 12}));  // that of 8 was used least recently
  // Another dtype is one more of them, since it has a marked axis too.
  expect_near(fast(rows(3).to(f64)).to(f32), twice(rows(3)));
  EXPECT_EQ(fast.report().size(), 2U);
}

// As many sizes as there may be in a bucket, however few plans are kept.
TEST(PaddedCalls, AreProvedOnceASize) {
  int runs = 0;
  auto fast = compile(
      [&](const Tensor& x) {
        ++runs;
        return x * 2;
      },
      of_default_device({.max_sizes = 2}));
  Tensor first = rows(2);
  mark_dynamic(first, 0, {.buckets = {256}});
  fast(first);
  for (std::int64_t count = 1; count <= 200; ++count) fast(rows(count));
  const int proofs = runs;
  for (std::int64_t count = 1; count <= 200; ++count)
    expect_near(fast(rows(count)), rows(count) * 2);
  EXPECT_EQ(runs, proofs);
}

TEST(PaddedCalls, OfRowsMakeOnePlanABucket) {
  Tensor weight = ramp({6, 8}) * 0.1, bias = ramp({6}), scale = ramp({8});
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) { return x * 2 + scale; }), 2U);
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) { return softmax(x, -1); }), 2U);
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) { return linear(x, weight, bias); }), 2U);
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) { return layer_norm(x, scale, scale); }), 2U);
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) { return mean(x, {1}); }), 2U);
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) { return argsort(x, -1).to(DType::f32); }), 2U);
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) { return cat({scale.reshape({1, 8}), x}, 0); }), 2U);
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) {
              return arange(0, x.shape()[0]).reshape({-1, 1}).to(DType::f32) + x;
            }),
            2U);
}

TEST(PaddedCalls, AreLookedAtOnceForEachSize) {
  int runs = 0;
  auto fast = compile(
      [&](const Tensor& x) {
        ++runs;
        return x * 2;
      },
      of_default_device());
  Tensor x = rows(3);
  mark_dynamic(x, 0, {.buckets = {4, 12}});
  fast(x);
  const int runs_of_first = runs;
  for (int call = 0; call < 3; ++call) fast(x);
  EXPECT_EQ(runs, runs_of_first);
}

TEST(PaddedCalls, AreCutAlongInnerAxes) {
  Tensor weight = ramp({3, 5});
  EXPECT_EQ(plans_of([](const Tensor& x) { return x * 3; },
                     [](std::int64_t n) {
                       return ramp({5, n});
                     },
                     1),
            2U);
  EXPECT_EQ(plans_of([&](const Tensor& x) { return matmul(weight, x); },
                     [](std::int64_t n) {
                       return ramp({5, n});
                     },
                     1),
            2U);
  EXPECT_EQ(plans_of(
                [](const Tensor& x) {
                  return (x * 2).reshape({2, -1, 2, 4}).permute({0, 2, 1, 3}) + 1;
                },
                [](std::int64_t n) {
                  return ramp({2, n, 8});
                },
                1),
            2U);
}

// Batches of prompts: reshapes of rows join the batch with the padded axis.
TEST(PaddedCalls, OfCausalAttentionSeeNoPadding) {
  Tensor weight = ramp({8, 8}) * 0.02;
  auto block = [&](const Tensor& x) {
    auto heads = [&](const Tensor& t) {
      return t.reshape({t.shape()[0], t.shape()[1], 2, 4}).permute({0, 2, 1, 3});
    };
    Tensor q = heads(linear(x, weight)), k = heads(linear(x, weight * 2)), v = heads(x);
    Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true});
    return y.permute({0, 2, 1, 3}).reshape({x.shape()[0], x.shape()[1], 8}) + x;
  };
  EXPECT_EQ(plans_of(
                block,
                [](std::int64_t n) {
                  return sin(ramp({2, n, 8}) * 30);
                },
                1),
            2U);
  auto whole = [&](const Tensor& x) {
    Tensor t = x.reshape({x.shape()[0], x.shape()[1], 1, 8}).permute({0, 2, 1, 3});
    return scaled_dot_product_attention(t, t, t);
  };
  expect_contains(obstacle_of(whole, ramp({2, 3, 8}), 1), "its rows see all keys");
}

// A repeated value is the same wherever a padded axis is, also where it was joined with another:
// the linear layers of exported programs, which add a bias to rows of a list.
TEST(PaddedCalls, AddRepeatedValuesToJoinedAxes) {
  const Tensor weight = ramp({8, 6}) * 0.1, bias = ramp({6});
  auto prompts = [](std::int64_t n) { return sin(ramp({2, n, 8}) * 30); };
  auto list = [](const Tensor& x) { return x.reshape({-1, 8}); };
  auto like = [](const Tensor& x, const Tensor& y) {
    return y.reshape({x.shape()[0], x.shape()[1], -1});
  };
  EXPECT_EQ(
      plans_of([&](const Tensor& x) { return like(x, addmm(bias, list(x), weight)); }, prompts, 1),
      2U);
  EXPECT_EQ(plans_of(
                [&](const Tensor& x) {
                  const Tensor two = full({x.shape()[0] * x.shape()[1], 8}, 2.0);
                  return like(x, two * list(x));
                },
                prompts, 1),
            2U);
  // Running sums of the same value differ from place to place.
  expect_contains(obstacle_of(
                      [&](const Tensor& x) {
                        const Tensor ones = full({x.shape()[0] * x.shape()[1], 1}, 1.0);
                        return like(x, cumsum(ones, 0) + list(x));
                      },
                      prompts(3), 1),
                  "it takes values together that are padded in different places");
}

TEST(PaddedCalls, AreWhatTheyAreWhereResultsWouldChange) {
  Tensor table = ramp({20, 8});
  auto obstacle = [&](const Function& f) { return obstacle_of(f, rows(3)); };
  expect_contains(obstacle([](const Tensor& x) { return sum(x, {0}); }),
                  "not padded: sum at padded_calls_test.cpp:");
  expect_contains(obstacle([](const Tensor& x) { return mean(x, {0}); }),
                  "goes over a padded axis");
  expect_contains(obstacle([](const Tensor& x) {
                    return matmul(x.permute({1, 0}), x);
                  }),
                  "goes over a padded axis");
  expect_contains(obstacle([](const Tensor& x) { return x / double(x.shape()[0]); }),
                  "it is another one for the padded sizes");
  expect_contains(obstacle([](const Tensor& x) {
                    const std::int64_t n = x.shape()[0];
                    return n == 3 ? (x * 2).reshape({n, 2, 4}) : (x * 2).reshape({n, 2, 4, 1});
                  }),
                  "it is another one for the padded sizes");
  expect_contains(
      obstacle([](const Tensor& x) { return x.slice(0, x.shape()[0] - 1, x.shape()[0]) * 2; }),
      "it is another one for the padded sizes");
  expect_contains(obstacle([](const Tensor& x) {
                    return cat({x, x}, 0);
                  }),
                  "it joins something behind a padded axis");
  expect_contains(obstacle([](const Tensor& x) { return softmax(x, 0); }),
                  "goes over a padded axis");
  expect_contains(obstacle([](const Tensor& x) {
                    return x.reshape({-1}).reshape({8, -1}) * 2;
                  }),
                  "so that elements change their places");
  expect_contains(obstacle([](const Tensor& x) { return x; }), "it returns an argument");
  expect_contains(obstacle([](const Tensor& x) {
                    log_callback(x * 2, [](const Tensor&) {});
                    return x * 3;
                  }),
                  "it prints or logs a value");
}

// One row is broadcast, and the function another one than for several.
TEST(PaddedCalls, OfOneRowAreRight) {
  Tensor bias = ramp({8});
  auto fast =
      compile([&](const Tensor& x) { return layer_norm(x, bias, bias); }, of_default_device());
  Tensor x = rows(1), y = rows(3);
  mark_dynamic(x, 0, {.buckets = {4}});
  expect_near(fast(x), layer_norm(x, bias, bias));
  expect_near(fast(y), layer_norm(y, bias, bias));
}

// State that is kept from call to call may be written; the rows added to an argument may not.
TEST(PaddedCalls, WriteWhatIsNotPadded) {
  Tensor weight = ramp({8}), written = zeros({8}).clone();
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) {
              written.copy_from(weight * 2);
              return x + weight;
            }),
            2U);
  expect_near(written, weight * 2);
  expect_contains(obstacle_of(
                      [](const Tensor& x) {
                        Tensor argument = x;
                        argument.copy_from(x * 0 + 3);
                        return x + 1;
                      },
                      rows(3).clone()),
                  "it writes a padded tensor in place");
}

TEST(PaddedCalls, SeeHandlesThatChange) {
  Tensor scale = ramp({8});
  auto fast = compile([&](const Tensor& x) { return x * scale; }, of_default_device());
  Tensor x = rows(3);
  mark_dynamic(x, 0, {.buckets = {4}});
  expect_near(fast(x), x * scale);
  scale = ramp({8}) + 1;
  expect_near(fast(x), x * scale);
  scale = ramp({3, 8}) + 2;  // of the size itself: another one for the padded size
  expect_near(fast(x), x * scale);
}

TEST(PaddedCalls, ReadTablesFurtherThanTheCallWould) {
  Tensor table = ramp({12, 8});
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) { return x + table.slice(0, 0, x.shape()[0]); }),
            2U);
  Tensor transposed = ramp({8, 12});
  EXPECT_EQ(plans_of_rows([&](const Tensor& x) {
              return x + transposed.slice(1, 0, x.shape()[0]).permute({1, 0});
            }),
            2U);
}

TEST(PaddedCalls, AreOnesOfEachModeAndStructure) {
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto fast = compile([](const std::vector<Tensor>& xs) { return xs.at(0) + xs.at(1) * 2; },
                        of_default_device({.mode = mode}));
    Tensor a = rows(3), b = rows(3) + 1;
    mark_dynamic(a, 0, {.buckets = {8}});
    mark_dynamic(b, 0, {.buckets = {8}});
    expect_near(fast({a, b}), a + b * 2);
    Tensor c = rows(7), d = rows(7) + 1;
    Tensor y = fast({c, d});
    expect_near(y, c + d * 2);
    EXPECT_EQ(fast.report().size(), 1U);
  }
}

TEST(PaddedCalls, WithBucketsThatCannotBeAreErrors) {
  Tensor x = ramp({5, 8});
  expect_contains(error_of([&] {
                    mark_dynamic(x, 0, {.buckets = {8, 8}});
                  }),
                  "[mark_dynamic] bucket 1 is 8 after 8 (at ");
  expect_contains(error_of([&] {
                    mark_dynamic(x, 0, {.buckets = {0, 8}});
                  }),
                  "[mark_dynamic] bucket 0 is 0 (at ");
  expect_contains(
      error_of([&] {
        mark_dynamic(x, 0, {.max = 16, .buckets = {8, 32}});
      }),
      "[mark_dynamic] bucket 1 is 32 and the axis is declared to have sizes from 0 to 16");
  expect_contains(error_of([&] {
                    mark_dynamic(x, 0, {.buckets = {2, 4}});
                  }),
                  "axis 0 is 5 and is declared to have sizes from 0 to 4, padded to 2 or 4");
  auto fast = compile([](const Tensor& t) { return t * 2; });
  mark_dynamic(x, 0, {.buckets = {6, 8}});
  fast(x);
  expect_contains(error_of([&] {
                    fast(ramp({9, 8}));
                  }),
                  "axis 0 is 9 and was declared by mark_dynamic to have sizes from 0 to 8, padded "
                  "to 6 or 8");
}

}  // namespace
}  // namespace tilewright::padded_calls_test
