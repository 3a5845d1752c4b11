// Lesson 16, a matrix product of four and eight bits. You learn what a block-scaled format is: 32
// neighbours share a power of two, a byte (e8m0), so that each needs few bits of its own; to write
// such numbers in a kernel, by words on exponents; and to multiply them with dot_scaled, which
// brings them to floats that hold them exactly. Weights are read from memory at an eighth or a
// quarter of their size, and that is what such products wait for.
//
// e2m1 has the numbers 0, 0.5, 1, 1.5, 2, 3, 4 and 6, and a sign, two in a byte; e4m3 those of a
// float of 8 bits up to 448. A scale is chosen so that the greatest of its 32 falls into their last
// power of two; values beyond the last number are clamped to it.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build
//   build/block_scaled_matmul
#include <tilewright/tilewright.h>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

// Each program writes one row. The product multiplies rows of a by rows of b, both packed so.
void pack(Pointer x, Pointer elements, Pointer scales, Constexpr k, Constexpr is_e2m1) {
  Tile row = program_id(0), at = cast(arange(0, k), tw::i64);
  Tile values = reshape(load(x + row * k + at), {k / 32, 32});
  // The exponent of the last power of two is 2 in e2m1 and 8 in e4m3.
  Tile exponent = maximum(ilogb(max(abs(values), 1, true)), -100) - (is_e2m1 ? 2 : 8);
  Tile scaled = reshape(scalbn(values, -exponent), {k});
  store(scales + row * (k / 32) + cast(arange(0, k / 32), tw::i64),
        reshape(cast(exponent + 127, tw::u8), {k / 32}));
  if (!is_e2m1) {
    Tile bounded = clamp(scaled, -448.0, 448.0);
    return store(elements + row * k + at, bitcast(cast(bounded, tw::f8e4m3), tw::u8));
  }
  // The code of a magnitude is how many of the middles between neighbours lie below it. Those of
  // ties go to the even code.
  Tile a = abs(scaled), code = zeros({k}, tw::i32);
  for (double middle : {0.25, 1.25, 2.5, 5.0}) code = code + cast(a > middle, tw::i32);
  for (double middle : {0.75, 1.75, 3.5}) code = code + cast(a >= middle, tw::i32);
  code = code | (cast(signbit(scaled), tw::i32) << 3);
  auto [low, high] = split(reshape(code, {k / 2, 2}));
  store(elements + row * (k / 2) + cast(arange(0, k / 2), tw::i64),
        cast(low | (high << 4), tw::u8));
}

void multiply(Pointer a, Pointer a_scales, Pointer b, Pointer b_scales, Pointer c, Constexpr m,
              Constexpr n, Constexpr k, Constexpr block, Constexpr is_e2m1) {
  const ScaledFormat format = is_e2m1 ? ScaledFormat::e2m1 : ScaledFormat::e4m3;
  const std::int64_t bytes = is_e2m1 ? 2 : 1;  // so many elements in one
  Tile row = program_id(0) * block, column = program_id(1) * block;
  auto rows_of = [](Pointer p, std::int64_t rows, std::int64_t size) {
    return make_desc(p, {rows, size}, {size, 1});
  };
  Desc left = rows_of(a, m, k / bytes), left_scales = rows_of(a_scales, m, k / 32);
  Desc right = rows_of(b, n, k / bytes), right_scales = rows_of(b_scales, n, k / 32);
  Var sum = zeros({block, block}, tw::f32);
  constexpr std::int64_t step = 64;
  for (Tile i : range(0, k / step)) {
    Tile at = i * (step / bytes), scale = i * (step / 32);
    sum = dot_scaled({load(left, {row, at}, {block, step / bytes}), format,
                      load(left_scales, {row, scale}, {block, step / 32})},
                     {trans(load(right, {column, at}, {block, step / bytes})), format,
                      load(right_scales, {column, scale}, {block, step / 32})},
                     sum.get());
  }
  store(make_desc(c, {m, n}, {n, 1}), {row, column}, sum.get());
}

const Kernel pack_rows("pack_rows", pack, {"x", "elements", "scales", "k", "is_e2m1"});
const Kernel matmul("block_scaled_matmul", multiply,
                    {"a", "a_scales", "b", "b_scales", "c", "m", "n", "k", "block", "is_e2m1"});

struct Packed {
  std::vector<std::uint8_t> elements, scales;
  // The value that element `at` represents.
  double value(std::size_t at, bool is_e2m1) const {
    constexpr double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    std::uint8_t bits = is_e2m1 ? elements[at / 2] >> (at % 2 * 4) & 15 : elements[at];
    double number = is_e2m1 ? (bits & 8 ? -1 : 1) * numbers[bits & 7]
                            : double(float(std::bit_cast<tw::Float8E4M3>(bits)));
    return std::ldexp(number, scales[at / 32] - 127);
  }
};

Packed packed(const std::vector<float>& x, std::int64_t rows, std::int64_t k, bool is_e2m1) {
  const std::size_t count = x.size();
  Packed result{std::vector<std::uint8_t>(is_e2m1 ? count / 2 : count),
                std::vector<std::uint8_t>(count / 32)};
  pack_rows.launch(rows, x, result.elements, result.scales, k, std::int64_t{is_e2m1});
  return result;
}

}  // namespace

int main() {
  const std::int64_t m = 64, n = 96, k = 256, block = 32;
  tw::Generator generator(3);
  auto a = tw::randn({m, k}, tw::f32, generator).to_vector<float>();
  auto b = tw::randn({n, k}, tw::f32, generator).to_vector<float>();
  bool fits = true;
  for (bool is_e2m1 : {false, true}) {
    const Packed left = packed(a, m, k, is_e2m1), right = packed(b, n, k, is_e2m1);
    std::vector<float> c(static_cast<std::size_t>(m * n));
    matmul.launch({m / block, n / block}, left.elements, left.scales, right.elements, right.scales,
                  c, m, n, k, block, std::int64_t{is_e2m1});
    // The plain sums, of what the bytes stand for and of the numbers before.
    double error = 0, size = 0;
    bool right_sums = true;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const std::size_t row = i / n * k, column = i % n * k;
      double sum = 0, exact = 0;
      for (std::size_t j = 0; j < std::size_t(k); ++j) {
        sum += left.value(row + j, is_e2m1) * right.value(column + j, is_e2m1);
        exact += double(a[row + j]) * b[column + j];
      }
      right_sums = right_sums && std::abs(c[i] - sum) < 1e-4;
      error += (c[i] - exact) * (c[i] - exact);
      size += exact * exact;
    }
    fits = fits && right_sums;
    const double bytes = double(right.elements.size() + right.scales.size());
    std::cout << (is_e2m1 ? "e2m1: " : "e4m3: ") << (right_sums ? "right" : "wrong") << std::fixed
              << std::setprecision(2) << ", a weight of f32 takes " << bytes / double(n * k)
              << " bytes of 4, and products are off by " << 100 * std::sqrt(error / size) << "%\n";
  }
  return fits ? 0 : 1;
}
