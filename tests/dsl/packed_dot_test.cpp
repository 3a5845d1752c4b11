// Products large enough that host code packs their operands, in all element types and orders.
#include <gtest/gtest.h>

#include <cmath>

#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "tests/dsl/expect_same.h"

namespace tilewright::dsl::packed_dot_test {
namespace {

struct PackedCase {
  std::int64_t m, n, k;
  DType dtype;
  bool left_turned, right_turned;  // contiguous along m; along k
};

void PrintTo(const PackedCase& c, std::ostream* out) {
  *out << c.m << 'x' << c.n << 'x' << c.k << ' ' << name_of(c.dtype) << (c.left_turned ? " m" : "")
       << (c.right_turned ? " k" : "");
}

class PackedDot : public testing::TestWithParam<PackedCase> {};

std::vector<PackedCase> packed_cases() {
  struct Size {
    std::int64_t m, n, k;
  };
  std::vector<PackedCase> cases;
  // Whole left panels, panels and pieces; remainders of each; an odd depth; few rows, along k; and
  // as many as tiles of AMX take with exchanged operands, with remainders of these.
  for (Size size : {Size{48, 96, 520}, Size{50, 101, 300}, Size{49, 50, 33}, Size{3, 21, 1040},
                    Size{64, 40, 20}, Size{16, 64, 96}, Size{13, 53, 330}, Size{27, 36, 132}})
    for (DType dtype : {f32, f16, bf16, DType::i8})
      for (int turned = 0; turned < 4; ++turned)
        cases.push_back({size.m, size.n, size.k, dtype, (turned & 1) != 0, (turned & 2) != 0});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, PackedDot, testing::ValuesIn(packed_cases()));

// The operands are rounded to their type, stored, and multiplied from memory.
TEST_P(PackedDot, EqualsTheInterpreter) {
  auto [m, n, k, dtype, left_turned, right_turned] = GetParam();
  Tracer t("packed");
  Tile a = t.pointer_param("a", f32), b = t.pointer_param("b", f32);
  Tile left_memory = t.pointer_param("left", dtype), right_memory = t.pointer_param("right", dtype);
  Tile c = t.pointer_param("c", f32);
  auto desc = [](const Tile& memory, std::int64_t rows, std::int64_t columns, bool turned) {
    return turned ? make_desc(memory, {rows, columns}, {1, rows})
                  : make_desc(memory, {rows, columns}, {columns, 1});
  };
  auto rounded = [&](const Tile& x) {
    return is_floating(dtype) ? cast(x, dtype) : cast(x * 15.0 + 16.0, dtype);
  };
  Desc left = desc(left_memory, m, k, left_turned), right = desc(right_memory, k, n, right_turned);
  store(left, {0, 0}, rounded(load(make_desc(a, {m, k}, {k, 1}), {0, 0}, {m, k})));
  store(right, {0, 0}, rounded(load(make_desc(b, {k, n}, {n, 1}), {0, 0}, {k, n})));
  Tile product = dot(load(left, {0, 0}, {m, k}), load(right, {0, 0}, {k, n}));
  Tile twice = dot(load(left, {0, 0}, {m, k}), load(right, {0, 0}, {k, n}), product);
  Tile result = cast(twice, f32);
  store(make_desc(c, {m, n}, {n, 1}), {0, 0}, is_floating(dtype) ? result : result / 3600.0);
  auto words = [&](std::int64_t elements) {
    return Array(static_cast<std::size_t>(elements * size_bytes(dtype) / 4 + 1), 0.0F);
  };
  expect_same(t.finish(),
              {random_array(static_cast<std::size_t>(m * k), 3),
               random_array(static_cast<std::size_t>(k * n), 4), words(m * k), words(k * n),
               Array(static_cast<std::size_t>(m * n), NAN)},
              {}, 2e-4F);
}

// A value that a loop carries lies in memory: whole tiles of AMX could be read there, were they not
// turned over.
TEST(PackedDot, TurnsOverALeftOperandThatIsCarried) {
  constexpr std::int64_t m = 64, n = 64, k = 96;
  for (DType dtype : {f32, bf16}) {
    Tracer t("turned");
    Tile a = t.pointer_param("a", f32), b = t.pointer_param("b", f32),
         c = t.pointer_param("c", f32);
    Tile right = load(make_desc(b, {k, n}, {n, 1}), {0, 0}, {k, n});
    Var left = cast(load(make_desc(a, {k, m}, {m, 1}), {0, 0}, {k, m}), dtype);
    for (Tile turn : range(0, 2)) left = left * cast(turn + 1, dtype);
    Tile product = dot(permute(left, {1, 0}), cast(right, dtype));
    store(make_desc(c, {m, n}, {n, 1}), {0, 0}, product);
    expect_same(t.finish(),
                {random_array(static_cast<std::size_t>(m * k), 3),
                 random_array(static_cast<std::size_t>(k * n), 4),
                 Array(static_cast<std::size_t>(m * n), NAN)},
                {}, 2e-4F);
  }
}

// Results are written as the first part of the depth is multiplied. Where that is not all of it,
// there must be zeros before.
TEST(PackedDot, WritesZerosFirstOnlyWhereItAddsUpPartsOfTheDepth) {
  auto text_of = [](std::int64_t k) {
    constexpr std::int64_t m = 48, n = 96;
    Tracer t("packed");
    Tile a = t.pointer_param("a", f32), b = t.pointer_param("b", f32),
         c = t.pointer_param("c", f32);
    store(make_desc(c, {m, n}, {n, 1}), {0, 0},
          dot(load(make_desc(a, {m, k}, {k, 1}), {0, 0}, {m, k}),
              load(make_desc(b, {k, n}, {n, 1}), {0, 0}, {k, n})));
    return host_code_text(t.finish(), target_named("avx512"), "llvm");
  };
  EXPECT_EQ(text_of(64).find("call void @llvm.memset"), std::string::npos);
  EXPECT_NE(text_of(65536).find("call void @llvm.memset"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::dsl::packed_dot_test
