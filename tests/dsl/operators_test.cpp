// The operators of tiles and variables that C++ has beside arithmetic, and what they say to misuse.
#include <gmock/gmock.h>

#include "dsl/ir/function.h"
#include "dsl/language/kernel.h"
#include "tests/errors.h"

namespace tilewright::dsl::operators_test {
namespace {

using ::testing::HasSubstr;
using Whole = std::vector<std::int64_t>;

TEST(Operators, VariablesAreAssignedWithEveryOperator) {
  Kernel kernel("assign", [](Pointer out) {
    Var a = std::int64_t{100};
    int place = 0;
    auto note = [&] { store(out + place++, a); };
    a += 5, note();
    a -= 1, note();
    a *= 3, note();
    a /= 5, note();
    a %= 40, note();
    a <<= 3, note();
    a >>= 1, note();
    a |= 3, note();
    a &= 14, note();
    a ^= 7, note();
  });
  Whole out(10);
  kernel.launch(1, out);
  EXPECT_EQ(out, (Whole{105, 104, 312, 62, 22, 176, 88, 91, 10, 13}));
}

TEST(Operators, AVariableBeginsAsANumber) {
  Kernel kernel("numbers", [](Pointer f, Pointer i, Constexpr c) {
    Var half = 0.5, three = 3, constant = c;
    half /= 2.0;
    store(f + 0, half);
    store(i + 0, three + constant);
  });
  std::vector<float> f(1);
  Whole i(1);
  kernel.launch(1, f, i, 39);
  EXPECT_EQ(f[0], 0.25F);
  EXPECT_EQ(i[0], 42);
}

TEST(Operators, BoolsAreNegatedAndJoined) {
  Kernel kernel("bools", [](Pointer out, Scalar n) {
    Tile i = cast(arange(0, 8), i64);
    Tile low = i < 4, even = i % 2 == 0;
    auto bits = [](const Tile& b) { return cast(b, i64); };
    store(out + i, bits(!low) + bits(low && even) * 10 + bits(low || even) * 100 +
                       bits(!(n > 3) || true) * 1000);
  });
  Whole out(8);
  kernel.launch(1, out, 5);
  EXPECT_EQ(out, (Whole{1110, 1100, 1110, 1100, 1101, 1001, 1101, 1001}));
}

TEST(Operators, BitsOfIntegersAreTurned) {
  Kernel kernel("bits", [](Pointer out, Scalar n) { store(out + 0, ~n & 255); });
  Whole out(1);
  kernel.launch(1, out, 15);
  EXPECT_EQ(out[0], 240);
}

TEST(Operators, SayWhatToWriteWhereBoolsAreWanted) {
  auto error = [](auto body) {
    return error_of([&] {
      Kernel("f", [&](Pointer, Scalar x, Scalar n) { body(x, n); }).trace({f32, f32, i64});
    });
  };
  EXPECT_THAT(error([](const Tile& x, const Tile&) { !x; }),
              HasSubstr("[not] ! takes bools, the operand is f32; compare it with something, or "
                        "write ~ for its bits"));
  EXPECT_THAT(error([](const Tile&, const Tile& n) { n&& n; }),
              HasSubstr("[and] && takes bools, the operand is i64; compare it with something, or "
                        "write & for its bits"));
  EXPECT_THAT(error([](const Tile& x, const Tile&) { (x > 0.0) || x; }),
              HasSubstr("[or] || takes bools, the operand is f32"));
  EXPECT_THAT(
      error_of([] {
        Kernel("f", [](Pointer bools, Scalar x) { x > 0.0 && bools; }).trace({boolean, f32});
      }),
      HasSubstr("[and] && takes bools, the operand is ptr<bool>"));
}

TEST(Operators, ConstexprsStayNumbers) {
  constexpr Constexpr c(6);
  static_assert(std::same_as<decltype(c && true), bool> && std::same_as<decltype(!c), bool>);
  static_assert((c << 1) == 12 && (c | 1) == 7 && ~c == -7 && -c == -6 && (c & 2) == 2);
}

TEST(Operators, FillWithWholeNumbersExactly) {
  Kernel kernel("exact", [](Pointer out) {
    store(out + arange(0, 2), full({2}, std::int64_t{9007199254740993}, i64));
  });
  Whole out(2);
  kernel.launch(1, out);
  EXPECT_EQ(out[1], 9007199254740993);
}

// The differences from Triton that tile.h lists, by what programs give.
TEST(Operators, DifferFromTritonAsTheHeaderSays) {
  Kernel kernel("differences", [](Pointer out, Scalar zero, Scalar nan) {
    int place = 0;
    auto note = [&](const Tile& x) { store(out + place++, cast(x, f64)); };
    note(Operand(7) / (zero + 2));  // towards zero
    note((zero - 7) / 2);
    note((zero - 7) % 2);  // has the sign of the first
    note((zero + 5) / zero);
    note((zero + 5) % zero);
    note((zero + 1) << (zero + 64));
    note((zero - 1) >> (zero + 64));
    note(cast(full({}, 1e30, f64) + 0.0, i32));
    note(cast(nan, i32));
    note(cast(maximum(nan, 1.0) == maximum(nan, 1.0), i32));  // NaN is not itself
    note(cast(max(splat(nan, {4}), 0) == 1.0, i32));
    Tile small = full({4}, 100, i8);
    note(sum(small, 0));  // of its type: 400 is -112
  });
  std::vector<double> out(12);
  kernel.launch(1, out, 0, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(out, (std::vector<double>{3, -3, -1, 0, 0, 0, -1, 2147483647, 0, 0, 0, -112}));
  Kernel types("types", [](Pointer) {
    EXPECT_EQ(program_id(0).dtype(), i64);
    EXPECT_EQ(num_programs(0).dtype(), i64);
    EXPECT_EQ(dot(full({16, 16}, 1, i8), full({16, 16}, 1, i8)).dtype(), i32);
    EXPECT_EQ(sum(full({4}, 1, f16), 0).dtype(), f16);
  });
  ir::Function program = Kernel("precision", [](Pointer x) {
                           Tile a = full({16, 16}, 1, f32);
                           store(make_desc(x, {16, 16}, {16, 1}), {0, 0}, dot(a, a));
                         }).trace({f32});
  types.trace({f32});
  ir::for_each_inst(program.body, [](const ir::Inst& inst) {
    if (inst.op == ir::Op::dot_) {
      EXPECT_EQ(inst.get<ir::Precision>().input, InputPrecision::ieee);
    }
  });
}

}  // namespace
}  // namespace tilewright::dsl::operators_test
