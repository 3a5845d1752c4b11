// Rounding to bf16, and scaling by powers of two: where the host's instructions differ from what
// the operations mean, over all kinds of numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "tests/dsl/expect_same.h"

namespace tilewright::dsl::host_rounding_test {
namespace {

// Zeros, subnormal numbers, the smallest and the largest normal ones, infinities, NaN, and numbers
// halfway between neighbours in bf16 with those beside them; then any bits at all.
std::vector<float> numbers_of_all_kinds(std::size_t count) {
  std::vector<float> numbers;
  for (std::uint32_t high :
       {0x0000U, 0x0001U, 0x0002U, 0x007eU, 0x007fU, 0x0080U, 0x0081U, 0x3f7fU, 0x3f80U, 0x4001U,
        0x7f7eU, 0x7f7fU, 0x7f80U, 0x7f81U, 0x7fc0U, 0x7fffU})
    for (std::uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      for (std::uint32_t sign : {0U, 0x8000U})
        numbers.push_back(std::bit_cast<float>((high | sign) << 16 | low));
  std::mt19937 random(3);
  while (numbers.size() < count) {
    std::uint32_t bits = random();
    if (numbers.size() % 4 == 0) bits &= 0x807fffffU;  // subnormal
    numbers.push_back(std::bit_cast<float>(bits));
  }
  return numbers;
}

// Runs the program on `columns` by every target and by the interpreter, and expects the same bits;
// of NaN no more than that it is one, in bf16 or f32.
template <typename T>
void expect_same_bits(const ir::Function& function, std::vector<std::vector<float>> columns,
                      bool (*is_nan)(T bits)) {
  auto results = [&](auto&& run) {
    std::vector<std::vector<float>> memory = columns;
    std::vector<Argument> arguments(memory.size());
    for (std::size_t i = 0; i < memory.size(); ++i) arguments[i].pointer = memory[i].data();
    run(arguments);
    std::vector<T> bits(memory.back().size() * sizeof(float) / sizeof(T));
    std::memcpy(bits.data(), memory.back().data(), bits.size() * sizeof(T));
    return bits;
  };
  auto expected = results([&](auto& arguments) { ir::interpret(function, {}, arguments); });
  for (const Target& target : tested_targets()) {
    auto artifact = compiled(function, target);
    auto actual = results([&](auto& arguments) { run_all(*artifact, {}, arguments); });
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (is_nan(expected[i]) && is_nan(actual[i])) continue;
      ASSERT_EQ(actual[i], expected[i]) << "element " << i << ", " << target.features;
    }
  }
}

bool is_bf16_nan(std::uint16_t bits) { return (bits & 0x7fff) > 0x7f80; }
bool is_f32_nan(std::uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

class HostRounding : public testing::TestWithParam<std::int64_t> {};

// A single number, part of a vector, vectors and a tail.
INSTANTIATE_TEST_SUITE_P(Widths, HostRounding, testing::Values(1, 5, 8, 16, 8192 + 11));

// Results that a program computes in f32 and rounds to bf16.
void expect_rounded(std::int64_t width, Tile (*make)(const Tile& x)) {
  std::int64_t rows = 200 / width + 1;
  Tracer t("narrow");
  Tile x = t.pointer_param("x", f32), y = t.pointer_param("y", bf16);
  Tile values = load(make_desc(x, {rows, width}, {width, 1}), {0, 0}, {rows, width});
  store(make_desc(y, {rows, width}, {width, 1}), {0, 0}, make(values));
  auto count = static_cast<std::size_t>(rows * width);
  expect_same_bits<std::uint16_t>(
      t.finish(), {numbers_of_all_kinds(count), std::vector<float>(count, 7)}, is_bf16_nan);
}

TEST_P(HostRounding, ToBf16IsToNearestEvenAlsoOfSubnormalNumbers) {
  expect_rounded(GetParam(), [](const Tile& x) { return cast(x, bf16); });
}

// Numbers about the ends of all integers of 8 and 16 bits among those of all kinds.
TEST_P(HostRounding, ToNarrowIntegersIsTowardsZeroAndSaturates) {
  const std::int64_t width = GetParam(), rows = 200 / width + 1;
  std::vector<float> numbers = numbers_of_all_kinds(static_cast<std::size_t>(rows * width));
  constexpr float ends[] = {127, 128, 255, 256, 32767, 32768, 65535, 65536, 0.5F, 2.5F};
  for (std::size_t i = 0; i < numbers.size() / 2; ++i) {
    float end = ends[i / 6 % std::size(ends)];
    float near = std::array{end, end + 0.75F, std::nextafter(end, 0.0F)}[i / 2 % 3];
    numbers[i] = i % 2 == 0 ? near : -near;
  }
  for (DType from : {f32, f64, f16})
    for (DType to : {DType::i8, DType::u8, DType::i16, DType::u16}) {
      Tracer t("narrow");
      Tile x = t.pointer_param("x", f32), y = t.pointer_param("y", to);
      Tile values = load(make_desc(x, {rows, width}, {width, 1}), {0, 0}, {rows, width});
      store(make_desc(y, {rows, width}, {width, 1}), {0, 0}, cast(cast(values, from), to));
      SCOPED_TRACE(testing::Message() << from << " to " << to);
      expect_same_bits<std::uint8_t>(t.finish(), {numbers, std::vector<float>(numbers.size(), 7)},
                                     [](std::uint8_t) { return false; });
    }
}

TEST_P(HostRounding, OfAProductInBf16IsToNearestEvenAlsoOfSubnormalNumbers) {
  expect_rounded(GetParam(),
                 [](const Tile& x) { return cast(x, bf16) * full({1}, 0x1.8p-7, bf16); });
}

// Between operations in bf16 numbers stay as wide as f32: of any bf16, whose NaN are short, and of
// f32, whose NaN may have digits beyond those of bf16.
TEST_P(HostRounding, BetweenOperationsInBf16IsThatOfEach) {
  std::int64_t width = GetParam(), rows = 400 / width + 1;
  for (DType from : {bf16, f32}) {
    Tracer t("between");
    Tile x = t.pointer_param("x", from), y = t.pointer_param("y", bf16);
    Tile a = cast(load(make_desc(x, {rows, width}, {width, 1}), {0, 0}, {rows, width}), bf16);
    Tile sum = a + full({1}, 0x1.02p-126, bf16);
    Tile product = -sum * full({1}, 0x1.8p1, bf16);
    Tile wide = maximum(fma(cast(product, f32), 0x1.8p-1, cast(a, f32)), -0x1p127);
    Tile result = cast(where(cast(a, f32) > 2.0, wide, cast(sum, f32)), bf16) - product;
    store(make_desc(y, {rows, width}, {width, 1}), {0, 0}, result);
    auto count = static_cast<std::size_t>(rows * width);
    expect_same_bits<std::uint16_t>(
        t.finish(), {numbers_of_all_kinds(count), std::vector<float>(count, 7)}, is_bf16_nan);
  }
}

TEST_P(HostRounding, ScalesByPowersOfTwoWithOneRounding) {
  std::int64_t width = GetParam(), rows = 2000 / width + 1;
  Tracer t("scale");
  Tile x = t.pointer_param("x", f32), n = t.pointer_param("n", f32);
  Tile y = t.pointer_param("y", f32);
  auto block = [&](const Tile& memory) {
    return load(make_desc(memory, {rows, width}, {width, 1}), {0, 0}, {rows, width});
  };
  store(make_desc(y, {rows, width}, {width, 1}), {0, 0}, ldexp(block(x), block(n)));
  auto count = static_cast<std::size_t>(rows * width);
  std::vector<float> exponents(count);
  std::mt19937 random(4);
  constexpr float special[] = {0, -0.0F, NAN, 1e30F, -1e30F, 0.5F, -0.5F};
  for (std::size_t i = 0; i < count; ++i)
    exponents[i] = i % 16 == 0 ? special[i / 16 % std::size(special)]
                               : static_cast<float>(static_cast<int>(random() % 561) - 280) +
                                     (i % 3 == 0 ? 0.25F : 0);
  expect_same_bits<std::uint32_t>(
      t.finish(), {numbers_of_all_kinds(count), exponents, std::vector<float>(count, 7)},
      is_f32_nan);
}

// Holds for zeros too: the first one is the result.
TEST_P(HostRounding, MaximaAndMinimaAreThoseOfTheDefinition) {
  std::int64_t width = GetParam(), rows = 2000 / width + 1;
  auto count = static_cast<std::size_t>(rows * width);
  const std::vector<float> a = numbers_of_all_kinds(count);
  std::vector<float> b = a;
  std::mt19937 random(5);
  for (std::size_t i = 0; i < count; ++i) b[i] = i % 4 == 0 ? -a[i] : a[random() % count];
  for (std::size_t i = 0; i < count; i += 7) b[i] = i % 2 == 0 ? -0.0F : 0.0F;
  std::vector<float> zeros(count);
  for (std::size_t i = 0; i < count; i += 2) zeros[i] = -0.0F;
  using Extremum = Tile (*)(const Tile& x, const Tile& y);
  for (Extremum make : {Extremum([](const Tile&x, const Tile&y) { return maximum(x, y); }),
                        Extremum([](const Tile&x, const Tile&y) { return minimum(x, y); }),
                        Extremum([](const Tile&x, const Tile&) { return maximum(x, 0.0); }),
                        Extremum([](const Tile&x, const Tile&) { return minimum(0.0, x); }),
                        Extremum([](const Tile&x, const Tile&) { return maximum(x, -0.25); }),
                        Extremum([](const Tile&x, const Tile&) { return minimum(0.25, x); })}) {
    Tracer t("extrema");
    Tile x = t.pointer_param("x", f32), y = t.pointer_param("y", f32);
    Tile to = t.pointer_param("to", f32);
    auto block = [&](const Tile& memory) {
      return load(make_desc(memory, {rows, width}, {width, 1}), {0, 0}, {rows, width});
    };
    store(make_desc(to, {rows, width}, {width, 1}), {0, 0}, make(block(x), block(y)));
    const ir::Function function = t.finish();
    for (const std::vector<float>& first : {b, zeros})
      expect_same_bits<std::uint32_t>(function, {first, a, std::vector<float>(count, 7)},
                                      is_f32_nan);
  }
}

TEST(HostScaling, OfDoublesRoundsOnce) {
  const std::vector<double> x{1.25,
                              -0x1.fffffp1023,
                              0x1p-1074,
                              0x1.8000000000001p-1000,
                              -3.0,
                              0x1.ffffffffffffp-1022,
                              INFINITY,
                              NAN,
                              0x1.0000000000001p900,
                              -0.0};
  const std::vector<double> n{-1074.0, -2098, 2097, -70.5, 1e9, -1e300, -1e4, 3, -1950, NAN};
  auto count = static_cast<std::int64_t>(x.size());
  Tracer t("scale");
  Tile a = t.pointer_param("x", f64), b = t.pointer_param("n", f64), y = t.pointer_param("y", f64);
  Tile at = arange(0, 16), inside = at < count;
  store(y + at, ldexp(load(a + at, inside), load(b + at, inside)), inside);
  ir::Function function = t.finish();
  for (const Target& target : tested_targets()) {
    std::vector<double> result(x.size(), 7);
    std::vector<Argument> arguments(3);
    arguments[0].pointer = x.data();
    arguments[1].pointer = n.data();
    arguments[2].pointer = result.data();
    run_all(*compiled(function, target), {}, arguments);
    for (std::size_t i = 0; i < x.size(); ++i) {
      double limited = std::clamp(std::floor(n[i]), -5000.0, 5000.0);
      double truth = std::isnan(n[i]) ? NAN : std::ldexp(x[i], static_cast<int>(limited));
      if (std::isnan(truth))
        EXPECT_TRUE(std::isnan(result[i])) << i;
      else
        EXPECT_EQ(result[i], truth) << "element " << i << ", " << target.features;
    }
  }
}

}  // namespace
}  // namespace tilewright::dsl::host_rounding_test
