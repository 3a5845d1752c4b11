// Lesson 5, layer norm, forward and backward. You learn to hold a whole row in a tile and to go
// through it as often as needed; to keep what a backward pass will need; to add over rows in a
// variable instead of by atomics, so that the same bits come out each time; and to have accesses
// checked while a kernel is young.
//
// A `Tile` is an immutable value; a `Var` is a variable that a loop can assign. The width is a
// Constexpr, as in lesson 2.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/layer_norm
#include <tilewright/tilewright.h>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

// A program has one row. It keeps the mean and the scale for the backward pass.
void normalise(Pointer x, Pointer weight, Pointer bias, Pointer y, Pointer means, Pointer scales,
               Scalar epsilon, Constexpr width) {
  Tile row = program_id(0), column = cast(arange(0, width), tw::i64);
  Tile values = load(x + row * width + column), mean = sum(values, 0) / double(width);
  Tile centred = values - mean;
  Tile scale = rsqrt(sum(centred * centred, 0) / double(width) + epsilon);
  store(y + row * width + column, centred * scale * load(weight + column) + load(bias + column));
  store(means + row, mean);
  store(scales + row, scale);
}

// The gradient of x: what y's gradient means for the normalised row, less the parts that the mean
// and the variance take away.
void go_back(Pointer dy, Pointer x, Pointer weight, Pointer means, Pointer scales, Pointer dx,
             Constexpr width) {
  Tile row = program_id(0), column = cast(arange(0, width), tw::i64), at = row * width + column;
  Tile scale = load(scales + row), normal = (load(x + at) - load(means + row)) * scale;
  Tile gradient = load(dy + at) * load(weight + column);
  Tile mean = sum(gradient, 0) / double(width), along = sum(gradient * normal, 0) / double(width);
  store(dx + at, (gradient - mean - normal * along) * scale);
}

// The gradients of weight and bias, a program a block of columns. It goes through all rows, some at
// a time: nobody else adds to its columns, so no atomics are needed.
void add_rows(Pointer dy, Pointer x, Pointer means, Pointer scales, Pointer dweight, Pointer dbias,
              Scalar rows, Scalar width, Constexpr block, Constexpr chunk) {
  Tile column = program_id(0) * block + cast(arange(0, block), tw::i64);
  Tile row = cast(arange(0, chunk), tw::i64);
  Var weights = zeros({chunk, block}, tw::f32), biases = zeros({chunk, block}, tw::f32);
  for (Tile first : range(0, rows, chunk)) {
    Tile at = (first + row)[{whole, None}], inside = at < rows && column < width;
    Tile gradient = load(dy + at * width + column, inside);
    Tile normal = load(x + at * width + column, inside) - load(means + at, at < rows);
    weights += gradient * normal * load(scales + at, at < rows);
    biases += gradient;
  }
  store(dweight + column, sum(weights, 0), column < width);
  store(dbias + column, sum(biases, 0), column < width);
}

const Kernel forward("layer_norm", normalise);
const Kernel backward("layer_norm_backward", go_back);
const Kernel backward_of_weights("layer_norm_backward_of_weights", add_rows);

double inner(const tw::Tensor& a, const tw::Tensor& b) {
  return tw::sum(a.to(tw::f64) * b.to(tw::f64)).item<double>();
}

}  // namespace

int main() {
  const std::int64_t rows = 6, width = 200;
  tw::Generator generator(1);
  auto noise = [&](const tw::Shape& shape) { return tw::randn(shape, tw::f32, generator); };
  tw::Tensor x = noise({rows, width}), weight = noise({width}), bias = noise({width});
  tw::Tensor dy = noise({rows, width}), y = tw::zeros({rows, width}), dx = tw::zeros(x.shape());
  tw::Tensor means = tw::zeros({rows}), scales = tw::zeros({rows});
  tw::Tensor dweight = tw::zeros({width}), dbias = tw::zeros({width});
  bool fits = true;
  auto show = [&](const std::string& what, double error, double bound) {
    std::cout << what << ": " << (error < bound ? "right" : "wrong") << '\n';
    fits = fits && error < bound;
  };
  forward.launch(rows, x, weight, bias, y, means, scales, 1e-5F, width);
  show("forward", tw::amax(tw::abs(y - tw::layer_norm(x, weight, bias))).item<float>(), 1e-4);

  // Moving along a direction changes the loss <dy, y> by the gradients' component in that
  // direction.
  backward.launch(rows, dy, x, weight, means, scales, dx, width);
  backward_of_weights.launch(cdiv(width, 32), dy, x, means, scales, dweight, dbias, rows, width, 32,
                             4);
  tw::Tensor to_x = noise(x.shape()), to_weight = noise({width}), to_bias = noise({width});
  auto loss = [&](double step) {
    auto moved = [&](const tw::Tensor& from, const tw::Tensor& to) {
      return from.to(tw::f64) + to.to(tw::f64) * step;
    };
    return inner(dy,
                 tw::layer_norm(moved(x, to_x), moved(weight, to_weight), moved(bias, to_bias)));
  };
  const double gained = (loss(1e-4) - loss(-1e-4)) / 2e-4;
  const double expected = inner(dx, to_x) + inner(dweight, to_weight) + inner(dbias, to_bias);
  show("backward", std::abs(gained - expected), 1e-3 * std::abs(gained));

  // With a width that is not there, the kernel reads beyond the weights; the check says where.
  try {
    forward.with(Check::bounds)
        .on(tw::Device::cpu())
        .launch(1, x, weight, bias, y, means, scales, 1e-5F, width + 1);
  } catch (const tw::Error& error) {
    bool is_named = std::string(error.what()).find(" index 200 of ") != std::string::npos;
    std::cout << "checked: " << (is_named ? "index 200 is outside" : error.what()) << '\n';
  }

  // A figure, which differs from run to run: the speed beside that of what compile() makes.
  if (tw::default_device() == tw::Device::cpu()) {
    const tw::Tensor large = noise({1024, 1000}), out = tw::zeros(large.shape());
    const tw::Tensor w = noise({1000}), b = noise({1000}), m = tw::zeros({1024}), s = m.clone();
    auto compiled = tw::compile([&](const tw::Tensor& t) { return tw::layer_norm(t, w, b); });
    std::vector<double> seconds = tw::autotune::interleaved_medians(
        {[&] { forward.launch(1024, large, w, b, out, m, s, 1e-5F, 1000); },
         [&] { compiled(large); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return fits ? 0 : 1;
}
