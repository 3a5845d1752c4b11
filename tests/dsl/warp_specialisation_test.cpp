// The warp that fetches computes offsets of the blocks, and whether and how often they are fetched.
#include "dsl/codegen/gpu/plan/warp_specialisation.h"

#include <gmock/gmock.h>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/gpu/passes/gpu_pipeline.h"
#include "dsl/interpret/interpret.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/half.h"
#include "tests/dsl/arrays.h"
#include "tests/dsl/occurrences.h"

namespace tilewright::dsl::warp_specialisation_test {
namespace {

constexpr std::int64_t size = 256, block = 64;

struct Product {
  Tracer tracer{"product"};
  Tile a = tracer.pointer_param("a", bf16), b = tracer.pointer_param("b", bf16),
       c = tracer.pointer_param("c", f32);
  Desc da = make_desc(a, {size, size}, {size, 1}), db = make_desc(b, {size, size}, {size, 1}),
       dc = make_desc(c, {size, size}, {size, 1});
  Tile row = program_id(0) * block, column = program_id(1) * block;

  void add(Var& sums, const Tile& at, const Tile& i) const {
    sums = dot(load(da, {row, i}, {block, block}), trans(load(db, {at, i}, {block, block})),
               sums.get());
  }

  // That a warp fetches and others multiply, what the interpreter does.
  void expect_specialised_and_the_same() {
    ir::Function function = tracer.finish();
    std::vector<Array> arrays{small_numbers(size * size, 3), small_numbers(size * size, 7),
                              Array(static_cast<std::size_t>(size * size), NAN)};
    Grid grid(size / block, size / block);
    auto expected =
        arrays_after(arrays, [&](std::vector<Argument>& a) { ir::interpret(function, grid, a); });
    Target target = target_named("sm_90a");
    run_passes(function, {.target = target});
    EXPECT_THAT(gpu::generate_ptx(function, target).text, testing::HasSubstr("setmaxnreg"));
    auto artifact = gpu::generate_emulated(function, target);
    auto actual = arrays_after(arrays, [&](std::vector<Argument>& a) {
      artifact->run(a.data(), grid.size, 0, grid.count(), nullptr);
    });
    EXPECT_TRUE(actual[2] == expected[2]);
  }
};

TEST(WarpSpecialisation, ABranchThatChoosesABlockIsTakenByTheFetchingWarpToo) {
  Product p;
  Var at = p.column, ends = p.column;
  if_(
      p.row > p.column, [&] { at = size - block - p.column; },
      [&] {
        for (Tile i : range(0, p.row, block)) at = (at.get() + i) % size;
        ends = p.column + block;
      });
  Var sums = full({block, block}, 0, f32);
  for (Tile i : range(0, ends.get(), block)) p.add(sums, at, i);
  store(p.dc, {p.row, p.column}, sums.get());
  p.expect_specialised_and_the_same();
}

TEST(WarpSpecialisation, ABranchThatHasAProductIsTakenByTheFetchingWarpToo) {
  Product p;
  Var sums = full({block, block}, 1, f32);
  if_(
      p.row > p.column,
      [&] {
        for (Tile i : range(0, size, block)) p.add(sums, p.column, i);
      },
      [&] { sums = sums.get() * 3.0; });
  store(p.dc, {p.row, p.column}, sums.get());
  p.expect_specialised_and_the_same();
}

// A product that is waited for a turn later must be read by the next one alone.
TEST(WarpSpecialisation, OnlySumsThatALoopCarriesAreDeferred) {
  auto scheduled = [](bool carries) {
    Product p;
    Var sums = full({block, block}, 0, f32);
    Tile first = full({block, block}, 1, f32);
    for (Tile i : range(0, size, block))
      sums = dot(load(p.da, {p.row, i}, {block, block}),
                 trans(load(p.db, {p.column, i}, {block, block})), carries ? sums.get() : first);
    store(p.dc, {p.row, p.column}, sums.get());
    ir::Function function = p.tracer.finish();
    run_passes(function, {.target = target_named("sm_90a")});
    gpu::schedule(function, {.target = target_named("sm_90a")});
    return ir::print(function);
  };
  EXPECT_THAT(scheduled(true), testing::HasSubstr("deferred"));
  EXPECT_THAT(scheduled(false), testing::Not(testing::HasSubstr("deferred")));
}

ir::Function scheduled(Product& p) {
  ir::Function function = p.tracer.finish();
  run_passes(function, {.target = target_named("sm_90a")});
  return gpu::scheduled(function, target_named("sm_90a"));
}

// A block that several products of one turn take from the left is fetched for all of them at once.
TEST(WarpSpecialisation, ALeftOperandOfTwoProductsIsFetchedOnce) {
  Product p;
  Var left = full({block, block}, 0, f32), right = full({block, block}, 0, f32);
  for (Tile i : range(0, size, block)) {
    Tile rows = load(p.da, {p.row, i}, {block, block});
    left = dot(rows, trans(load(p.db, {p.column, i}, {block, block})), left.get());
    right = dot(rows, trans(load(p.db, {p.column + block, i}, {block, block})), right.get());
  }
  store(p.dc, {p.row, p.column}, left.get() + right.get());
  gpu::Ptx ptx = gpu::generate_ptx(scheduled(p), target_named("sm_90a"));
  EXPECT_EQ(count_of(ptx.text, "cp.async.bulk.tensor.2d.shared"), 3);
}

// Two sums of 64 x 256 would take 256 registers of each thread that multiplies.
TEST(WarpSpecialisation, ThereAreNoRolesWhereSumsDoNotFitRegisters) {
  auto of = [](std::int64_t width) {
    Product p;
    Var left = full({block, width}, 0, f32), right = full({block, width}, 0, f32);
    for (Tile i : range(0, size, block)) {
      auto add = [&](Var& sums, const Desc& rows, const Desc& columns) {
        sums = dot(load(rows, {p.row, i}, {block, block}),
                   trans(load(columns, {0, i}, {width, block})), sums.get());
      };
      add(left, p.da, p.db);
      add(right, p.db, p.da);
    }
    store(p.dc, {p.row, 0}, left.get() + right.get());
    return scheduled(p);
  };
  EXPECT_TRUE(of(128).roles);
  EXPECT_FALSE(of(256).roles);
}

// The part of the offset that depends on the program is a dimension of the map; the rest is its
// beginning.
TEST(WarpSpecialisation, AnArrayThatIsFetchedMayBeginAtADifference) {
  Product p;
  p.da = make_desc(p.a + ((program_id(2) + 1) * 8192 - 64), {size, size}, {size, 1});
  Var sums = full({block, block}, 0, f32);
  for (Tile i : range(0, size, block)) p.add(sums, p.column, i);
  store(p.dc, {p.row, p.column}, sums.get());
  gpu::Ptx ptx = gpu::generate_ptx(scheduled(p), target_named("sm_90a"));
  ASSERT_GE(ptx.tensor_maps.size(), 2U);
  EXPECT_EQ(ptx.tensor_maps[0].offset_bytes, 2 * (8192 - 64));
}

}  // namespace
}  // namespace tilewright::dsl::warp_specialisation_test
