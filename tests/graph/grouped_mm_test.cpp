// Products of groups of rows against loops: at once and compiled, weights stored either way, groups
// without rows, and sizes that change.
#include <gtest/gtest.h>

#include "graph/differentiating/check_gradients.h"
#include "graph/functions/reducing/products.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::grouped_mm_test {
namespace {

using namespace testing_loops;

// Whole numbers, whose sums are exact.
Tensor whole(Dice& dice, const Shape& shape, DType dtype = f32) {
  return dice.integers(shape, -4, 5).to(dtype);
}
Floats as_floats(const Tensor& x) { return x.to(f32).to_vector<float>(); }

struct Groups {
  Integers ends;
  std::int64_t of(std::int64_t row) const {
    std::size_t group = 0;
    while (group < ends.size() && ends[group] <= row) ++group;
    return static_cast<std::int64_t>(group);
  }
  std::int64_t count() const { return std::ssize(ends); }
  Tensor tensor(DType dtype = i64) const { return Tensor::from(ends, {count()}).to(dtype); }
};

// a [R, K] and b [G, K, N].
Floats by_rows(const Tensor& a, const Tensor& b, const Groups& groups) {
  const Floats x = as_floats(a), y = as_floats(b);
  const std::int64_t depth = a.size(1), columns = b.size(2);
  return elements<float>({a.size(0), columns}, [&](const Place& at) {
    const std::int64_t group = groups.of(at[0]);
    float total = 0;
    for (std::int64_t k = 0; k < depth && group < groups.count(); ++k)
      total += x[number_of(a.shape(), {at[0], k})] * y[number_of(b.shape(), {group, k, at[1]})];
    return total;
  });
}

// a [M, R] and b [R, N].
Floats by_sums(const Tensor& a, const Tensor& b, const Groups& groups) {
  const Floats x = as_floats(a), y = as_floats(b);
  return elements<float>({groups.count(), a.size(0), b.size(1)}, [&](const Place& at) {
    float total = 0;
    for (std::int64_t row = 0; row < a.size(1); ++row)
      if (groups.of(row) == at[0])
        total += x[number_of(a.shape(), {at[1], row})] * y[number_of(b.shape(), {row, at[2]})];
    return total;
  });
}

void expect_product(const Tensor& a, const Tensor& b, const Tensor& ends, const Floats& wanted) {
  expect_at_once_and_compiled(
      [](const Tensors& t) { return Tensors{grouped_mm(t[0], t[1], t[2])}; }, {a, b, ends},
      [&](const Tensors& y) {
        EXPECT_EQ(y[0].dtype(), a.dtype());
        EXPECT_EQ(as_floats(y[0]), as_floats(Tensor::from(wanted, y[0].shape()).to(a.dtype())));
      });
}

struct Case {
  std::int64_t depth, columns;
  Groups groups;
  std::int64_t rows;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {1, 1, {{1}}, 1},
      {33, 17, {{3, 3, 10, 64}}, 70},           // an empty group, and rows behind the last
      {64, 48, {{0, 0, 5, 5, 5, 6, 8, 8}}, 8},  // few rows, each with a matrix of its own
      {16, 130, {{100, 160}}, 160},             // many
      {40, 24, {{9, 4, -3, 11, 500}}, 12},      // ends that fall, and one beyond all rows
  };
  return all;
}

TEST(GroupedProduct, MultipliesEachRowByTheMatrixOfItsGroup) {
  Dice dice(1);
  for (const Case& one : cases())
    for (DType dtype : {f32, bf16, f16, f64}) {
      const Tensor a = whole(dice, {one.rows, one.depth}, dtype);
      const Tensor b = whole(dice, {one.groups.count(), one.depth, one.columns}, dtype);
      const Floats wanted = by_rows(a, b, one.groups);
      expect_product(a, b, one.groups.tensor(), wanted);
      // Stored along the inner axis, and rows in reverse.
      const Tensor stored = b.transpose(1, 2).contiguous();
      expect_product(a, stored.transpose(1, 2), one.groups.tensor(i32), wanted);
      const Tensor columns = a.transpose(0, 1).contiguous();
      expect_product(columns.transpose(0, 1), b, one.groups.tensor(), wanted);
    }
}

TEST(GroupedProduct, SumsOverTheRowsOfAGroup) {
  Dice dice(2);
  for (const Case& one : cases())
    for (DType dtype : {f32, bf16}) {
      const Tensor a = whole(dice, {one.rows, one.depth}, dtype);
      const Tensor b = whole(dice, {one.rows, one.columns}, dtype);
      const Tensor turned = a.transpose(0, 1);
      expect_product(turned, b, one.groups.tensor(), by_sums(turned, b, one.groups));
    }
}

TEST(GroupedProduct, TakesStacksOfEitherSide) {
  Dice dice(3);
  const Groups groups{{2, 5, 5, 9}};
  const Tensor a = whole(dice, {4, 6, 3}), b = whole(dice, {3, 9}), c = whole(dice, {4, 3, 5});
  const Tensor product = grouped_mm(a, b, groups.tensor());
  EXPECT_EQ(product.shape(), (Shape{6, 9}));
  EXPECT_EQ(as_floats(product.transpose(0, 1).contiguous()),
            by_rows(b.transpose(0, 1).contiguous(), a.transpose(1, 2).contiguous(), groups));
  EXPECT_EQ(as_floats(grouped_mm(a, c)), as_floats(bmm(a, c)));
}

TEST(GroupedProduct, AddsABias) {
  Dice dice(6);
  const Groups groups{{1, 3}};
  const Tensor a = whole(dice, {4, 2}), b = whole(dice, {2, 2, 3}), bias = whole(dice, {3});
  EXPECT_EQ(as_floats(grouped_mm(a, b, groups.tensor(), bias)),
            as_floats(grouped_mm(a, b, groups.tensor()) + bias));
}

TEST(GroupedProduct, IsZeroWhereThereIsNothingToSum) {
  const Tensor ends = Groups{{0, 2}}.tensor();
  for (const Tensor& y : {grouped_mm(zeros({3, 0}), zeros({2, 0, 4}), ends),
                          grouped_mm(zeros({3, 0}), zeros({0, 4}), ends)})
    for (float x : y.to_vector<float>()) EXPECT_EQ(x, 0);
  EXPECT_EQ(grouped_mm(zeros({0, 3}), zeros({2, 3, 4}), ends).shape(), (Shape{0, 4}));
}

TEST(GroupedProduct, ServesOtherNumbersOfRows) {
  Dice dice(4);
  CompiledFunction compiled([](const Tensors& t) { return Tensors{grouped_mm(t[0], t[1], t[2])}; },
                            {.fullgraph = true});
  const Tensor b = whole(dice, {5, 20, 36});
  for (std::int64_t rows : {3, 11, 1, 64, 7, 200, 12}) {
    const Groups groups{{rows / 5, rows / 3, rows / 3, rows / 2, rows}};
    const Tensor a = whole(dice, {rows, 20});
    EXPECT_EQ(as_floats(compiled.call({a, b, groups.tensor()})[0]), by_rows(a, b, groups)) << rows;
  }
}

TEST(GroupedProduct, HasDerivatives) {
  Dice dice(5);
  const Tensor ends = Groups{{2, 2, 7}}.tensor();
  const Tensor a = dice.floats({8, 3}), b = dice.floats({3, 3, 4}), c = dice.floats({8, 5});
  check_gradients(
      [&](const Tensor& x, const Tensor& y) { return sum(tanh(grouped_mm(x, y, ends))); },
      std::tuple{a, b});
  check_gradients(
      [&](const Tensor& x, const Tensor& y) {
        return sum(tanh(grouped_mm(x.transpose(0, 1), y, ends)));
      },
      std::tuple{a, c});
}

TEST(GroupedProduct, SaysWhatDoesNotFit) {
  const Tensor a = zeros({4, 3}), stack = zeros({2, 3, 5}), ends = Groups{{1, 4}}.tensor();
  expect_contains(error_of([&] { grouped_mm(a, stack); }), "offs says where groups of rows end");
  expect_contains(error_of([&] { grouped_mm(stack, stack, ends); }), "left out for two stacks");
  expect_contains(error_of([&] { grouped_mm(a, zeros({3, 3, 5}), ends); }), "there are 2 groups");
  expect_contains(error_of([&] { grouped_mm(a, stack, ends, zeros({7})); }), "[grouped_mm]");
  expect_contains(error_of([&] { grouped_mm(a, stack, ends, zeros({5}, bf16)); }),
                  "[grouped_mm] the bias is bf16, a is f32");
}

}  // namespace
}  // namespace tilewright::grouped_mm_test
