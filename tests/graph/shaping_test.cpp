// Joining, parting, repeating and reordering axes, and tensors from numbers, as PyTorch 2.15 does.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/creation.h"
#include "graph/functions/shaping/axes.h"
#include "graph/functions/shaping/joining.h"
#include "graph/functions/shaping/parts.h"
#include "graph/functions/shaping/pixels.h"
#include "graph/functions/shaping/repeating.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::shaping_test {
namespace {

using Tensors = std::vector<Tensor>;
using Numbers = std::vector<std::int64_t>;

Tensor counted(const Shape& shape) { return arange(0, element_count(shape)).reshape(shape); }

void expect(const Tensor& x, const Shape& shape, const Numbers& elements) {
  EXPECT_EQ(x.shape(), shape);
  EXPECT_EQ(x.to(i64).to_vector<std::int64_t>(), elements);
}
std::vector<Shape> shapes_of(const Tensors& tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& x : tensors) shapes.push_back(x.shape());
  return shapes;
}
std::vector<Numbers> values_of(const Tensors& tensors) {
  std::vector<Numbers> values;
  for (const Tensor& x : tensors) values.push_back(x.to(i64).to_vector<std::int64_t>());
  return values;
}

TEST(Stack, HasANewAxis) {
  Tensor a = counted({2, 3}), b = a + 10;
  expect(stack({a, b}), {2, 2, 3}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  expect(stack({a, b}, 1), {2, 2, 3}, {0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15});
  expect(stack({a, b}, -1), {2, 3, 2}, {0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15});
  expect(stack({full({}, 1), full({}, 2)}), {2}, {1, 2});
  expect_contains(error_of([&] { stack({}); }), "[stack] there are no tensors");
  expect_contains(error_of([&] {
                    stack({a, counted({3, 2})});
                  }),
                  "[stack] tensor 1 is 3x2, tensor 0 2x3");
  expect_contains(error_of([&] { stack({a, b}, 3); }), "[unsqueeze] axis 3");
}

TEST(Stack, AlongRowsColumnsAndDepth) {
  Tensor v = counted({2}), m = counted({2, 2});
  expect(hstack({v, v + 5}), {4}, {0, 1, 5, 6});
  expect(hstack({m, m + 5}), {2, 4}, {0, 1, 5, 6, 2, 3, 7, 8});
  expect(vstack({v, m}), {3, 2}, {0, 1, 0, 1, 2, 3});
  expect(dstack({v, v + 5}), {1, 2, 2}, {0, 5, 1, 6});
  expect(dstack({m, m + 5}), {2, 2, 2}, {0, 5, 1, 6, 2, 7, 3, 8});
  expect(column_stack({v, m}), {2, 3}, {0, 0, 1, 1, 2, 3});
  expect(block_diag({m, v, full({}, 7)}), {4, 5},
         {0, 1, 0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 7});
  expect_contains(error_of([&] {
                    block_diag({counted({1, 2, 3})});
                  }),
                  "[block_diag] tensor 0 is 1x2x3");
}

TEST(BroadcastTensors, HaveOneShape) {
  Tensors all = broadcast_tensors({counted({2, 1}), counted({3})});
  EXPECT_EQ(values_of(all), (std::vector<Numbers>{{0, 0, 0, 1, 1, 1}, {0, 1, 2, 0, 1, 2}}));
  expect_contains(error_of([] {
                    broadcast_tensors({counted({2}), counted({3})});
                  }),
                  "[broadcast_tensors] tensor 1 is 3, those before it 2");
}

TEST(Meshgrid, HasTheCoordinatesOfPlaces) {
  Tensor x = counted({2}), y = counted({3}) + 5;
  Tensors ij = meshgrid({x, y}), xy = meshgrid({x, y}, GridOrder::xy);
  EXPECT_EQ(shapes_of(ij), (std::vector<Shape>{{2, 3}, {2, 3}}));
  EXPECT_EQ(values_of(ij), (std::vector<Numbers>{{0, 0, 0, 1, 1, 1}, {5, 6, 7, 5, 6, 7}}));
  EXPECT_EQ(shapes_of(xy), (std::vector<Shape>{{3, 2}, {3, 2}}));
  EXPECT_EQ(values_of(xy), (std::vector<Numbers>{{0, 1, 0, 1, 0, 1}, {5, 5, 6, 6, 7, 7}}));
  expect(cartesian_prod({x, y}), {6, 2}, {0, 5, 0, 6, 0, 7, 1, 5, 1, 6, 1, 7});
  expect(cartesian_prod({x}), {2}, {0, 1});
  expect_contains(error_of([] { meshgrid({counted({2, 2})}); }), "[meshgrid] tensor 0 is 2x2");
}

TEST(Split, GivesViews) {
  Tensor x = counted({5, 2});
  EXPECT_EQ(values_of(split(x, 2)), (std::vector<Numbers>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
  EXPECT_EQ(shapes_of(split(x, 9)), (std::vector<Shape>{{5, 2}}));
  EXPECT_EQ(shapes_of(split(counted({0, 2}), 2)), (std::vector<Shape>{{0, 2}}));
  EXPECT_EQ(shapes_of(split(x, {1, 0, 4})), (std::vector<Shape>{{1, 2}, {0, 2}, {4, 2}}));
  EXPECT_EQ(values_of(split(x, {1, 1}, -1)),
            (std::vector<Numbers>{{0, 2, 4, 6, 8}, {1, 3, 5, 7, 9}}));
  split(x, {1, 4})[0].copy_from(full({1, 2}, 77, i64));
  EXPECT_EQ(x.to_vector<std::int64_t>()[1], 77);
  expect_contains(error_of([&] { split(x, 0); }), "[split] parts of 0 elements");
  expect_contains(error_of([&] { split(x, {2, 2}); }), "[split] sizes 2x2 leave 1 of an axis of 5");
  expect_contains(error_of([&] { split(x, {2, 4}); }), "[split] sizes 2x4 of an axis of 5");
}

TEST(Chunk, IsOfAtMostSoMany) {
  EXPECT_EQ(shapes_of(chunk(counted({5}), 3)), (std::vector<Shape>{{2}, {2}, {1}}));
  EXPECT_EQ(shapes_of(chunk(counted({5}), 4)), (std::vector<Shape>{{2}, {2}, {1}}));
  EXPECT_EQ(shapes_of(chunk(counted({2}), 5)), (std::vector<Shape>{{1}, {1}}));
  expect_contains(error_of([] { chunk(counted({2}), 0); }), "[chunk] 0 parts");
}

TEST(TensorSplit, IsOfExactlySoManyOrAtPlaces) {
  EXPECT_EQ(shapes_of(tensor_split(counted({5}), 3)), (std::vector<Shape>{{2}, {2}, {1}}));
  EXPECT_EQ(shapes_of(tensor_split(counted({2}), 4)), (std::vector<Shape>{{1}, {1}, {0}, {0}}));
  EXPECT_EQ(values_of(tensor_split(counted({5}), {1, -1})),
            (std::vector<Numbers>{{0}, {1, 2, 3}, {4}}));
  EXPECT_EQ(values_of(tensor_split(counted({3}), {5, 2})),
            (std::vector<Numbers>{{0, 1, 2}, {}, {2}}));
}

TEST(Unbind, AndNarrow) {
  EXPECT_EQ(values_of(unbind(counted({2, 2}), 1)), (std::vector<Numbers>{{0, 2}, {1, 3}}));
  expect(narrow(counted({2, 4}), 1, -3, 2), {2, 2}, {1, 2, 5, 6});
  expect(narrow(counted({2, 4}), 1, 4, 0), {2, 0}, {});
  expect_contains(error_of([] { narrow(counted({4}), 0, 3, 2); }),
                  "[narrow] 2 elements from 3 on of an axis of 4");
}

TEST(Repeat, IsOfWholes) {
  expect(repeat(counted({2}), {2, 2}), {2, 4}, {0, 1, 0, 1, 0, 1, 0, 1});
  expect(repeat(counted({2, 1}), {1, 3}), {2, 3}, {0, 0, 0, 1, 1, 1});
  expect(repeat(counted({2}), {0}), {0}, {});
  expect(tile(counted({2, 2}), {2}), {2, 4}, {0, 1, 0, 1, 2, 3, 2, 3});
  expect_contains(error_of([] {
                    repeat(counted({2, 1}), {3});
                  }),
                  "[repeat] 2x1 is repeated 3 times");
  expect_contains(error_of([] { repeat(counted({2}), {-1}); }), "no number may be negative");
}

TEST(RepeatInterleave, IsOfElements) {
  expect(repeat_interleave(counted({2, 2}), 2), {8}, {0, 0, 1, 1, 2, 2, 3, 3});
  expect(repeat_interleave(counted({2, 2}), 2, 0), {4, 2}, {0, 1, 0, 1, 2, 3, 2, 3});
  expect(repeat_interleave(counted({2, 2}), 2, -1), {2, 4}, {0, 0, 1, 1, 2, 2, 3, 3});
  expect_contains(error_of([] { repeat_interleave(counted({2}), -1); }), "-1 times");
}

TEST(Axes, MoveJoinAndComeApart) {
  Tensor x = counted({2, 3, 4});
  EXPECT_EQ(movedim(x, 0, -1).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(movedim(x, {0, 1}, {2, 0}).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(movedim(x, {0, 1}, {2, 0}).slice(0, 1, 2).contiguous().to_vector<std::int64_t>()[1],
            16);
  EXPECT_EQ(swapaxes(x, 0, 2).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(flatten(x).shape(), (Shape{24}));
  EXPECT_EQ(flatten(x, 1).shape(), (Shape{2, 12}));
  EXPECT_EQ(flatten(x, 0, 1).shape(), (Shape{6, 4}));
  EXPECT_EQ(flatten(full({}, 1)).shape(), (Shape{1}));
  EXPECT_EQ(ravel(x).shape(), (Shape{24}));
  EXPECT_EQ(unflatten(x, 2, {2, -1}).shape(), (Shape{2, 3, 2, 2}));
  EXPECT_EQ(atleast_3d(counted({5})).shape(), (Shape{1, 5, 1}));
  EXPECT_EQ(atleast_3d(counted({5, 2})).shape(), (Shape{5, 2, 1}));
  EXPECT_EQ(expand_as(counted({1, 2}), counted({3, 2})).shape(), (Shape{3, 2}));
  expect(rot90(counted({2, 2})), {2, 2}, {1, 3, 0, 2});
  expect(rot90(counted({2, 2}), 2), {2, 2}, {3, 2, 1, 0});
  expect(rot90(counted({2, 2}), -1), {2, 2}, {2, 0, 3, 1});
  expect_contains(error_of([&] { movedim(x, {0, 0}, {1, 2}); }), "[movedim] axis 0 is named twice");
  expect_contains(error_of([&] { movedim(x, {0}, {1, 2}); }), "[movedim] 1 axes become 2");
  expect_contains(error_of([&] { flatten(x, 2, 1); }), "[flatten] axes 2 to 1 of 2x3x4");
  expect_contains(error_of([&] {
                    unflatten(x, 2, {3, -1});
                  }),
                  "[unflatten] an axis of 4 is taken apart into 3x-1");
}

TEST(Creation, IsByNumbers) {
  expect(eye(2), {2, 2}, {1, 0, 0, 1});
  expect(eye(2, 3, i32), {2, 3}, {1, 0, 0, 0, 1, 0});
  EXPECT_EQ(linspace(0, 1, 5).to_vector<float>(), (std::vector<float>{0, 0.25F, 0.5F, 0.75F, 1}));
  EXPECT_EQ(linspace(3, 7, 1).to_vector<float>(), (std::vector<float>{3}));
  EXPECT_EQ(linspace(-1, 1, 3, i32).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{-1, 0, 1}));
  EXPECT_EQ(linspace(0, 0.3, 4).to_vector<float>()[3], 0.3F);
  expect(logspace(0, 3, 4, 2), {4}, {1, 2, 4, 8});
  expect(logspace(0, 4, 5, 10, i64), {5}, {1, 10, 100, 1000, 10000});
  expect(logspace(0, 4, 5, 3, i32), {5}, {1, 3, 9, 27, 81});
  expect(logspace(0, 1, 3, 10, i64), {3}, {1, 3, 10});
  expect(logspace(0, 3, 4, -2, i64), {4}, {1, -2, 4, -8});
  EXPECT_EQ(linspace(0, 1, 0).shape(), (Shape{0}));
  Tensor x = counted({2, 3});
  expect(zeros_like(x), {2, 3}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(ones_like(x).dtype(), i64);
  EXPECT_EQ(full_like(x, 0.5, f32).to_vector<float>()[5], 0.5F);
  expect_contains(error_of([] { linspace(0, 1, -1); }), "[linspace] -1 steps");
  expect_contains(error_of([] { eye(-1); }), "[eye] -1 rows and -1 columns");
}

// Their squares are 0 in 64 bits, or negative.
TEST(PixelShuffle, RefusesFactorsThatAreTooLarge) {
  for (std::int64_t factor : {std::int64_t{1} << 32, std::int64_t{1} << 62, INT64_MAX})
    expect_contains(error_of([&] {
                      pixel_shuffle(ones({1, 4, 2, 2}), factor);
                    }),
                    "its square must divide the channels");
}

TEST(Shaping, IsCaptured) {
  auto function = [](const Tensor& x) {
    Tensors rows = unbind(x), halves = chunk(x, 2, 1);
    Tensor both = stack({rows[0] + rows[1], repeat(halves[1].select(0, 0), {2})});
    return both + repeat(eye(2), {1, 2}) * ones_like(x);
  };
  auto fast = compile(function, {.fullgraph = true});
  Tensor x = counted({2, 4}).to(f32);
  EXPECT_EQ(fast(x).to_vector<float>(), function(x).to_vector<float>());
  EXPECT_EQ(fast(x).shape(), (Shape{2, 4}));
}

TEST(Spaced, CountsFromAStart) {
  EXPECT_EQ(spaced(1, 0.5, 3).to_vector<float>(), (std::vector<float>{1, 1.5F, 2}));
  EXPECT_EQ(spaced(1, -2, 2, i64).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, -1}));
}

TEST(Linspace, TakesTensorsAsItsEnds) {
  EXPECT_EQ(linspace(full({}, 1.0), 3.0, 3).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(linspace(2.0, full({}, 3.0), 1).to_vector<float>(), (std::vector<float>{2}));
  expect_contains(error_of([] { linspace(full({}, 1.0), 3.0, -1); }), "[linspace] -1 steps");
}

TEST(FftFreq, HasTheFrequenciesOfATransform) {
  EXPECT_EQ(fftfreq(4).to_vector<float>(), (std::vector<float>{0, 0.25F, -0.5F, -0.25F}));
  EXPECT_EQ(fftfreq(5, 0.2).to_vector<float>(), (std::vector<float>{0, 1, 2, -2, -1}));
  EXPECT_EQ(rfftfreq(4).to_vector<float>(), (std::vector<float>{0, 0.25F, 0.5F}));
  expect_contains(error_of([] { fftfreq(0); }), "[fftfreq] 0 places");
}

}  // namespace
}  // namespace tilewright::shaping_test
