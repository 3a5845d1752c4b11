// How far sums are from exact ones: by no more than a tree of additions would be, on every host
// that this one can be, and by definition. Added one after the other, they would be off by a number
// of roundings as large as their length.
#include <gtest/gtest.h>

#include <cmath>

#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "tests/dsl/expect_same.h"

namespace tilewright::dsl::sum_error_test {
namespace {

constexpr double unit = 0x1p-24;  // the rounding of an f32 to the nearest

// The sum of a tile along an axis, in one program.
ir::Function sum_program(const Shape& shape, int axis) {
  Tracer tracer("sum");
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32);
  const Strides strides = row_major_strides(shape);
  std::vector<Operand> sizes(shape.begin(), shape.end()), steps(strides.begin(), strides.end());
  std::vector<Operand> zeros(shape.size(), 0);
  Tile sums = sum(load(make_desc(x, sizes, steps), zeros, shape), axis);
  const std::int64_t count = element_count(shape) / shape[axis];
  store(make_desc(y, {count}, {1}), {0}, reshape(sums, {count}));
  return tracer.finish();
}

struct ExactSum {
  double value = 0, magnitude = 0;  // of what is added up
};

std::vector<ExactSum> exact_sums(const Array& x, const Shape& shape, int axis) {
  std::int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  std::vector<ExactSum> sums(x.size() / static_cast<std::size_t>(shape[axis]));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t outer = at / (inner * shape[axis]);
    ExactSum& sum = sums[static_cast<std::size_t>(outer * inner + at % inner)];
    sum.value += double{x[i]};
    sum.magnitude += std::abs(double{x[i]});
  }
  return sums;
}

struct SumOf {
  Shape shape;
  int axis;
  friend std::ostream& operator<<(std::ostream& out, const SumOf& sum) {
    return out << sum.shape << " over axis " << sum.axis;
  }
};

class SumError : public testing::TestWithParam<SumOf> {
 protected:
  // Compares the program's sums of `x` with exact ones, within so many roundings of each addend.
  void expect_within(const Array& x, double roundings) {
    const auto& [shape, axis] = GetParam();
    const ir::Function function = sum_program(shape, axis);
    const std::vector<ExactSum> exact = exact_sums(x, shape, axis);
    auto check = [&](const std::string& how, auto&& run) {
      const Array sums = arrays_after({x, Array(exact.size(), NAN)}, run).back();
      for (std::size_t i = 0; i < exact.size(); ++i)
        ASSERT_LE(std::abs(sums[i] - exact[i].value), roundings * unit * exact[i].magnitude)
            << how << ", sum " << i << " of " << GetParam() << ": " << sums[i] << " is not "
            << exact[i].value;
    };
    check("interpreted", [&](auto& arguments) { ir::interpret(function, {}, arguments); });
    for (const Target& target : tested_targets()) {
      auto artifact = compiled(function, target);
      check(target.features, [&](auto& arguments) { run_all(*artifact, {}, arguments); });
    }
  }
  std::size_t count() const { return static_cast<std::size_t>(element_count(GetParam().shape)); }
  double depth() const {
    return std::ceil(std::log2(static_cast<double>(GetParam().shape[GetParam().axis])));
  }
};

// Rows of a part of a vector, of one, of several with a tail; numbers of rows that fill blocks of
// blocks and that do not; an axis amid others; and along the lanes.
INSTANTIATE_TEST_SUITE_P(Tiles, SumError,
                         testing::Values(SumOf{{3000, 4}, 0}, SumOf{{4096, 1}, 0},
                                         SumOf{{1000, 3}, 0}, SumOf{{517, 40}, 0},
                                         SumOf{{20003, 7}, 0}, SumOf{{4100, 129}, 0},
                                         SumOf{{3, 700, 5}, 1}, SumOf{{600, 3, 5}, 0},
                                         SumOf{{7, 5}, 0}, SumOf{{2, 100003}, 1},
                                         SumOf{{300000}, 0}));

TEST_P(SumError, OfNumbersOfOneSignIsThatOfATree) {
  Array x = random_array(count(), 3);
  for (float& element : x) element = std::abs(element);
  expect_within(x, depth());
}

TEST_P(SumError, OfNumbersOfBothSignsIsThatOfATree) {
  expect_within(random_array(count(), 4), depth());
}

// Neighbouring additions are rounded alike, which adds up where chance would not.
TEST_P(SumError, OfEqualNumbersIsThatOfATree) { expect_within(Array(count(), 0.1F), 2 * depth()); }

TEST_P(SumError, OfMillionsIsHardlyAny) { expect_within(Array(count(), 1e6F), 2); }

TEST(SumsAcrossRows, KeepInfinitiesAndWhatIsNoNumberToTheirColumns) {
  const Shape shape{700, 5};
  Array x(3500, 1.F);
  x[5 * 300 + 1] = INFINITY;
  x[5 * 301 + 2] = -INFINITY;
  x[5 * 10 + 3] = INFINITY;
  x[5 * 699 + 3] = -INFINITY;
  x[5 * 650 + 4] = NAN;
  const ir::Function function = sum_program(shape, 0);
  for (const Target& target : tested_targets()) {
    auto artifact = compiled(function, target);
    const Array sums = arrays_after({x, Array(5, 0)}, [&](auto& arguments) {
                         run_all(*artifact, {}, arguments);
                       }).back();
    EXPECT_EQ(sums[0], 700);
    EXPECT_EQ(sums[1], INFINITY);
    EXPECT_EQ(sums[2], -INFINITY);
    EXPECT_TRUE(std::isnan(sums[3])) << sums[3];
    EXPECT_TRUE(std::isnan(sums[4])) << sums[4];
  }
}

// Other reductions in the same loops keep their results.
TEST(SumsAcrossRows, StandBesideOtherReductionsAndStores) {
  const Shape shape{333, 21};
  Tracer tracer("beside");
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32),
       z = tracer.pointer_param("z", f32);
  Tile tile = load(make_desc(x, {333, 21}, {21, 1}), {0, 0}, shape);
  store(make_desc(y, {333, 21}, {21, 1}), {0, 0}, tile * 2.0);
  Desc results = make_desc(z, {105 + 333}, {1});
  store(results, {0}, sum(tile, 0));
  store(results, {21}, max(tile, 0));
  store(results, {42}, min(tile, 0));
  store(results, {63}, cast(reduce(tile, ir::ReduceKind::argmax, 0), f32));
  store(results, {84}, sum(tile * tile, 0));
  store(results, {105}, max(tile, 1));
  expect_same(tracer.finish(),
              {random_array(333 * 21, 5), Array(333 * 21, NAN), Array(105 + 333, NAN)}, {}, 1e-4F);
}

// Several rows of a turn, where nothing else is done beside.
TEST(SumsAcrossRows, AreLikeOtherReductionsAcrossRows) {
  for (std::int64_t rows : {7, 8, 9, 130, 131}) {
    Tracer tracer("alike");
    Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32);
    Tile tile = load(make_desc(x, {rows, 35}, {35, 1}), {0, 0}, {rows, 35});
    Desc results = make_desc(y, {105}, {1});
    store(results, {0}, sum(tile, 0));
    store(results, {35}, max(tile, 0));
    store(results, {70}, min(tile, 0));
    expect_same(tracer.finish(),
                {random_array(static_cast<std::size_t>(rows * 35), 6), Array(105, NAN)}, {});
  }
}

TEST(SumErrorOfDoubles, IsThatOfATreeToo) {
  constexpr std::int64_t count = 1 << 18;
  Tracer tracer("sum");
  Tile x = tracer.pointer_param("x", f64), y = tracer.pointer_param("y", f64);
  Tile row = load(make_desc(x, {count}, {1}), {0}, {count});
  store(y, sum(row, 0));
  const ir::Function function = tracer.finish();
  std::vector<double> addends(count, 0.1);
  for (const Target& target : tested_targets()) {
    double result = 0;
    std::vector<Argument> arguments{{.pointer = addends.data()}, {.pointer = &result}};
    run_all(*compiled(function, target), {}, arguments);
    EXPECT_NEAR(result, 0.1 * count, 2 * 18 * 0x1p-53 * 0.1 * count) << target.features;
  }
}

}  // namespace
}  // namespace tilewright::dsl::sum_error_test
