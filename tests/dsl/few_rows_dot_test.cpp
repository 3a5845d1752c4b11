// Products of few rows of bf16, block by block of a right operand that a loop goes through: rows of
// it that are interleaved as they are loaded, and columns that are multiplied along the inner axis.
// And of few rows of i8.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "tests/dsl/expect_same.h"

namespace tilewright::dsl::few_rows_dot_test {
namespace {

struct FewRows {
  std::int64_t m, n, k, blocks;
  bool turned;  // the right operand is contiguous along k
};
void PrintTo(const FewRows& c, std::ostream* out) {
  *out << c.m << "x" << c.n << "x" << c.k << "*" << c.blocks << (c.turned ? " k" : "");
}

std::vector<FewRows> few_rows_cases() {
  std::vector<FewRows> cases;
  for (bool turned : {false, true}) {
    for (std::int64_t m : {1, 2, 3, 4, 7, 8, 9}) cases.push_back({m, 64, 64, 3, turned});
    for (std::int64_t n : {32, 96, 160}) cases.push_back({4, n, 128, 2, turned});
    // No whole vectors of columns; no whole pairs.
    cases.push_back({4, 40, 64, 2, turned});
    cases.push_back({4, 64, 33, 2, turned});
    cases.push_back({5, 32, 2, 2, turned});
  }
  return cases;
}

// c = sum over blocks of a [m, k] times b [k, n], the blocks one behind the other in memory.
ir::Function few_rows_program(const FewRows& c) {
  Tracer t("few_rows");
  const std::int64_t depth = c.k * c.blocks;
  Tile left = t.pointer_param("left", bf16), right = t.pointer_param("right", bf16);
  Tile result = t.pointer_param("result", f32);
  Desc rows = make_desc(left, {c.m, depth}, {depth, 1});
  Desc weights = c.turned ? make_desc(right, {depth, c.n}, {1, depth})
                          : make_desc(right, {depth, c.n}, {c.n, 1});
  Var sum = full({c.m, c.n}, 0.5, f32);
  for (Tile at : range(0, depth, c.k))
    sum = dot(load(rows, {0, at}, {c.m, c.k}), load(weights, {at, 0}, {c.k, c.n}), sum);
  store(make_desc(result, {c.m, c.n}, {c.n, 1}), {0, 0}, sum);
  return t.finish();
}

class FewRowsDot : public testing::TestWithParam<FewRows> {};
INSTANTIATE_TEST_SUITE_P(Cases, FewRowsDot, testing::ValuesIn(few_rows_cases()));

TEST_P(FewRowsDot, EqualsTheInterpreter) {
  const FewRows& c = GetParam();
  const std::int64_t depth = c.k * c.blocks;
  auto pairs = [](std::int64_t elements, unsigned seed) {
    return random_pairs(static_cast<std::size_t>(elements + 1) / 2, seed);
  };
  expect_same(few_rows_program(c),
              {pairs(c.m * depth, 3), pairs(depth * c.n, 4),
               Array(static_cast<std::size_t>(c.m * c.n), NAN)},
              {}, 1e-4F);
}

// c = a b + start with a [m, k] and b [k, n] of f32.
ir::Function program_of_floats(std::int64_t m, std::int64_t n, std::int64_t k, double start) {
  Tracer t("floats");
  Tile a = t.pointer_param("a", f32), b = t.pointer_param("b", f32), c = t.pointer_param("c", f32);
  store(make_desc(c, {m, n}, {n, 1}), {0, 0},
        dot(load(make_desc(a, {m, k}, {k, 1}), {0, 0}, {m, k}),
            load(make_desc(b, {k, n}, {n, 1}), {0, 0}, {k, n}), full({m, n}, start, f32)));
  return t.finish();
}

// Rows of the right operand that are far apart: several times as many as are fetched at a time, a
// rest of them, and fewer; blocks of columns, and a rest.
TEST(FewRowsDot, OfRowsThatAreFarApartEqualsTheInterpreter) {
  for (std::int64_t m : {1, 4, 19})
    for (std::int64_t n : {256, 300})
      for (std::int64_t k : {64, 129, 300})
        for (double start : {0.0, 0.5}) {
          SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << " + " << start);
          auto random = [](std::int64_t count, unsigned seed) {
            return random_array(static_cast<std::size_t>(count), seed);
          };
          expect_same(
              program_of_floats(m, n, k, start),
              {random(m * k, 3), random(k * n, 4), Array(static_cast<std::size_t>(m * n), NAN)}, {},
              2e-4F);
        }
}

// c = 2 a b + 0.5 with a [m, k] and b [k, n] of i8; b is contiguous along k, or along n.
ir::Function program_of_bytes(std::int64_t m, std::int64_t n, std::int64_t k, bool turned = true) {
  Tracer t("bytes");
  Tile a = t.pointer_param("a", DType::i8), b = t.pointer_param("b", DType::i8),
       c = t.pointer_param("c", f32);
  Desc left = make_desc(a, {m, k}, {k, 1}),
       right = turned ? make_desc(b, {k, n}, {1, k}) : make_desc(b, {k, n}, {n, 1});
  Tile product = dot(load(left, {0, 0}, {m, k}), load(right, {0, 0}, {k, n}));
  Tile twice = dot(load(left, {0, 0}, {m, k}), load(right, {0, 0}, {k, n}), product);
  store(make_desc(c, {m, n}, {n, 1}), {0, 0}, cast(twice, f32) + 0.5);
  return t.finish();
}
// All numbers from -128 to 127, but none that make a word a NaN of f32.
Array random_bytes(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Array words;
  for (std::int64_t i = 0; i < count; i += 4) {
    std::uint32_t word = random();
    if ((word >> 24 & 0x7f) == 0x7f) word ^= 1U << 24;
    words.push_back(std::bit_cast<float>(word));
  }
  return words;
}

TEST(FewRowsDot, OfBytesEqualsTheInterpreter) {
  for (std::int64_t m : {1, 2, 3, 5, 8})
    for (std::int64_t n : {1, 3, 16, 21})
      // Whole vectors of words, a rest of words, no whole words, and columns that are read ahead.
      for (std::int64_t k : {16, 64, 72, 130, 516, 4096}) {
        SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k);
        expect_same(program_of_bytes(m, n, k),
                    {random_bytes(m * k, 3), random_bytes(k * n, 4),
                     Array(static_cast<std::size_t>(m * n), NAN)},
                    {}, 0);
      }
}

TEST(FewRowsDot, OfBytesByRowsEqualsTheInterpreter) {
  for (std::int64_t m : {1, 2, 3, 4, 5, 9})
    // Registers of columns, several at once and a rest of them, and no whole ones.
    for (std::int64_t n : {64, 128, 320, 448, 72})
      // Whole words, and a rest.
      for (std::int64_t k : {4, 64, 260, 66}) {
        SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k);
        expect_same(program_of_bytes(m, n, k, false),
                    {random_bytes(m * k, 3), random_bytes(k * n, 4),
                     Array(static_cast<std::size_t>(m * n), NAN)},
                    {}, 0);
      }
}

TEST(FewRowsDot, MultipliesBytesByFours) {
  for (bool turned : {true, false}) {
    auto assembly = [&](std::int64_t k) {
      return host_code_text(program_of_bytes(1, 64, k, turned), target_named("avx512_bf16"), "asm");
    };
    EXPECT_THAT(assembly(64), testing::HasSubstr("vpdpbusd"));
    EXPECT_THAT(assembly(66), testing::Not(testing::HasSubstr("vpdpbusd")));
  }
}

// c = a b with a [m, k] of f32 and b [k, n] of narrower numbers, which are converted; they lie
// along n, or along k.
ir::Function program_of_converted(DType narrow, std::int64_t m, std::int64_t n, std::int64_t k,
                                  bool turned) {
  Tracer t("converted");
  Tile a = t.pointer_param("a", f32), b = t.pointer_param("b", narrow),
       c = t.pointer_param("c", f32);
  Tile right = turned ? trans(cast(load(make_desc(b, {n, k}, {k, 1}), {0, 0}, {n, k}), f32))
                      : cast(load(make_desc(b, {k, n}, {n, 1}), {0, 0}, {k, n}), f32);
  store(make_desc(c, {m, n}, {n, 1}), {0, 0},
        dot(load(make_desc(a, {m, k}, {k, 1}), {0, 0}, {m, k}), right));
  return t.finish();
}

// The last number of rows is more than are converted as they are read.
TEST(FewRowsDot, OfConvertedNumbersEqualsTheInterpreter) {
  for (DType narrow : {DType::i8, bf16})
    for (bool turned : {false, true})
      for (std::int64_t m : {1, 4, 5, 9})
        for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{64, 64}, {21, 130}}) {
          SCOPED_TRACE(testing::Message() << narrow << " " << m << "x" << n << "x" << k << turned);
          const Array b = narrow == DType::i8
                              ? random_bytes(k * n, 4)
                              : random_pairs(static_cast<std::size_t>(k * n + 1) / 2, 4);
          expect_same(program_of_converted(narrow, m, n, k, turned),
                      {random_array(static_cast<std::size_t>(m * k), 3), b,
                       Array(static_cast<std::size_t>(m * n), NAN)},
                      {}, narrow == DType::i8 ? 1e-2F : 2e-4F);
        }
}

TEST(FewRowsDot, ConvertsWhatItReads) {
  const Target host = target_named("avx512_bf16");
  auto loops = [&](std::int64_t m) {  // those that convert and store, and the product's
    const std::string assembly =
        host_code_text(program_of_converted(DType::i8, m, 64, 64, true), host, "asm");
    EXPECT_THAT(assembly, testing::HasSubstr("vpmovsxbd")) << m;
    const std::size_t product = assembly.find("vfmadd");
    return assembly.find("vpmovsxbd", product) != std::string::npos;
  };
  EXPECT_TRUE(loops(4));
  EXPECT_FALSE(loops(16)) << "converted once, before";
}

// Each block's turn asks for the next one's memory.
TEST(FewRowsDot, FetchesTheNextBlock) {
  for (std::string_view name : host_names())
    for (bool turned : {false, true}) {
      auto assembly = [&](std::int64_t k, std::int64_t blocks) {
        return host_code_text(few_rows_program({4, 64, k, blocks, turned}),
                              target_named(std::string(name)), "asm");
      };
      EXPECT_THAT(assembly(64, 3), testing::HasSubstr("prefetcht1")) << name << turned;
      EXPECT_THAT(assembly(16, 3), testing::Not(testing::HasSubstr("prefetcht1")))
          << name << turned;
    }
}

TEST(FewRowsDot, InterleavesRowsWherePairsAreMultiplied) {
  Target host = target_named("avx512_bf16");
  host.has_fast_pairs = true;
  auto assembly = [&](std::int64_t n, std::int64_t k) {
    return host_code_text(few_rows_program({4, n, k, 2, false}), host, "asm");
  };
  EXPECT_THAT(assembly(64, 64), testing::HasSubstr("vdpbf16ps"));
  EXPECT_THAT(assembly(40, 64), testing::Not(testing::HasSubstr("vdpbf16ps")));
  EXPECT_THAT(assembly(64, 33), testing::Not(testing::HasSubstr("vdpbf16ps")));
}

}  // namespace
}  // namespace tilewright::dsl::few_rows_dot_test
