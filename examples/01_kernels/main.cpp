// Three kernels written by hand in the kernel language: a matrix product, softmax, and attention.
// Each runs on the host and, as code for two GPUs, in the emulator, and is compared with loops.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/kernels
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

// c[m, n] = a[m, k] b[k, n]: a program has one block of c and goes along k. Blocks may reach beyond
// the matrices: what is loaded there is zero, and what is stored there goes nowhere.
void matmul(Pointer a, Pointer b, Pointer c, Scalar m, Scalar n, Scalar k, Constexpr rows,
            Constexpr columns, Constexpr depth) {
  Desc left = dsl::make_desc(a, {m, k}, {k, 1}), right = dsl::make_desc(b, {k, n}, {n, 1});
  Tile row = dsl::program_id(1) * rows, column = dsl::program_id(0) * columns;
  Var sum = dsl::zeros({rows, columns}, DType::f32);
  for (Tile i : dsl::range(0, k, depth))
    sum = dsl::dot(dsl::load(left, {row, i}, {rows, depth}),
                   dsl::load(right, {i, column}, {depth, columns}), sum);
  dsl::store(dsl::make_desc(c, {m, n}, {n, 1}), {row, column}, sum);
}

// A program has one row, which fits a tile.
void softmax(Pointer x, Pointer y, Scalar width, Constexpr block) {
  Tile column = dsl::cast(dsl::arange(0, block), DType::i64), inside = column < width;
  Tile at = dsl::program_id(0) * width + column;
  Tile row = dsl::load(x + at, inside, -infinity);
  Tile weights = dsl::exp(row - dsl::max(row, 0));
  dsl::store(y + at, weights / dsl::sum(weights, 0), inside);
}

// softmax(q k^T / sqrt(size)) v with the keys gone through block by block: whenever a higher score
// is found, what was summed so far is scaled down. Queries and keys are whole blocks.
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

// One kernel, what it is launched with, and what it should give in the last of its pointers.
struct Case {
  dsl::Kernel kernel;
  Grid grid;
  std::vector<Floats> memory;
  std::vector<std::int64_t> scalars, numbers;
  Floats expected;

  double largest_error(const dsl::Target& target) {
    dsl::Signature signature(memory.size(), DType::f32);
    signature.insert(signature.end(), scalars.size(), DType::i64);
    for (std::int64_t number : numbers) signature.emplace_back(number);
    std::vector<Argument> arguments;
    for (Floats& x : memory) {
      buffers.push_back(Buffer::allocate(static_cast<std::int64_t>(x.size() * sizeof(float))));
      std::copy(x.begin(), x.end(), static_cast<float*>(buffers.back()->data()));
      arguments.emplace_back().pointer = buffers.back()->data();
    }
    for (std::int64_t scalar : scalars) arguments.emplace_back().integer = scalar;
    launch(*dsl::compile(kernel.trace(signature), target), grid, arguments.data());
    auto* actual = static_cast<const float*>(buffers.back()->data());
    double largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
      largest = std::max(largest, std::abs(double{actual[i]} - expected[i]));
    return largest;
  }

  std::vector<std::shared_ptr<Buffer>> buffers = {};
};

Case matmul_case() {
  Floats a = noise(100 * 70, 1), b = noise(70 * 90, 2);
  return {{"matmul", matmul}, Grid(3, 4),   {a, b, Floats(100 * 90)},
          {100, 90, 70},      {32, 32, 16}, product(a, b, 100, 90, 70)};
}
Case softmax_case() {
  Floats x = noise(5 * 300, 3), y = x;
  softmax_rows(y, 300);
  return {{"softmax", softmax}, Grid(5), {x, Floats(5 * 300)}, {300}, {512}, y};
}
Case attention_case() {
  Floats q = noise(64 * 16, 4), k = noise(96 * 16, 5), v = noise(96 * 16, 6);
  Floats scores = product(q, transposed(k, 96, 16), 64, 96, 16);
  for (float& score : scores) score /= 4;
  softmax_rows(scores, 96);
  return {
      {"attention", attention},      Grid(2), {q, k, v, Floats(64 * 16)}, {64, 96}, {32, 32, 16},
      product(scores, v, 64, 16, 96)};
}

}  // namespace

int main() {
  bool fits = true;
  for (auto make : {matmul_case, softmax_case, attention_case})
    for (std::string target : {"host", "sm_80", "sm_90a"}) {
      Case c = make();
      double error =
          c.largest_error(target == "host" ? dsl::host_target() : dsl::target_named(target));
      std::cout << c.kernel.name() << ", " << target << ": largest error " << error << '\n';
      fits = fits && error < 1e-4;
    }
  return fits ? 0 : 1;
}
