// Products of a batch whose weights are rows of a table, named at run time: one program that reads
// them where they lie, packed ones too, compared with the same functions op by op.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/random/random.h"
#include "graph/quant/packed_weight.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::looked_up_products_test {
namespace {

using namespace testing_loops;

constexpr std::int64_t matrices = 7, columns = 24, depth = 64;

Tensor drawn(const Shape& shape, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  return randn(shape, f32, generator).to(dtype);
}
Tensor numbers(std::int64_t count, DType dtype) {
  Dice dice(7);
  return dice.integers({count}, 0, matrices).to(dtype);
}

void expect_one_program(const Function& function, const Tensors& arguments, double tolerance) {
  const Tensor wanted = function(arguments)[0].to(f32);
  CompiledFunction compiled(function, {.fullgraph = true});
  const Tensor y = compiled.call(arguments)[0].to(f32);
  ASSERT_EQ(y.shape(), wanted.shape());
  EXPECT_LE(amax(abs(y - wanted)).item<float>(), tolerance * (1 + amax(abs(wanted)).item<float>()));
  expect_contains(compiled.explain(), "-> 1 launch of 1 distinct program;");
}

TEST(LookedUpProducts, ReadMatricesOfATableWhereTheyLie) {
  for (DType dtype : {f32, bf16})
    for (std::int64_t rows : {1, 3, 16})
      for (std::int64_t count : {1, 5}) {
        SCOPED_TRACE(concat(dtype, ", ", rows, " rows, ", count, " products"));
        const Tensor x = drawn({count, rows, depth}, dtype, 1), ids = numbers(count, i64);
        expect_one_program(
            [](const Tensors& t) {
              return Tensors{matmul(t[0], t[1].index_select(0, t[2]).transpose(1, 2))};
            },
            {x, drawn({matrices, columns, depth}, dtype, 2), ids}, dtype == f32 ? 1e-5 : 1e-2);
        expect_one_program(
            [](const Tensors& t) { return Tensors{matmul(t[0], t[1].index_select(0, t[2]))}; },
            {x, drawn({matrices, depth, columns}, dtype, 3), numbers(count, i32)},
            dtype == f32 ? 1e-5 : 1e-2);
      }
}

TEST(LookedUpProducts, DecodeWeightsThatArePacked) {
  Dice dice(8);
  const Tensor codes = dice.integers({matrices, columns * depth / 2}, 0, 256).to(DType::u8),
               scales = dice.floats({matrices, columns * 2});
  for (std::int64_t rows : {1, 4})
    for (std::int64_t count : {1, 6}) {
      SCOPED_TRACE(concat(rows, " rows, ", count, " products"));
      expect_one_program(
          [&](const Tensors& t) {
            const std::int64_t all = count * columns;
            quant::PackedWeight weight;
            weight.shape = {all, depth};
            weight.codes = t[1].index_select(0, t[3]).reshape({all, depth / 2});
            weight.scales = t[2].index_select(0, t[3]).reshape({all, 2});
            weight.centre = 8;
            return Tensors{
                matmul(t[0], decoded(weight).reshape({count, columns, depth}).transpose(1, 2))};
          },
          {drawn({count, rows, depth}, f32, 4), codes, scales, numbers(count, i64)}, 1e-5);
    }
}

// Numbers that are computed are not checked before a call.
TEST(LookedUpProducts, AreZeroByRowsOutsideTheTable) {
  const Tensor x = drawn({3, 2, depth}, f32, 9), table = drawn({matrices, columns, depth}, f32, 10);
  const Tensor ids = Tensor::from(Integers{-2, 1, matrices - 1}, {3});
  auto direct = [](const Tensor& rows, const Tensor& stack, const Tensor& which) {
    return matmul(rows, stack.index_select(0, which + 1).transpose(1, 2));
  };
  auto changed = [](const Tensor& rows, const Tensor& stack, const Tensor& which) {
    return matmul(rows, (stack.index_select(0, which + 1) * 2).transpose(1, 2));
  };
  auto expect_zeros = [&](const Tensor& y) {
    EXPECT_EQ(amax(abs(y.select(0, 0))).item<float>(), 0);
    EXPECT_GT(amax(abs(y.select(0, 1))).item<float>(), 0);
    EXPECT_EQ(amax(abs(y.select(0, 2))).item<float>(), 0);
  };
  expect_zeros(compile(direct)(x, table, ids));
  expect_zeros(compile(changed)(x, table, ids));
}

TEST(LookedUpProducts, OfManyRowsCopyTheirWeights) {
  const Tensor x = drawn({2, 80, depth}, f32, 5), table = drawn({matrices, depth, columns}, f32, 6);
  const Tensor ids = numbers(2, i64);
  auto function = [](const Tensor& rows, const Tensor& stack, const Tensor& which) {
    return matmul(rows, stack.index_select(0, which));
  };
  EXPECT_LE(amax(abs(compile(function)(x, table, ids) - function(x, table, ids))).item<float>(),
            1e-4);
}

}  // namespace
}  // namespace tilewright::looked_up_products_test
