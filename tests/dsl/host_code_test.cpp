#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "dsl/codegen/host/codegen.h"
#include "dsl/codegen/host/plan/make_schedule.h"
#include "dsl/interpret/interpret.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/language/words/arranging.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "tests/dsl/arrays.h"
#include "tests/dsl/expect_same.h"
#include "tests/dsl/occurrences.h"

namespace tilewright::dsl::host_code_test {
namespace {

struct Rows {
  Tracer tracer{"rows"};
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32);
  Desc in(std::int64_t rows, std::int64_t columns) {
    return make_desc(x, {rows, columns}, {columns, 1});
  }
  Desc out(std::int64_t rows, std::int64_t columns) {
    return make_desc(y, {rows, columns}, {columns, 1});
  }
};

class HostCodeWidths : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Widths, HostCodeWidths,
                         testing::Values(1, 2, 3, 5, 8, 10, 15, 16, 17, 31, 64, 100, 129, 333));

TEST_P(HostCodeWidths, SoftmaxOfRaggedRowsEqualsTheInterpreter) {
  std::int64_t rows = 7, columns = GetParam(), block = 3;
  Rows p;
  Tile first = program_id(0) * block;
  Tile x = load(p.in(rows, columns), {first, 0}, {block, columns});
  Tile e = exp(x - max(x, 1, true));
  store(p.out(rows, columns), {first, 0}, e / sum(e, 1, true));
  auto function = p.tracer.finish();
  auto count = static_cast<std::size_t>(rows * columns);
  expect_same(function, {random_array(count, 1), Array(count, NAN)}, {{3, 1, 1}});
}

TEST_P(HostCodeWidths, ReductionsAlongBothAxesEqualTheInterpreter) {
  std::int64_t rows = 9, columns = GetParam();
  Rows p;
  Tile x = load(p.in(rows, columns), {0, 0}, {rows, columns});
  Tile down = sum(x * 2.0, 0);
  Tile across = min(x, 1);
  Tile best = cast(reduce(x, ir::ReduceKind::argmax, 1), f32);
  Tile lowest = cast(reduce(x, ir::ReduceKind::argmin, 0), f32);
  Desc y = make_desc(p.y, {2 * rows + 2 * columns}, {1});
  store(y, {0}, down);
  store(y, {columns}, across);
  store(y, {columns + rows}, best);
  store(y, {columns + 2 * rows}, lowest);
  auto function = p.tracer.finish();
  expect_same(function,
              {random_array(static_cast<std::size_t>(rows * columns), 2),
               Array(static_cast<std::size_t>(2 * rows + 2 * columns), NAN)},
              {});
}

// Stores past the caches must be aligned: rows of odd lengths begin with a part of a vector. Two
// results lie alike, the third does not.
TEST(HostCode, LongRowsThatAreWrittenOnceEqualTheInterpreter) {
  for (std::int64_t width : {1024, 1037, 2051}) {
    constexpr std::int64_t rows = 3;
    Tracer t("rows");
    Tile x = t.pointer_param("x", f32), y = t.pointer_param("y", f32),
         z = t.pointer_param("z", f32), w = t.pointer_param("w", f32);
    Tile row = program_id(0);
    auto desc = [&](const Tile& base, std::int64_t stride) {
      return make_desc(base, {rows, width}, {stride, 1});
    };
    Tile value = load(desc(x, width), {row, 0}, {1, width});
    Tile scaled = value * 2.0 + sum(value, 1, /*keep_dims=*/true);
    store(desc(y, width), {row, 0}, scaled, CachePolicy::cs);
    store(desc(z, width), {row, 0}, value - 1.0, CachePolicy::cs);
    store(desc(w + 1, width + 2), {row, 0}, scaled * value, CachePolicy::cs);
    auto array = [](std::int64_t count) { return Array(static_cast<std::size_t>(count), NAN); };
    expect_same(
        t.finish(),
        {random_array(static_cast<std::size_t>(rows * width), 5), array(rows * width),
         array(rows * width), Array(static_cast<std::size_t>(rows * (width + 2) + 1), 0.0F)},
        {{rows, 1, 1}}, 1e-3F);
  }
}

struct DotCase {
  std::int64_t m, n, k;
  bool transposed;
};
class HostCodeDots : public testing::TestWithParam<DotCase> {};
INSTANTIATE_TEST_SUITE_P(Sizes, HostCodeDots,
                         testing::Values(DotCase{1, 64, 64, true}, DotCase{1, 172, 64, true},
                                         DotCase{1, 64, 172, true}, DotCase{1, 10, 10, true},
                                         DotCase{2, 33, 7, true}, DotCase{3, 5, 40, true},
                                         DotCase{4, 50, 100, true}, DotCase{10, 10, 10, true},
                                         DotCase{17, 40, 33, true}, DotCase{1, 1, 1, false},
                                         DotCase{2, 8, 100, false}, DotCase{8, 48, 32, false},
                                         DotCase{19, 53, 21, false}, DotCase{1, 200, 9, false},
                                         DotCase{33, 16, 5, false}, DotCase{5, 3, 64, false},
                                         DotCase{1, 20, 600, true}));

TEST_P(HostCodeDots, DotWithLoopAndEpilogueEqualsTheInterpreter) {
  auto [m, n, k, transposed] = GetParam();
  Tracer t("dots");
  Tile a = t.pointer_param("a", f32), b = t.pointer_param("b", f32), c = t.pointer_param("c", f32);
  Desc left = make_desc(a, {m, 2 * k}, {2 * k, 1});
  Desc right = transposed ? make_desc(b, {2 * k, n}, {1, 2 * k}) : make_desc(b, {2 * k, n}, {n, 1});
  Var sum = zeros({m, n}, f32);
  for (Tile i : range(0, 2 * k, k))
    sum += dot(load(left, {0, i}, {m, k}), load(right, {i, 0}, {k, n}));
  Var fused = zeros({m, n}, f32);
  for (Tile i : range(0, 2 * k, k))
    fused = dot(load(left, {0, i}, {m, k}), load(right, {i, 0}, {k, n}), fused);
  store(make_desc(c, {m, n}, {n, 1}), {0, 0}, maximum(sum.get() + fused.get(), 0.0));
  auto function = t.finish();
  expect_same(function,
              {random_array(static_cast<std::size_t>(2 * m * k), 3),
               random_array(static_cast<std::size_t>(2 * n * k), 4),
               Array(static_cast<std::size_t>(m * n), NAN)},
              {}, 1e-4F);
}

TEST(HostCode, LoopsCarryTilesThatReadEachOther) {
  Rows p;
  Tile x = load(p.in(4, 20), {0, 0}, {4, 20});
  Var a = x, b = x * 2.0;
  for (Tile i : range(0, 5)) {
    Tile old = a;
    a = b.get() + cast(i, f32);
    b = old * 0.5;
  }
  store(p.out(8, 20), {0, 0}, a.get());
  store(p.out(8, 20), {4, 0}, b.get());
  expect_same(p.tracer.finish(), {random_array(80, 5), Array(160, NAN)}, {});
}

TEST(HostCode, BranchesGiveTilesAndScalars) {
  Rows p;
  Tile x = load(p.in(1, 30), {0, 0}, {1, 30});
  Var y = x;
  if_(
      program_id(0) == 1, [&] { y = x * 3.0; }, [&] { y = x - 1.0; });
  store(p.out(3, 30), {program_id(0), 0}, y.get());
  expect_same(p.tracer.finish(), {random_array(30, 6), Array(90, NAN)}, {{3, 1, 1}});
}

TEST(HostCode, PointerTilesGatherAndScatterUnderMasks) {
  Rows p;
  Tile i = arange(0, 37);
  Tile mask = i < 30;
  Tile strided = load(p.x + i * 3, mask, splat(-1.0F, {37}));
  Tile square = load(p.x + (i * i) % 50, mask);
  store(p.y + i, strided, i < 33);
  store(p.y + i * 2 + 40, square, mask);
  expect_same(p.tracer.finish(), {random_array(120, 7), Array(120, 0)}, {});
}

// Blocks that end with the array, begin before it, and end behind it.
TEST(HostCode, EveryOtherElementOfARowEqualsTheInterpreter) {
  for (std::int64_t columns : {16, 19, 40}) {
    Rows p;
    const std::int64_t row = 2 * columns - 1;
    Desc from = make_desc(p.x, {3, columns}, {row, 2});
    store(p.out(3, columns), {0, 0}, load(from, {0, 0}, {3, columns}) * 2);
    Desc beside = make_desc(p.y + 3 * columns, {3, columns}, {columns, 1});
    store(beside, {0, 0}, load(from, {1, -3}, {3, columns}) + load(from, {0, 5}, {3, columns}));
    const auto count = static_cast<std::size_t>(3 * columns);
    expect_same(p.tracer.finish(), {random_array(2 * count, 7), Array(2 * count, NAN)}, {});
  }
}

// An index that was a float on its way follows no neighbour: 2.5 times the lane is no step of 0.
TEST(HostCode, IndicesThatAreComputedInFloatsEqualTheInterpreter) {
  Rows p;
  Tile i = arange(0, 24), at = cast(floor(cast(i, DType::f32) * 2.5), DType::i64);
  store(p.y + i, load(p.x + at));
  expect_same(p.tracer.finish(), {random_array(60, 13), Array(24, NAN)}, {});
}

TEST(HostCode, ALoadSeesMemoryAsItWasBeforeTheStore) {
  Tracer t("in_place");
  Tile x = t.pointer_param("x", f32);
  Desc d = make_desc(x, {6, 6}, {6, 1});
  Tile old = load(d, {0, 0}, {6, 6});
  store(d, {0, 0}, trans(old));
  Tile fresh = load(d, {0, 0}, {6, 6});
  store(d, {0, 0}, fresh + old);
  expect_same(t.finish(), {random_array(36, 8)}, {});
}

// The element beside it is stored before, and not in the same turn over the elements.
TEST(HostCode, ALoadSeesAllThatTheStoreBeforeItWrote) {
  Tracer t("in_place");
  Tile x = t.pointer_param("x", f32), y = t.pointer_param("y", f32);
  Desc d = make_desc(x, {6, 6}, {6, 1});
  store(d, {0, 0}, load(d, {0, 0}, {6, 6}) * 2.0);
  store(make_desc(y, {6, 6}, {6, 1}), {0, 0}, load(d, {1, 0}, {6, 6}) + 1.0);
  expect_same(t.finish(), {random_array(36, 8), Array(36, NAN)}, {});
}

// The loop's pointer goes through the array that was read before.
TEST(HostCode, ALoadSeesMemoryAsItWasBeforeALoopThatCarriesAPointer) {
  Rows p;
  Tile old = load(p.x + arange(0, 16));
  Var to = p.x;
  for (Tile i : range(0, 2)) {
    store(to + arange(0, 16), full({16}, 5.0, f32) + cast(i, f32));
    to = to + 16;
  }
  store(p.y + arange(0, 16), old);
  expect_same(p.tracer.finish(), {random_array(32, 8), Array(16, NAN)}, {});
}

TEST(HostCode, GeneralReshapesReadInRowMajorOrder) {
  Rows p;
  Tile x = load(p.in(6, 10), {0, 0}, {6, 10});
  Tile y = reshape(x * 2.0, {4, 15}) + 1.0;
  store(p.out(15, 4), {0, 0}, trans(y));
  expect_same(p.tracer.finish(), {random_array(60, 9), Array(60, NAN)}, {});
}

// For numbers, and for pointers, which are a base and a distance from it.
TEST(HostCode, ATileOfOneElementIsReshapedToAScalar) {
  Rows p;
  Tile number = reshape(load(p.in(1, 40), {0, program_id(0)}, {1, 1}) * 2.0, {});
  Tile pointer = reshape(p.x + arange(0, 1) + (program_id(0) + 7), {});
  store(p.y + program_id(0), number + load(pointer));
  expect_same(p.tracer.finish(), {random_array(40, 12), Array(6, NAN)}, {{6, 1, 1}});
}

TEST(HostCode, AnOffsetThatWrapsIsSeenToBeOutside) {
  Rows p;
  Tile id = minimum(program_id(0), 5);
  Tile wrapped = cast(cast(id + 126, i8), i64);  // 126, 127, -128, -127, ...
  Tile x = load(make_desc(p.x, {200}, {1}), {wrapped}, {1});
  store(make_desc(p.y, {6}, {1}), {id}, x + 1.0);
  expect_same(p.tracer.finish(), {random_array(200, 11), Array(6, NAN)}, {{6, 1, 1}});
}

TEST(HostCode, StreamingStoresWriteTheSame) {
  Rows p;
  Tile x = load(p.in(4, 64), {program_id(0), 0}, {1, 64});
  store(p.out(4, 64), {program_id(0), 0}, x + 1.0, ir::CachePolicy::evict_first);
  expect_same(p.tracer.finish(), {random_array(256, 10), Array(256, NAN)}, {{4, 1, 1}});
}

// One loop nest needs each exponential at its place, and that of the element opposite.
TEST(HostCode, WhatIsReadAtOtherPlacesIsKeptBefore) {
  Rows p;
  Tile e = exp(load(p.in(16, 16), {0, 0}, {16, 16}));
  store(p.out(16, 16), {0, 0}, e + trans(e) + exp(trans(e)));
  Tile largest = max(e, 0, true);
  store(make_desc(p.y + 256, {16, 16}, {16, 1}), {0, 0}, e / largest);
  expect_same(p.tracer.finish(), {random_array(256, 13), Array(512, NAN)}, {});
}

TEST(Schedule, SoftmaxKeepsItsExponentialAndReadsMemoryOnce) {
  Rows p;
  Tile x = load(p.in(1, 128), {program_id(0), 0}, {1, 128});
  Tile e = exp(x - max(x, 1, true));
  store(p.out(1, 128), {program_id(0), 0}, e / sum(e, 1, true));
  auto function = p.tracer.finish();
  EXPECT_EQ(to_string(make_schedule(Definitions(function)), function),
            "loop nest 1x128: reduce\nloop nest 1x128: materialise reduce\nloop nest 1x128: "
            "store_desc\n");
}

// The loop nest before the second product does not keep the first product's operand.
TEST(HostCode, MultipliesOneComputedOperandTwiceWithAReductionBetween) {
  Rows p;
  Tile left = exp(load(p.in(8, 8), {0, 0}, {8, 8}));
  Tile right = load(p.in(8, 24), {0, 0}, {8, 24});
  Tile least = min(dot(left, load(p.in(8, 8), {0, 0}, {8, 8})), 1, true);
  store(p.out(8, 24), {0, 0}, dot(left, right) + least);
  auto function = p.tracer.finish();
  EXPECT_EQ(to_string(make_schedule(Definitions(function)), function),
            "loop nest 8x8: materialise\ndot\nloop nest 8x8: reduce\ndot\n"
            "loop nest 8x24: store_desc\n");
  expect_same(function, {random_array(192, 15), Array(192, NAN)}, {});
}

// Stores of narrowed values end where they should, even with one element beyond the last full
// vector.
TEST(HostCode, StoresNothingBehindNarrowedElements) {
  for (DType to_dtype : {i8, i16, f16, bf16})
    for (DType from_dtype : {i32, f32})
      for (std::int64_t count : {1, 2, 7, 8, 9, 16, 17, 18, 31, 33, 65, 129}) {
        Tracer tracer("narrow");
        Tile from = tracer.pointer_param("x", from_dtype);
        Tile to = tracer.pointer_param("y", to_dtype);
        Tile x = load(make_desc(from, {count}, {1}), {0}, {count});
        store(make_desc(to, {count}, {1}), {0}, cast(x, to_dtype));
        ir::Function function = tracer.finish();
        const auto bytes = static_cast<std::size_t>(count * size_bytes(to_dtype));
        for (const Target& target : tested_targets()) {
          std::vector<std::uint32_t> numbers(static_cast<std::size_t>(count), 0);
          GuardedMemory written(bytes);
          std::vector<Argument> arguments(2);
          arguments[0].pointer = numbers.data();
          arguments[1].pointer = written.data();
          run_all(*compiled(function, target), {}, arguments);
          ASSERT_TRUE(written.is_whole())
              << count << " of " << name_of(to_dtype) << ", " << target.features;
        }
      }
}

// Reads go best with writes, and of short rows half of them with what takes long to compute.
TEST(Schedule, PrefetchesGoWithTheLastSweepAndPartOfThemWithAnEarlierOne) {
  auto scheduled = [](std::int64_t columns, bool is_dear, bool sums = false) {
    Rows p;
    Tile row = program_id(0);
    Tile x = load(p.in(9, columns), {row, 0}, {1, columns});
    prefetch(p.in(9, columns), {row + 1, 0}, {1, columns});
    Tile e = x - max(x, 1, true);
    if (is_dear) e = exp(e);
    if (sums)
      store(make_desc(p.y, {9}, {1}), {row}, sum(e, 1));
    else
      store(p.out(9, columns), {row, 0}, e / sum(e, 1, true));
    auto function = p.tracer.finish();
    return to_string(make_schedule(Definitions(function)), function);
  };
  EXPECT_EQ(scheduled(128, true),
            "loop nest 1x128: reduce\nloop nest 1x128: materialise reduce part_of_prefetch_desc\n"
            "loop nest 1x128: store_desc part_of_prefetch_desc\n");
  EXPECT_EQ(scheduled(10000, true),
            "loop nest 1x10000: reduce\nloop nest 1x10000: materialise reduce\n"
            "loop nest 1x10000: store_desc prefetch_desc\n");
  EXPECT_EQ(scheduled(128, false),
            "loop nest 1x128: reduce\nloop nest 1x128: reduce\nloop nest 1x128: store_desc "
            "prefetch_desc\n");
  EXPECT_EQ(scheduled(10000, true, true),
            "loop nest 1x10000: reduce part_of_prefetch_desc\n"
            "loop nest 1x10000: reduce part_of_prefetch_desc\nloop nest 1: store_desc\n");
}

// Each line once, whatever of the rows' length is left over; and nothing but what is asked for.
TEST(HostCode, AsksForALineOfTheNextRowOnce) {
  for (DType dtype : {f32, bf16}) {
    Tracer tracer("rows");
    Tile from = tracer.pointer_param("x", dtype), to = tracer.pointer_param("y", dtype);
    Desc x = make_desc(from, {9, 2048}, {2048, 1}), y = make_desc(to, {9, 2048}, {2048, 1});
    Tile row = program_id(0);
    Tile values = cast(load(x, {row, 0}, {1, 2048}), f32);
    prefetch(x, {row + 1, 0}, {1, 2048});
    store(y, {row, 0}, cast(values / sum(values, 1, true), dtype), ir::CachePolicy::evict_first);
    const std::string text = host_code_text(tracer.finish(), target_named("avx512"), "asm");
    // A body of eight vectors, which are eight lines of f32 and four of bf16.
    EXPECT_EQ(count_of(text, "prefetcht0"), dtype == f32 ? 8 : 4) << text;
  }
}

TEST(Schedule, SiblingsOverOneShapeShareASweep) {
  Rows p;
  Tile x = load(p.in(2, 40), {0, 0}, {2, 40});
  Tile h = x * 3.0;
  store(p.out(2, 40), {0, 0}, h);
  Tile s = sum(h * h, 1, true);
  store(make_desc(p.y, {2, 1}, {1, 1}), {0, 0}, s);
  auto function = p.tracer.finish();
  EXPECT_THAT(to_string(make_schedule(Definitions(function)), function),
              testing::StartsWith("loop nest 2x40: store_desc reduce\n"));
}

// Operands in memory are multiplied without a copy.
TEST(HostCode, ABlockOfAnArrayOfMoreAxesIsMultipliedWhereItLies) {
  auto scratch_bytes = [](bool has_more_axes) {
    constexpr std::int64_t rows = 8, depth = 64, columns = 32;
    Tracer t("dots");
    Tile a = t.pointer_param("a", f32), b = t.pointer_param("b", f32),
         c = t.pointer_param("c", f32);
    Tile left = load(make_desc(a, {rows, depth}, {depth, 1}), {0, 0}, {rows, depth});
    if (has_more_axes)
      left = reshape(load(make_desc(a, {2, rows, depth}, {rows * depth, depth, 1}), {1, 0, 0},
                          {1, rows, depth}),
                     {rows, depth});
    Tile right = load(make_desc(b, {depth, columns}, {columns, 1}), {0, 0}, {depth, columns});
    store(make_desc(c, {rows, columns}, {columns, 1}), {0, 0}, dot(left, right));
    return generate_host_code(t.finish(), target_named(std::string(host_names().front())))
        ->scratch_bytes;
  };
  EXPECT_EQ(scratch_bytes(true), scratch_bytes(false));
}

// Its elements lie a row of the array apart, as those of no row do.
TEST(HostCode, AColumnThatIsReshapedToARowIsMultiplied) {
  constexpr std::int64_t depth = 16, columns = 24;
  Tracer t("dots");
  Tile a = t.pointer_param("a", f32), b = t.pointer_param("b", f32), c = t.pointer_param("c", f32);
  Tile column = load(make_desc(a, {depth, 3}, {3, 1}), {0, 1}, {depth, 1});
  Tile right = load(make_desc(b, {depth, columns}, {columns, 1}), {0, 0}, {depth, columns});
  store(make_desc(c, {1, columns}, {columns, 1}), {0, 0}, dot(reshape(column, {1, depth}), right));
  expect_same(t.finish(),
              {random_array(depth * 3, 31), random_array(depth * columns, 32), Array(columns, NAN)},
              {});
}

// The code that gives elements at places along a row of 300 numbers in memory.
std::string code_of_gather(const std::function<Tile()>& places) {
  Rows p;
  Tile kept = exp(load(make_desc(p.x, {300}, {1}), {0}, {300}));
  store(make_desc(p.y, {256}, {1}), {0}, gather(kept, places(), 0));
  return host_code_text(p.tracer.finish(), target_named(std::string(host_names().front())), "asm");
}

// Wherever the distance comes from, the next elements are read as they lie.
TEST(HostCode, ElementsAtADistanceAreReadAsVectors) {
  const std::string own = code_of_gather([] { return arange(0, 256); }),
                    next = code_of_gather([] { return arange(1, 257); });
  EXPECT_EQ(code_of_gather([] { return arange(0, 256) + 1; }), next);
  EXPECT_EQ(code_of_gather([] { return arange(2, 258) - 1; }), next);
  EXPECT_EQ(count_of(own, "\n"), count_of(next, "\n")) << own;
}

}  // namespace
}  // namespace tilewright::dsl::host_code_test
