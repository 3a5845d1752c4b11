// Lesson 7, attention. You learn to keep what would not fit memory from ever being there: the keys
// are gone through block by block, and whenever a higher score is found, what was summed so far is
// scaled down. (This is FlashAttention's online softmax.)
//
// It runs on the host and, as code for two GPUs, in the emulator, and is compared with loops.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/attention
#include <tilewright/tilewright.h>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace tilewright;
using dsl::Constexpr;
using dsl::Desc;
using dsl::Pointer;
using dsl::Scalar;
using dsl::Tile;
using dsl::Var;
using Floats = std::vector<float>;

constexpr double infinity = std::numeric_limits<double>::infinity();

// softmax(q k^T / sqrt(size)) v. Queries and keys are whole blocks.
void attention(Pointer q, Pointer k, Pointer v, Pointer out, Scalar queries, Scalar keys,
               Constexpr rows, Constexpr columns, Constexpr size) {
  Desc key = dsl::make_desc(k, {keys, size}, {size, 1}),
       value = dsl::make_desc(v, {keys, size}, {size, 1});
  Tile row = dsl::program_id(0) * rows;
  Tile query = dsl::load(dsl::make_desc(q, {queries, size}, {size, 1}), {row, 0}, {rows, size});
  Var highest = dsl::full({rows, 1}, -infinity, DType::f32);
  Var total = dsl::zeros({rows, 1}, DType::f32), mixed = dsl::zeros({rows, size}, DType::f32);
  for (Tile i : dsl::range(0, keys, columns)) {
    Tile scores = dsl::dot(query, dsl::trans(dsl::load(key, {i, 0}, {columns, size}))) *
                  (1 / std::sqrt(static_cast<double>(size)));
    Tile top = dsl::maximum(highest, dsl::max(scores, 1, true));
    Tile weights = dsl::exp(scores - top), decay = dsl::exp(highest - top);
    total = total * decay + dsl::sum(weights, 1, true);
    mixed = dsl::dot(weights, dsl::load(value, {i, 0}, {columns, size}), mixed * decay);
    highest = top;
  }
  dsl::store(dsl::make_desc(out, {queries, size}, {size, 1}), {row, 0}, mixed / total);
}

Floats noise(std::int64_t count, std::uint32_t seed) {
  Floats x(static_cast<std::size_t>(count));
  for (float& element : x) {
    seed = seed * 1664525 + 1013904223;
    element = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return x;
}

Floats product(const Floats& a, const Floats& b, std::size_t m, std::size_t n, std::size_t k) {
  Floats c(m * n);
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t column = 0; column < n; ++column)
        c[row * n + column] += a[row * k + i] * b[i * n + column];
  return c;
}
Floats transposed(const Floats& x, std::size_t rows, std::size_t columns) {
  Floats y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i % columns * rows + i / columns] = x[i];
  return y;
}
void softmax_rows(Floats& x, std::size_t width) {
  for (std::size_t row = 0; row < x.size(); row += width) {
    float total = 0;
    for (std::size_t i = row; i < row + width; ++i) total += x[i] = std::exp(x[i]);
    for (std::size_t i = row; i < row + width; ++i) x[i] /= total;
  }
}

}  // namespace

int main() {
  const std::int64_t queries = 64, keys = 96, size = 16;
  Floats q = noise(64 * 16, 4), k = noise(96 * 16, 5), v = noise(96 * 16, 6);
  Floats scores = product(q, transposed(k, 96, 16), 64, 96, 16);
  for (float& score : scores) score /= 4;
  softmax_rows(scores, 96);
  Floats expected = product(scores, v, 64, 16, 96);

  const dsl::Kernel kernel("attention", attention);
  bool fits = true;
  for (std::string device : {"cpu", "emulated:sm_80", "emulated:sm_90a"}) {
    Floats out(64 * 16);
    kernel.on(Device::parse(device))
        .launch(dsl::cdiv(queries, 32), q, k, v, out, queries, keys, 32, 32, size);
    double largest = 0;
    for (std::size_t i = 0; i < out.size(); ++i)
      largest = std::max(largest, std::abs(double{out[i]} - expected[i]));
    std::cout << device << ": " << (largest < 1e-4 ? "right" : "wrong") << '\n';
    fits = fits && largest < 1e-4;
  }
  return fits ? 0 : 1;
}
