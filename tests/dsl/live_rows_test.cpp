// Programs whose blocks have fewer rows than their tiles: up to where values are needed, and what
// host code computes.
#include "dsl/codegen/llvm/live_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "runtime/base/error.h"
#include "tests/dsl/expect_same.h"

namespace tilewright::dsl::live_rows_test {
namespace {

struct RowsCase {
  std::int64_t rows, block;  // all, and of a tile
  std::int64_t k, n;
  DType dtype;
  bool along_k;  // b is contiguous along k
};

void PrintTo(const RowsCase& c, std::ostream* out) {
  *out << c.rows << " by " << c.block << ", " << c.k << 'x' << c.n << ' ' << name_of(c.dtype)
       << (c.along_k ? " k" : "");
}

class LiveRows : public testing::TestWithParam<RowsCase> {};

// Products in registers and packed ones, in one part of the depth and in several; blocks that are
// whole accumulators and others; a block with one row.
std::vector<RowsCase> rows_cases() {
  std::vector<RowsCase> cases;
  for (DType dtype : {f32, bf16})
    for (bool along_k : {false, true})
      for (auto [rows, block] :
           {std::pair(5, 16), {17, 16}, {61, 47}, {97, 96}, {150, 96}, {67, 64}})
        for (auto [k, n] : {std::pair(20, 64), {530, 21}})
          cases.push_back({rows, block, k, n, dtype, along_k});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, LiveRows, testing::ValuesIn(rows_cases()));

// relu(norm(a) b) + a row's least element, for as many rows as are left of each block.
TEST_P(LiveRows, EqualTheInterpreter) {
  auto [rows, block, k, n, dtype, along_k] = GetParam();
  Tracer t("rows");
  Tile a = t.pointer_param("a", dtype), b = t.pointer_param("b", dtype);
  Tile c = t.pointer_param("c", f32), d = t.pointer_param("d", f32);
  Tile first = program_id(0) * block;
  Tile count = maximum(minimum(rows - first, block), 1);
  Tile x = load(make_desc(a + first * k, {count, k}, {k, 1}), {0, 0}, {block, k});
  Tile weights =
      load(along_k ? make_desc(b, {k, n}, {1, k}) : make_desc(b, {k, n}, {n, 1}), {0, 0}, {k, n});
  Tile sums = dot(x, weights);
  Tile low = min(cast(x, f32), 1, true);
  store(make_desc(c + first * n, {count, n}, {n, 1}), {0, 0}, maximum(sums, 0.0) + low);
  // A product with a computed operand, and a sum that is carried.
  Var total = zeros({block, n}, f32);
  for (Tile turn : range(0, 3, 1)) {
    Tile scaled = cast(cast(x, f32) * cast(turn + 1, f32), dtype);
    total = dot(scaled, weights, total * 0.5);
  }
  store(make_desc(d + first * n, {count, n}, {n, 1}), {0, 0}, total);
  auto operand = [dtype = dtype](std::int64_t count, unsigned seed) {
    return dtype == f32 ? random_array(static_cast<std::size_t>(count), seed)
                        : random_pairs(static_cast<std::size_t>(count / 2 + 1), seed);
  };
  const Array results(static_cast<std::size_t>(rows * n), NAN);
  expect_same(t.finish(), {operand(rows * k, 3), operand(k * n, 5), results, results},
              {(rows + block - 1) / block}, dtype == f32 ? 2e-4F : 2e-2F);
}

// Rows of 4 vectors or fewer that are reduced go two at a time: also of those there are no more
// than are left.
TEST(LiveRows, OfShortOnesAreReducedAsManyAsThereAre) {
  constexpr std::int64_t block = 16, n = 64;
  for (std::int64_t rows : {1, 2, 15, 16, 19}) {
    Tracer t("rows");
    Tile a = t.pointer_param("a", f32), b = t.pointer_param("b", f32);
    Tile first = program_id(0) * block;
    Tile count = maximum(minimum(rows - first, block), 1);
    Tile x = load(make_desc(a + first * n, {count, n}, {n, 1}), {0, 0}, {block, n});
    Tile weights = exp(x - max(x, 1, true));
    store(make_desc(b + first * n, {count, n}, {n, 1}), {0, 0}, weights / sum(weights, 1, true));
    expect_same(t.finish(),
                {random_array(rows * n, 3), Array(static_cast<std::size_t>(rows * n), NAN)},
                {(rows + block - 1) / block}, 1e-5F);
  }
}

// Neighbouring rows of a graph side by side: as many columns as are left, also of sums over rows.
TEST(LiveColumns, EqualTheInterpreter) {
  constexpr std::int64_t rows = 3;
  for (std::int64_t block : {16, 512})
    for (std::int64_t n : {1, 17, 64, 65, 600}) {
      Tracer t("columns");
      Tile a = t.pointer_param("a", f32), b = t.pointer_param("b", f32);
      Tile c = t.pointer_param("c", f32);
      Tile first = program_id(0) * block;
      Tile count = maximum(minimum(n - first, block), 1);
      Tile x = load(make_desc(a + first, {rows, count}, {n, 1}), {0, 0}, {rows, block});
      Tile y = exp(x) * x, total = sum(y, 0, true);
      store(make_desc(b + first, {rows, count}, {n, 1}), {0, 0}, y / total);
      store(make_desc(c + first, {1, count}, {n, 1}), {0, 0}, total);
      auto nothing = [](std::int64_t size) { return Array(static_cast<std::size_t>(size), NAN); };
      expect_same(t.finish(), {random_array(rows * n, 5), nothing(rows * n), nothing(n)},
                  {(n + block - 1) / block}, 1e-4F);
    }
}

// How many rows are needed of %x, 32x64 elements of which the array has %count rows; "all" or
// "count". %to and %all are arrays of as many elements, of which %to ends with these rows.
std::string needed_of_load(const std::string& body) {
  ir::Function f = ir::parse(
      "func @f(%a: ptr<f32>, %b: ptr<f32>, %c: ptr<f32>, %n: i64) {\n"
      "  %one = constant 1 : i64\n  %most = constant 32 : i64\n"
      "  %zero = constant 0 : i64\n  %wide = constant 64 : i64\n"
      "  %few = min %n, %most : i64\n  %count = max %few, %one : i64\n"
      "  %from = make_desc %a, %count, %wide, %wide, %one : desc<f32, 2>\n"
      "  %to = make_desc %b, %count, %wide, %wide, %one : desc<f32, 2>\n"
      "  %all = make_desc %c, %most, %wide, %wide, %one : desc<f32, 2>\n"
      "  %x = load_desc %from, %zero, %zero, [32x64] : f32[32x64]\n" +
      body + "}\n");
  std::vector<std::optional<ir::Value>> rows = live_rows(f, scalar_facts(f));
  ir::Value count{}, x{};
  ir::for_each_inst(f.body, [&](const ir::Inst& inst) {
    if (inst.op == ir::Op::max_ && f.type(inst.results[0]).is_scalar()) count = inst.results[0];
    if (inst.op == ir::Op::load_desc_) x = inst.results[0];
  });
  return !rows[x] ? "all" : *rows[x] == count ? "count" : "another";
}

TEST(LiveRows, EndWhereAllStoresDo) {
  const std::string to = "  store_desc %to, %y, %zero, %zero\n",
                    elsewhere = "  store_desc %all, %y, %zero, %zero\n",
                    twice = "  %y = add %x, %x : f32[32x64]\n";
  EXPECT_EQ(needed_of_load(twice + to), "count");
  EXPECT_EQ(needed_of_load(twice + elsewhere), "all");
  EXPECT_EQ(needed_of_load(twice + to + elsewhere), "all");
}

TEST(LiveRows, AreThoseOfTheFirstAxis) {
  const std::string sums =
                        "  %s = reduce %x, sum 1 : f32[32]\n  %e = expand_dims %s, 1 : f32[32x1]\n"
                        "  %y = broadcast %e, [32x64] : f32[32x64]\n",
                    across =
                        "  %s = reduce %x, sum 0 : f32[64]\n  %e = expand_dims %s, 0 : f32[1x64]\n"
                        "  %y = broadcast %e, [32x64] : f32[32x64]\n",
                    // Each 32nd column's sum becomes a row's: of the rows that it sums up, all.
      turned =
          "  %w = reshape %x, [32x32x2] : f32[32x32x2]\n"
          "  %r = reduce %w, sum 0 : f32[32x2]\n  %s = reduce %r, sum 1 : f32[32]\n"
          "  %e = expand_dims %s, 1 : f32[32x1]\n"
          "  %y = broadcast %e, [32x64] : f32[32x64]\n",
                    to = "  store_desc %to, %y, %zero, %zero\n";
  EXPECT_EQ(needed_of_load(sums + to), "count");
  EXPECT_EQ(needed_of_load(turned + to), "all");
  EXPECT_EQ(needed_of_load(across + to), "all");
}

// How many columns are needed of %x, 2x32 elements of which the array has %count columns.
std::string needed_columns(const std::string& body) {
  ir::Function f = ir::parse(
      "func @f(%a: ptr<f32>, %b: ptr<f32>, %n: i64) {\n"
      "  %one = constant 1 : i64\n  %most = constant 32 : i64\n"
      "  %zero = constant 0 : i64\n  %two = constant 2 : i64\n"
      "  %few = min %n, %most : i64\n  %count = max %few, %one : i64\n"
      "  %from = make_desc %a, %two, %count, %count, %one : desc<f32, 2>\n"
      "  %to = make_desc %b, %two, %count, %count, %one : desc<f32, 2>\n"
      "  %x = load_desc %from, %zero, %zero, [2x32] : f32[2x32]\n" +
      body + "  store_desc %to, %y, %zero, %zero\n}\n");
  std::vector<std::optional<ir::Value>> columns = live_columns(f, scalar_facts(f));
  ir::Value count{}, x{};
  ir::for_each_inst(f.body, [&](const ir::Inst& inst) {
    if (inst.op == ir::Op::max_ && f.type(inst.results[0]).is_scalar()) count = inst.results[0];
    if (inst.op == ir::Op::load_desc_) x = inst.results[0];
  });
  return !columns[x] ? "all" : *columns[x] == count ? "count" : "another";
}

TEST(LiveColumns, AreThoseOfTheLastAxis) {
  EXPECT_EQ(needed_columns("  %y = add %x, %x : f32[2x32]\n"), "count");
  EXPECT_EQ(needed_columns("  %s = reduce %x, sum 0 : f32[32]\n"
                           "  %e = expand_dims %s, 0 : f32[1x32]\n"
                           "  %y = broadcast %e, [2x32] : f32[2x32]\n"),
            "count");
  EXPECT_EQ(needed_columns("  %s = reduce %x, sum 1 : f32[2]\n"
                           "  %e = expand_dims %s, 1 : f32[2x1]\n"
                           "  %y = broadcast %e, [2x32] : f32[2x32]\n"),
            "all");
}

TEST(LiveRows, BeginWithTheArray) {
  EXPECT_EQ(needed_of_load("  store_desc %to, %x, %one, %zero\n"), "all");
}

}  // namespace
}  // namespace tilewright::dsl::live_rows_test
