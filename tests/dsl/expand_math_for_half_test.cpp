// Expanded functions whose results are rounded to half precision, or whose argument is a difference
// from a maximum, take shorter ways.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "dsl/ir/builder.h"
#include "dsl/ir/verify.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/math/functions.h"
#include "dsl/passes/passes.h"
#include "tests/dsl/expanded_math.h"

namespace tilewright::dsl::expand_math_for_half_test {
namespace {

using namespace testing_math;

struct ForHalf {
  Op op;
  math::Expression (*formula)(const math::Expression& x, const math::Form& form);
  math::PowerBy power;
};

// A 32nd of what rounding to f16 may change.
TEST(ExpandMathForHalf, IsWithinAPartInTwoToTheSeventeenthOverAllOfF32) {
  using math::PowerBy;
  for (auto [op, formula, power] : {ForHalf{Op::sigmoid_, math::sigmoid, PowerBy::arithmetic},
                                    {Op::sigmoid_, math::sigmoid, PowerBy::ldexp},
                                    {Op::exp_, math::exp, PowerBy::arithmetic},
                                    {Op::exp_, math::exp, PowerBy::ldexp}}) {
    ir::Function f = mapped(op, DType::f32);
    std::vector<ir::Inst> code;
    for (ir::Inst& inst : f.body.insts) {
      if (inst.op != op) {
        code.push_back(inst);
        continue;
      }
      math::InsertionPoint site{f, code, f.type(inst.results[0]).shape, inst.where};
      formula({site, inst.operands[0]}, {.power = power, .for_half = true});
      code.back().results = inst.results;
    }
    f.body.insts = code;
    ir::verify(f);
    Worst worst = worst_of_every(8209, f, op);
    EXPECT_LE(worst.ulp, 0x1p24 / 0x1p17) << "at " << std::hexfloat << worst.at;
    EXPECT_GT(worst.ulp, 0.5);
  }
}

// Sums of exponentials are as good as they are, differences are not.
TEST(ExpandMathForHalf, IsTakenWhereOnlyRoundedProductsAndSumsAreMade) {
  auto expanded_size = [](bool subtracts, const Shape& shape) {
    Tracer tracer("f");
    Tile from = tracer.pointer_param("from", DType::bf16);
    Tile to = tracer.pointer_param("to", DType::bf16);
    Tile at = arange(0, 64);
    Tile e = reshape(exp(cast(load(from + at), DType::f32)), shape);
    Tile weight = e / sum(e, 0, true);
    weight = cast(subtracts ? weight - 0.5 : weight * 2.0, DType::bf16);
    store(to + at, reshape(weight, {64}));
    ir::Function f = tracer.finish();
    expand_math(f, target_named("avx512"));
    ir::verify(f);
    return f.body.insts.size();
  };
  for (const Shape& shape : {Shape{64}, Shape{8, 8}})
    EXPECT_LT(expanded_size(false, shape), expanded_size(true, shape)) << shape;
}

// exp(x - m) of a square tile, m being the greatest of each row, or that of the row as a column.
ir::Function exp_of_differences(std::int64_t size, bool of_its_row, const char* target) {
  Tracer tracer("f");
  Tile from = tracer.pointer_param("from", DType::f32), to = tracer.pointer_param("to", DType::f32);
  auto place = [&](const Tile& base) { return make_desc(base, {size, size}, {size, 1}); };
  Tile x = load(place(from), {0, 0}, {size, size});
  Tile greatest = expand_dims(max(x, 1), of_its_row ? 1 : 0);
  store(place(to), {0, 0}, exp(x - greatest));
  ir::Function f = tracer.finish();
  EXPECT_TRUE(expand_math(f, target_named(target)));
  ir::verify(f);
  return f;
}

// No difference is above zero where the greatest of its own row is taken off, and none is looked at
// for it. Others may overflow.
TEST(ExpandMathOfDifferences, IsWithinTwoUlpAndOverflowsWhereItShould) {
  constexpr std::int64_t size = 64;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::mt19937 random(1);
  std::uniform_real_distribution<float> numbers(-120, 20);
  std::vector<float> x(size * size);
  for (float& element : x) element = numbers(random);
  const float strange[] = {-infinity, 1e30F, -1e30F, 300, NAN, infinity};
  for (std::size_t i = 0; i < std::size(strange); ++i) x[i * (size + 1)] = strange[i];
  for (const char* host : hosts)
    for (bool of_its_row : {false, true}) {
      ir::Function f = exp_of_differences(size, of_its_row, host);
      Worst worst;
      auto y = run(f, x);
      for (std::size_t i = 0; i < size * size; ++i) {
        const std::size_t row = of_its_row ? i / size : i % size;
        float greatest = -infinity;
        for (std::size_t k = 0; k < size; ++k) {
          float element = x[row * size + k];
          if (std::isnan(element) || element > greatest) greatest = element;
          if (std::isnan(greatest)) break;
        }
        worst.see(x[i], y[i], std::exp(static_cast<double>(x[i] - greatest)));
      }
      EXPECT_LE(worst.ulp, 2) << host << ", of its row: " << of_its_row << ", at " << worst.at;
      EXPECT_GT(worst.ulp, 0);
    }
  for (const char* host : hosts)
    EXPECT_LT(exp_of_differences(size, true, host).body.insts.size(),
              exp_of_differences(size, false, host).body.insts.size());
}

// Nothing is known of differences from another array's greatest.
TEST(ExpandMathOfDifferences, AreAtMostZeroFromTheirOwnGreatestAlone) {
  for (const char* host : hosts) {
    auto expanded_size = [&](bool of_itself) {
      constexpr std::int64_t size = 64;
      Tracer tracer("f");
      Tile a = tracer.pointer_param("a", DType::f32), b = tracer.pointer_param("b", DType::f32);
      auto place = [&](const Tile& base) { return make_desc(base, {size, size}, {size, 1}); };
      Tile x = load(place(a), {0, 0}, {size, size}), y = load(place(b), {0, 0}, {size, size});
      store(place(b), {0, 0}, exp(x - max(of_itself ? x : y, 1, true)));
      ir::Function f = tracer.finish();
      EXPECT_TRUE(expand_math(f, target_named(host)));
      return f.body.insts.size();
    };
    EXPECT_LT(expanded_size(true), expanded_size(false)) << host;
  }
}

}  // namespace
}  // namespace tilewright::dsl::expand_math_for_half_test
