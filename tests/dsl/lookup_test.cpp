// Weights of four bits and other small numbers, which host code looks up in a register, and sums of
// products along rows that many programs' rows share.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/passes/passes.h"
#include "tests/dsl/expect_same.h"

namespace tilewright::dsl::lookup_test {
namespace {

struct LookupCase {
  std::int64_t rows, groups;  // of 32 weights, the low halves of 16 bytes and the high ones
  int mask;
};

void PrintTo(const LookupCase& c, std::ostream* out) {
  *out << c.rows << " rows of " << c.groups << " groups, mask " << c.mask;
}

class Lookup : public testing::TestWithParam<LookupCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, Lookup,
                         testing::Values(LookupCase{1, 1, 15}, LookupCase{3, 7, 15},
                                         LookupCase{5, 4, 7}, LookupCase{130, 64, 15}));

// (((bytes >> {0, 4}) & mask) - 8) * scale of a row and group, as graphs write it.
Tile unpacked(const Tile& memory, const Tile& scales, const LookupCase& c) {
  Shape bytes{c.rows, c.groups, 1, 16}, all{c.rows, c.groups, 2, 16};
  Tile packed = load(make_desc(memory, {c.rows, c.groups, 16}, {c.groups * 16, 16, 1}), {0, 0, 0},
                     {c.rows, c.groups, 16});
  Tile shift = reshape(cast(arange(0, 2) * 4, DType::u8), {1, 1, 2, 1});
  Tile scale =
      load(make_desc(scales, {c.rows, c.groups}, {c.groups, 1}), {0, 0}, {c.rows, c.groups});
  Tile number = cast((reshape(packed, bytes) >> shift) & c.mask, f32) - 8.0;
  Tile weights = number * reshape(scale, {c.rows, c.groups, 1, 1});
  return reshape(broadcast_to(weights, all), {c.rows, c.groups * 32});
}

ir::Function unpacking(const LookupCase& c) {
  Tracer t("unpack");
  Tile memory = t.pointer_param("bytes", DType::u8), scales = t.pointer_param("scales", f32);
  Tile result = t.pointer_param("result", f32);
  std::int64_t width = c.groups * 32;
  store(make_desc(result, {c.rows, width}, {width, 1}), {0, 0}, unpacked(memory, scales, c));
  return t.finish();
}

Array any_bytes(const LookupCase& c) {
  return random_array(static_cast<std::size_t>(c.rows * c.groups * 4), 5);
}
Array scales_of(const LookupCase& c) {
  return random_array(static_cast<std::size_t>(c.rows * c.groups), 6);
}

TEST_P(Lookup, GivesWhatTheOperationsGive) {
  const LookupCase& c = GetParam();
  Array result(static_cast<std::size_t>(c.rows * c.groups * 32), NAN);
  expect_same(unpacking(c), {any_bytes(c), scales_of(c), result}, {}, 0);
}

// A product of one row: x is in bf16, and widened once where the rows of weights are many.
TEST_P(Lookup, IsSummedUp) {
  const LookupCase& c = GetParam();
  std::int64_t width = c.groups * 32;
  Tracer t("row");
  Tile memory = t.pointer_param("bytes", DType::u8), scales = t.pointer_param("scales", f32);
  Tile exact = t.pointer_param("exact", f32), x = t.pointer_param("x", bf16);
  Tile result = t.pointer_param("result", f32);
  Desc narrow = make_desc(x, {1, width}, {width, 1});
  Tile wide = load(make_desc(exact, {1, width}, {width, 1}), {0, 0}, {1, width});
  store(narrow, {0, 0}, cast(wide, bf16));
  Tile row = cast(load(narrow, {0, 0}, {1, width}), f32);
  Tile sums = sum(row * unpacked(memory, scales, c), 1);
  store(make_desc(result, {c.rows}, {1}), {0}, sums);
  expect_same(
      t.finish(),
      {any_bytes(c), scales_of(c), random_array(static_cast<std::size_t>(width), 7),
       Array(static_cast<std::size_t>(width / 2)), Array(static_cast<std::size_t>(c.rows), NAN)},
      {}, 1e-3F);
}

TEST(LookupCode, IsOneInstructionForSixteenWeights) {
  std::vector<std::string_view> names = host_names();
  if (std::ranges::find(names, "avx512") == names.end()) GTEST_SKIP() << "no AVX-512";
  auto text = [](const char* target) {
    return host_code_text(unpacking({130, 64, 15}), target_named(target), "asm");
  };
  EXPECT_NE(text("avx512").find("vpermd"), std::string::npos);
  EXPECT_EQ(text("avx512").find("vcvtdq2ps"), std::string::npos);
  EXPECT_EQ(text("avx2").find("vpermd"), std::string::npos);
}

TEST(LookupCode, IsOneInstructionForTheSixteenthsOfExp) {
  std::vector<std::string_view> names = host_names();
  if (std::ranges::find(names, "avx512") == names.end()) GTEST_SKIP() << "no AVX-512";
  Tracer t("exp");
  Tile x = t.pointer_param("x", f32);
  store(x + arange(0, 64), exp(load(x + arange(0, 64))));
  ir::Function f = t.finish();
  ASSERT_TRUE(expand_math(f, target_named("avx512")));
  std::string code = host_code_text(f, target_named("avx512"), "asm");
  EXPECT_NE(code.find("vpermps"), std::string::npos) << code;
  EXPECT_EQ(code.find("vcvtdq2ps"), std::string::npos) << code;  // the table is a constant
}

// Operations that meet again are done for the sixteen numbers too, and those on two numbers are
// not.
TEST(Lookup, FollowsEveryWayToTheNumber) {
  constexpr std::int64_t rows = 3, width = 80;
  Tracer t("ways");
  Tile x = t.pointer_param("x", f32), y = t.pointer_param("y", f32);
  Tile scales = t.pointer_param("scales", f32);
  Tile bits =
      bitcast(load(make_desc(x, {rows, width}, {width, 1}), {0, 0}, {rows, width}), DType::i32);
  Tile scale = load(make_desc(scales, {rows, 1}, {1, 1}), {0, 0}, {rows, 1});
  Tile number = cast(bits & 15, f32), other = cast((bits >> 4) & 7, f32);
  Tile square = fma(number, number * 0.25, scale);
  Tile result = fma(square, number, square) + number * (other + 1.0);
  store(make_desc(y, {rows, width}, {width, 1}), {0, 0}, result);
  expect_same(t.finish(),
              {random_array(rows * width, 8), Array(rows * width, NAN), random_array(rows, 9)}, {},
              0);
}

// A place in memory is no number, whatever it is made of.
TEST(Lookup, IsNotOfPlaces) {
  constexpr std::int64_t width = 80;
  Tracer t("places");
  Tile x = t.pointer_param("x", f32), y = t.pointer_param("y", f32);
  Tile from = t.pointer_param("from", f32), at = arange(0, width);
  Tile bits = bitcast(load(x + at), DType::i32);
  store(y + at, load(from + ((bits & 15) * 2 + 1)));
  expect_same(t.finish(), {random_array(width, 8), Array(width, NAN), random_array(32, 9)}, {}, 0);
}

// A mask that a parameter gives may let any number through.
TEST(LookupCode, IsOfMasksThatAreKnown) {
  Tracer t("masked");
  Tile bytes = t.pointer_param("bytes", i32), mask = t.scalar_param("mask", i32);
  Tile result = t.pointer_param("result", f32);
  Tile number = cast(load(bytes + arange(0, 64)) & mask, f32);
  store(result + arange(0, 64), (number - 8.0) * 3.0 + number);
  ir::Function function = t.finish();
  std::vector<Array> arrays{random_array(64, 3), Array(64, NAN)};
  auto result_of = [&](auto&& run) {
    return arrays_after(arrays, [&](std::vector<Argument>& a) {
      a.insert(a.begin() + 1, Argument{.integer = 0xff});
      run(a);
    })[1];
  };
  Array expected = result_of([&](std::vector<Argument>& a) { ir::interpret(function, {}, a); });
  for (const Target& target : tested_targets()) {
    auto artifact = compiled(function, target);
    EXPECT_EQ(result_of([&](std::vector<Argument>& a) { run_all(*artifact, {}, a); }), expected)
        << target.features;
  }
}

}  // namespace
}  // namespace tilewright::dsl::lookup_test
