// Lesson 4, layer norm. You learn to go through a row that fits no tile: in chunks, with variables
// that a loop carries; and to have accesses checked while a kernel is young.
//
// A program has one row. It goes through it twice, once for the mean and the variance, and once for
// the results. A `Var` is a name that the loop assigns anew; a Tile is a value, which stays.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/layer_norm
#include <tilewright/tilewright.h>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

void normalise(Pointer x, Pointer weight, Pointer bias, Pointer y, Scalar width, Scalar epsilon,
               Constexpr chunk) {
  Tile row = program_id(0) * width, lane = cast(arange(0, chunk), tw::i64);
  Var total = zeros({chunk}, tw::f32), squares = zeros({chunk}, tw::f32);
  for (Tile first : range(0, width, chunk)) {
    Tile column = first + lane;
    Tile part = load(x + row + column, column < width);
    total = total + part;
    squares = squares + part * part;
  }
  Tile count = cast(width, tw::f32);
  Tile mean = sum(total, 0) / count, variance = sum(squares, 0) / count - mean * mean;
  Tile scale = rsqrt(variance + epsilon);
  for (Tile first : range(0, width, chunk)) {
    Tile column = first + lane, inside = column < width;
    Tile part = (load(x + row + column, inside) - mean) * scale;
    store(y + row + column, part * load(weight + column, inside) + load(bias + column, inside),
          inside);
  }
}

const Kernel layer_norm("layer_norm", normalise,
                        {"x", "weight", "bias", "y", "width", "epsilon", "chunk"});

double largest_difference(const tw::Tensor& a, const tw::Tensor& b) {
  std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, std::abs(double{x[i]} - y[i]));
  return largest;
}

}  // namespace

int main() {
  const std::int64_t rows = 5, width = 200;
  tw::Tensor x = tw::sin(tw::arange(0, rows * width).to(tw::f32)).reshape({rows, width});
  tw::Tensor weight = tw::arange(0, width).to(tw::f32) * 0.01, bias = tw::ones({width});
  tw::Tensor expected = tw::layer_norm(x, weight, bias, 1e-5);
  bool fits = true;
  for (std::string device : {"cpu", "emulated:sm_80", "emulated:sm_90a"}) {
    tw::Tensor y = tw::zeros({rows, width});
    layer_norm.on(tw::Device::parse(device)).launch(rows, x, weight, bias, y, width, 1e-5F, 64);
    bool right = largest_difference(y, expected) < 1e-4;
    std::cout << device << ": " << (right ? "right" : "wrong") << '\n';
    fits = fits && right;
  }
  // With a width that is not there, the kernel reads beyond the weights; the check says where.
  tw::Tensor y = tw::zeros({rows, width});
  try {
    layer_norm.with(Check::bounds)
        .on(tw::Device::cpu())
        .launch(1, x, weight, bias, y, width + 1, 1e-5F, 64);
  } catch (const tw::Error& error) {
    std::string text = error.what();
    bool is_named = text.find("] index 200 of ") != text.npos;
    std::cout << "checked: " << (is_named ? "index 200 is outside" : text) << '\n';
  }
  return fits ? 0 : 1;
}
