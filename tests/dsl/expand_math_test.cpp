#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "dsl/interpret/interpret.h"
#include "dsl/ir/builder.h"
#include "dsl/ir/elements.h"
#include "dsl/ir/verify.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/math/functions.h"
#include "dsl/passes/passes.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::expand_math_test {
namespace {

using ir::Op;

constexpr std::int64_t block = 65536;

// y = op(x), one tile of a block.
ir::Function mapped(Op op, DType dtype) {
  ir::Function f{.name = "mapped"};
  ir::Builder b(f);
  ir::Value x = b.param("x", ir::Type::pointer(dtype)), y = b.param("y", ir::Type::pointer(dtype));
  ir::Value lanes = b.append(Op::arange_, {}, ir::Bounds{0, block});
  auto at = [&](ir::Value base) {
    return b.append(Op::offset_, {b.append(Op::splat_, {base}, ir::Extent{{block}}), lanes});
  };
  ir::Value in = b.append(Op::load_, {at(x)}, ir::Access{});
  b.append(Op::store_, {at(y), b.append(op, {in})}, ir::Access{});
  return f;
}

template <typename T>
std::vector<T> run(const ir::Function& f, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  Argument arguments[2];
  arguments[0].pointer = x.data();
  arguments[1].pointer = y.data();
  interpret(f, {}, arguments);
  return y;
}

ir::Function expanded(Op op, const char* target, DType dtype = DType::f32) {
  ir::Function f = mapped(op, dtype);
  EXPECT_TRUE(expand_math(f, target_named(target)));
  ir::verify(f);
  EXPECT_FALSE(expand_math(f, target_named(target)));
  return f;
}

double reference(Op op, double x) {
  ir::Scalar in = ir::Scalar::of(DType::f64, x), out{DType::f64};
  ir::Column column{&in.floating};
  ir::evaluate_elements(op, DType::f64, DType::f64, {&column, 1}, {&out.floating}, 1);
  return out.floating;
}

// The distance of a result to the true value in spacings of f32 at the true value.
double error_in_ulp(float result, double truth) {
  if (std::isnan(truth)) return std::isnan(result) ? 0 : HUGE_VAL;
  auto nearest = static_cast<float>(truth);
  if (result == nearest) return 0;
  if (std::isnan(result)) return HUGE_VAL;
  if (std::isinf(nearest)) truth = std::copysign(0x1p128, truth);
  double held = std::isinf(result) ? std::copysign(0x1p128, result) : result;
  int exponent = truth == 0 ? -149 : std::max(std::ilogb(truth) - 23, -149);
  return std::abs(held - truth) / std::ldexp(1.0, exponent);
}

struct Worst {
  double ulp = 0;
  float at = 0;
  void see(float x, float result, double truth) {
    double error = error_in_ulp(result, truth);
    if (error > ulp) ulp = error, at = x;
  }
};

// The worst error over the bit patterns that are multiples of `step`: all binades of both signs,
// subnormals and NaN.
Worst worst_of_every(std::uint64_t step, const ir::Function& f, Op op) {
  Worst worst;
  std::uint64_t pattern = 0;
  while (pattern < (1ULL << 32)) {
    std::vector<float> x(block);
    for (float& element : x) {
      element = std::bit_cast<float>(static_cast<std::uint32_t>(pattern));
      pattern += step;
    }
    auto y = run(f, x);
    for (std::size_t i = 0; i < x.size(); ++i) worst.see(x[i], y[i], reference(op, x[i]));
  }
  return worst;
}

class ExpandMath : public testing::TestWithParam<std::tuple<Op, const char*>> {
 protected:
  static Op op() { return std::get<0>(GetParam()); }
  static ir::Function expanded(DType dtype = DType::f32) {
    return expand_math_test::expanded(op(), std::get<1>(GetParam()), dtype);
  }
};

// 2.1 million numbers.
TEST_P(ExpandMath, IsWithinTwoUlpOverAllOfF32) {
  ir::Function f = expanded();
  Worst worst = worst_of_every(2053, f, op());
  RecordProperty("max_ulp", std::to_string(worst.ulp));
  std::printf("%-8s worst %.3f ulp at %.9g\n", std::string(ir::info(op()).name).c_str(), worst.ulp,
              worst.at);
  EXPECT_LE(worst.ulp, 2) << "at " << std::hexfloat << worst.at;
}

// Where functions are used most: equal steps between -40 and 40, and between 0 and 2.
TEST_P(ExpandMath, IsWithinTwoUlpWhereItIsUsedMost) {
  ir::Function f = expanded();
  Worst worst;
  for (auto [low, high] : {std::pair{-40.0, 40.0}, {0.0, 2.0}, {-105.0, 90.0}, {-1e5, 1e5}}) {
    std::vector<float> x(block);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(low + (high - low) * (static_cast<double>(i) + 0.37) / block);
    auto y = run(f, x);
    for (std::size_t i = 0; i < x.size(); ++i) worst.see(x[i], y[i], reference(op(), x[i]));
  }
  EXPECT_LE(worst.ulp, 2) << "at " << std::hexfloat << worst.at;
}

TEST_P(ExpandMath, IsRightAtZerosInfinitiesAndNan) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(block, 1);
  std::vector<float> special{0.0F,       -0.0F,     infinity, -infinity, NAN,      0x1p-149F,
                             -0x1p-149F, 0x1p-126F, -1.0F,    3.4e38F,   -3.4e38F, 1.0F};
  std::copy(special.begin(), special.end(), x.begin());
  auto y = run(expanded(), x);
  for (std::size_t i = 0; i < special.size(); ++i) {
    auto truth = static_cast<float>(reference(op(), x[i]));
    EXPECT_LE(error_in_ulp(y[i], reference(op(), x[i])), 2) << "at " << x[i] << " is " << y[i];
    if (truth == 0 && !std::isnan(y[i])) {
      EXPECT_EQ(std::signbit(y[i]), std::signbit(truth)) << "at " << x[i];
    }
  }
}

TEST_P(ExpandMath, OfSixteenBitTypesIsTheRoundedF32Result) {
  auto compare = [&](auto zero) {
    using T = decltype(zero);
    ir::Function f = expanded(dtype_of<T>());
    std::vector<T> x(block);
    for (std::size_t i = 0; i < x.size(); ++i) x[i].bits = static_cast<std::uint16_t>(i);
    auto y = run(f, x), expected = run(mapped(op(), dtype_of<T>()), x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto got = static_cast<float>(y[i]), want = static_cast<float>(expected[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got));
      } else {  // a tie may fall to the other side
        EXPECT_LE(std::abs(y[i].bits - expected[i].bits), 1) << static_cast<float>(x[i]);
      }
    }
  };
  compare(Half{});
  compare(BFloat16{});
}

constexpr const char* hosts[] = {"avx2", "avx512"};

INSTANTIATE_TEST_SUITE_P(Functions, ExpandMath,
                         testing::Combine(testing::Values(Op::exp_, Op::exp2_, Op::log_, Op::log2_,
                                                          Op::sin_, Op::cos_, Op::tanh_, Op::erf_,
                                                          Op::sigmoid_, Op::rsqrt_),
                                          testing::ValuesIn(hosts)),
                         [](const testing::TestParamInfo<std::tuple<Op, const char*>>& i) {
                           return std::string(ir::info(std::get<0>(i.param)).name) + "_" +
                                  std::get<1>(i.param);
                         });

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

// The functions of f64 against the C library's of 64 bits.
long double wide_reference(Op op, double number) {
  long double x = number;
  if (op == Op::exp_) return std::exp(x);
  if (op == Op::exp2_) return std::exp2(x);
  if (op == Op::log_) return std::log(x);
  if (op == Op::log2_) return std::log2(x);
  if (op == Op::sin_) return std::sin(x);
  if (op == Op::cos_) return std::cos(x);
  if (op == Op::tanh_) return std::tanh(x);
  if (op == Op::erf_) return std::erf(x);
  if (op == Op::sigmoid_) return 1 / (1 + std::exp(-x));
  check(op == Op::rsqrt_, "a function without a reference");
  return 1 / std::sqrt(x);
}

double error_in_ulp(double result, long double truth) {
  if (std::isnan(truth)) return std::isnan(result) ? 0 : HUGE_VAL;
  auto nearest = static_cast<double>(truth);
  if (result == nearest) return 0;
  if (std::isnan(result)) return HUGE_VAL;
  if (std::isinf(nearest)) truth = std::copysign(0x1p1024L, truth);
  long double held = std::isinf(result) ? std::copysign(0x1p1024L, truth) : result;
  int exponent = truth == 0 ? -1074 : std::max(std::ilogb(truth) - 52, -1074);
  return static_cast<double>(std::abs(held - truth) / std::ldexp(1.0L, exponent));
}

class ExpandMathOfDouble : public testing::TestWithParam<Op> {
 protected:
  std::vector<double> results(const std::vector<double>& x) { return run(function_, x); }
  void expect_two_ulp(const std::vector<double>& x) {
    auto y = results(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      double error = error_in_ulp(y[i], wide_reference(GetParam(), x[i]));
      ASSERT_LE(error, 2) << "at " << std::hexfloat << x[i] << " is " << y[i];
    }
  }

 private:
  ir::Function function_ = [] {
    ir::Function f = mapped(GetParam(), DType::f64);
    EXPECT_TRUE(expand_math(f, target_named("sm_80")));
    ir::verify(f);
    EXPECT_FALSE(expand_math(f, target_named("sm_80")));
    return f;
  }();
};

TEST_P(ExpandMathOfDouble, IsWithinTwoUlpOverAllOfF64) {
  std::mt19937_64 patterns(1);
  std::vector<double> x(block);
  for (int turn = 0; turn < 4; ++turn) {
    for (double& element : x) element = std::bit_cast<double>(patterns());
    expect_two_ulp(x);
  }
}

TEST_P(ExpandMathOfDouble, IsWithinTwoUlpWhereItIsUsedMost) {
  std::vector<double> x(block);
  for (auto [low, high] :
       {std::pair{-7.0, 7.0}, {0.0, 2.0}, {-40.0, 40.0}, {-750.0, 720.0}, {-1e9, 1e9}}) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = low + (high - low) * (static_cast<double>(i) + 0.37) / block;
    expect_two_ulp(x);
  }
}

TEST_P(ExpandMathOfDouble, IsRightAtZerosInfinitiesAndNan) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // The one before the last is the f64 that is nearest to a multiple of pi/2.
  std::vector<double> special{0.0,       -0.0,      infinity,   -infinity,
                              NAN,       0x1p-1074, -0x1p-1074, -1.0,
                              0x1p-1022, 1.7e308,   -1.7e308,   0x1.6ac5b262ca1ffp849,
                              1.0};
  std::vector<double> x(block, 1);
  std::copy(special.begin(), special.end(), x.begin());
  expect_two_ulp(x);
  auto y = results(x);
  for (std::size_t i = 0; i < special.size(); ++i) {
    long double truth = wide_reference(GetParam(), x[i]);
    if (truth == 0) {
      EXPECT_EQ(std::signbit(y[i]), std::signbit(truth)) << "at " << x[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, ExpandMathOfDouble,
                         testing::Values(Op::exp_, Op::exp2_, Op::log_, Op::log2_, Op::sin_,
                                         Op::cos_, Op::tanh_, Op::erf_, Op::sigmoid_, Op::rsqrt_),
                         [](const auto& i) { return std::string(ir::info(i.param).name); });

// In f64, a host takes sines from its C library, and without fused multiplication everything.
TEST(ExpandMathPass, LeavesSomeOfF64ToTheHostAndOtherOperationsAlone) {
  auto expands = [](Op op, DType dtype, const char* host) {
    ir::Function f = mapped(op, dtype);
    return expand_math(f, target_named(host));
  };
  for (const char* host : {"avx512", "avx2"}) {
    EXPECT_TRUE(expands(Op::exp_, DType::f64, host)) << host;
    EXPECT_FALSE(expands(Op::sin_, DType::f64, host)) << host;
    EXPECT_FALSE(expands(Op::cos_, DType::f64, host)) << host;
    EXPECT_FALSE(expands(Op::sqrt_, DType::f32, host)) << host;
  }
  EXPECT_FALSE(expands(Op::exp_, DType::f64, "sse"));
}

}  // namespace
}  // namespace tilewright::dsl::expand_math_test
