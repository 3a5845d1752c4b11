#include "dsl/language/tile.h"

#include <gmock/gmock.h>

#include <cmath>

#include "dsl/ir/text/text.h"
#include "dsl/language/tracer.h"
#include "tests/errors.h"

namespace tilewright::dsl::tile_test {
namespace {

// The text of what `body` traces, given a pointer p to f32, a pointer h to f16 and scalars n, k.
struct Given {
  Tile p, h, n, k;
};
std::string traced(const std::function<void(const Given&)>& body) {
  Tracer tracer("f");
  Given given{tracer.pointer_param("p", f32), tracer.pointer_param("h", f16),
              tracer.scalar_param("n", i64), tracer.scalar_param("k", i32)};
  body(given);
  return ir::print(tracer.finish());
}

void expect_same(const std::string& actual, const std::string& body) {
  EXPECT_EQ(actual, ir::print(ir::parse("func @f(%p: ptr<f32>, %h: ptr<f16>, %n: i64, %k: i32) {" +
                                        body + "}")));
}

TEST(Tile, ANumberTakesTheTypeAndShapeOfTheOtherOperand) {
  expect_same(traced([](const Given&) { arange(0, 4) * 3; }), R"(
    %x = arange 0 to 4 : i32[4]
    %c = constant 3 : i32
    %s = splat %c, [4] : i32[4]
    %r = mul %x, %s : i32[4])");
  expect_same(traced([](const Given& g) { 0.5 - load(g.h); }), R"(
    %x = load %h : f16
    %c = constant 0.5 : f16
    %r = sub %c, %x : f16)");
}

TEST(Tile, AnIntegerNumberSuitsAFloatingTile) {
  expect_same(traced([](const Given& g) { load(g.p) + 1; }), R"(
    %x = load %p : f32
    %c = constant 1 : f32
    %r = add %x, %c : f32)");
}

TEST(Tile, AWholeDoubleSuitsAnIntegerTile) {
  expect_same(traced([](const Given& g) { g.k * 2.0; }), R"(
    %c = constant 2 : i32
    %r = mul %k, %c : i32)");
}

TEST(Tile, ADoubleBeyondAllIntegersSuitsNone) {
  for (double number : {0x1p63, -0x1p64, 1e300, HUGE_VAL, 2.5})
    expect_contains(error_of([&] { traced([&](const Given&) { zeros({8}, i64) + number; }); }),
                    " does not fit i64, the type of the other operand");
}

TEST(Tile, ShapesBroadcastFromTheLastAxisOn) {
  expect_same(traced([](const Given&) {
                Tile column = zeros({8, 1}, f32), row = zeros({4}, f32);
                column + row;
              }),
              R"(
    %a = constant 0 : f32
    %c = splat %a, [8x1] : f32[8x1]
    %b = constant 0 : f32
    %r = splat %b, [4] : f32[4]
    %d = broadcast %c, [8x4] : f32[8x4]
    %e = expand_dims %r, 0 : f32[1x4]
    %g = broadcast %e, [8x4] : f32[8x4]
    %s = add %d, %g : f32[8x4])");
}

TEST(Tile, AScalarFillsATile) {
  expect_same(traced([](const Given& g) { arange(0, 4) < g.k; }), R"(
    %x = arange 0 to 4 : i32[4]
    %s = splat %k, [4] : i32[4]
    %r = lt %x, %s : bool[4])");
}

TEST(Tile, APointerMovesByIntegersOfAnyShapeFromEitherSide) {
  expect_same(traced([](const Given& g) {
                Tile i = arange(0, 4);
                g.p + i;
                i + g.p;
                g.p + 3;
              }),
              R"(
    %i = arange 0 to 4 : i32[4]
    %a = splat %p, [4] : ptr<f32>[4]
    %b = offset %a, %i : ptr<f32>[4]
    %c = splat %p, [4] : ptr<f32>[4]
    %d = offset %c, %i : ptr<f32>[4]
    %e = constant 3 : i64
    %g = offset %p, %e : ptr<f32>)");
  expect_same(traced([](const Given& g) { g.p - g.k; }), R"(
    %m = neg %k : i32
    %r = offset %p, %m : ptr<f32>)");
}

TEST(Tile, MasksAndReplacementsFillThePointersShape) {
  expect_same(traced([](const Given& g) {
                Tile at = g.p + arange(0, 4);
                store(at, load(at, g.n < 5, 0.0), g.n < 5);
              }),
              R"(
    %i = arange 0 to 4 : i32[4]
    %a = splat %p, [4] : ptr<f32>[4]
    %b = offset %a, %i : ptr<f32>[4]
    %5 = constant 5 : i64
    %m = lt %n, %5 : bool
    %t = constant 5 : i64
    %u = lt %n, %t : bool
    %v = splat %u, [4] : bool[4]
    %z = constant 0 : f32
    %y = splat %z, [4] : f32[4]
    %l = load %b, %v, %y : f32[4]
    %w = splat %m, [4] : bool[4]
    store %b, %l, %w)");
}

TEST(Tile, SelectTakesNumbersAndPointers) {
  expect_same(traced([](const Given& g) {
                where(g.n < g.n, load(g.p), 0);
                where(g.n < g.n, g.p, g.p + g.k);
              }),
              R"(
    %x = load %p : f32
    %c = lt %n, %n : bool
    %z = constant 0 : f32
    %r = select %c, %x, %z : f32
    %q = offset %p, %k : ptr<f32>
    %d = lt %n, %n : bool
    %s = select %d, %p, %q : ptr<f32>)");
}

TEST(Tile, CastToTheSameTypeIsNothing) {
  expect_same(traced([](const Given& g) { cast(g.k, i32); }), "");
  expect_same(traced([](const Given& g) { bitcast(cast(g.k, i64), f64); }), R"(
    %a = cast %k, i64 : i64
    %b = bitcast %a, f64 : f64)");
}

TEST(Tile, DescriptorsTakeNumbersAndScalars) {
  expect_same(traced([](const Given& g) {
                Desc d = make_desc(g.h, {g.n, 64}, {64, 1});
                EXPECT_EQ(d.dtype(), f16);
                EXPECT_EQ(d.rank(), 2);
                prefetch(d, {g.n, 0}, {16, 16});
                store(d, {g.n, 0}, load(d, {g.n, g.k}, {16, 16}), ir::CachePolicy::evict_first);
              }),
              R"(
    %a = constant 64 : i64
    %b = constant 64 : i64
    %c = constant 1 : i64
    %d = make_desc %h, %n, %a, %b, %c : desc<f16, 2>
    %e = constant 0 : i64
    prefetch_desc %d, %n, %e, [16x16]
    %x = load_desc %d, %n, %k, [16x16] : f16[16x16]
    %g = constant 0 : i64
    store_desc %d, %x, %n, %g, evict_first)");
}

TEST(Tile, ReductionsCountAxesFromTheEndAndKeepThem) {
  expect_same(traced([](const Given&) {
                Tile x = zeros({8, 4}, f32);
                sum(x, -1, true);
                max(x, 0);
                reduce(x, ir::ReduceKind::argmin, 1);
              }),
              R"(
    %z = constant 0 : f32
    %x = splat %z, [8x4] : f32[8x4]
    %a = reduce %x, sum 1 : f32[8]
    %b = expand_dims %a, 1 : f32[8x1]
    %c = reduce %x, max 0 : f32[4]
    %d = reduce %x, argmin 1 : i32[8])");
}

TEST(Tile, DotStartsFromZeroInTheAccumulatorsType) {
  expect_same(traced([](const Given&) {
                Tile a = zeros({16, 32}, bf16), b = zeros({16, 32}, bf16);
                dot(a, trans(b));
              }),
              R"(
    %z = constant 0 : bf16
    %a = splat %z, [16x32] : bf16[16x32]
    %y = constant 0 : bf16
    %b = splat %y, [16x32] : bf16[16x32]
    %t = permute %b, (1, 0) : bf16[32x16]
    %c = constant 0 : f32
    %i = splat %c, [16x16] : f32[16x16]
    %d = dot %a, %t, %i : f32[16x16])");
}

TEST(Tile, RangesTakeTheTypeOfTheirBounds) {
  expect_same(traced([](const Given& g) {
                for (Tile i : range(0, g.k, 16)) -i;
                for (Tile i : range(0, 8)) -i;
              }),
              R"(
    %a = constant 0 : i32
    %b = constant 16 : i32
    loop %a to %k step %b index %i {
      %x = neg %i : i32
      yield
    }
    %c = constant 0 : i64
    %d = constant 8 : i64
    %e = constant 1 : i64
    loop %c to %d step %e index %j {
      %y = neg %j : i64
      yield
    })");
}

TEST(Tile, AVariableTakesNumbersInItsOwnTypeAndShape) {
  expect_same(traced([](const Given&) {
                Var v = arange(0, 4);
                v = 7;
                v -= 1;
                v *= v;
              }),
              R"(
    %a = arange 0 to 4 : i32[4]
    %b = constant 7 : i32
    %c = splat %b, [4] : i32[4]
    %d = constant 1 : i32
    %e = splat %d, [4] : i32[4]
    %g = sub %c, %e : i32[4]
    %h2 = mul %g, %g : i32[4])");
}

TEST(Tile, EveryElementwiseOpOfTheTableCanBeTraced) {
  for (std::size_t i = 0; i < ir::all_ops().size(); ++i) {
    const ir::OpInfo& row = ir::all_ops()[i];
    if (row.op_class != ir::OpClass::elementwise || row.immediate != ir::ImmediateKind::none)
      continue;
    auto op = static_cast<ir::Op>(i);
    std::string text = traced([&](const Given& g) {
      bool integer = row.has(ir::integer_only);
      Tile x = integer ? arange(0, 4) : zeros({4}, f32);
      std::vector<Operand> operands(static_cast<std::size_t>(row.min_operands), x);
      if (op == ir::Op::select_) operands[0] = x < 1;
      if (op == ir::Op::offset_) operands = {g.p, arange(0, 4)};
      if (op == ir::Op::random_bits_) operands.assign(2, cast(x, DType::i64));
      Tile result = elementwise(op, operands);
      EXPECT_EQ(result.shape(), (Shape{4}));
    });
    EXPECT_THAT(text, testing::HasSubstr(" = " + std::string(row.name) + " %"));
  }
}

TEST(Tile, ConstexprsAreNumbersInArithmeticAndInShapes) {
  Constexpr bm(16), bn(8);
  static_assert(std::is_same_v<decltype(bm * bn), std::int64_t>);
  EXPECT_EQ(bm * bn + 2 * bm - bn / 2, 156);
  EXPECT_TRUE(bm > bn && bm == 16 && bn != bm);
  EXPECT_EQ(traced([&](const Given& g) {
              full({bm, bn}, 1, f32), g.k* bm;
            }),
            traced([&](const Given& g) {
              full({16, 8}, 1, f32), g.k * 16;
            }));
}

}  // namespace
}  // namespace tilewright::dsl::tile_test
