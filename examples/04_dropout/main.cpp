// Lesson 4, dropout from a seed. You learn to draw random numbers in a kernel. Each is computed
// from a seed and a place (Philox), with nothing remembered between programs. So the same seed
// drops the same elements on every device, for every block size, and once more in the backward
// pass: no mask is ever stored.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/dropout
#include <tilewright/tilewright.h>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

// An element is dropped with probability p; the others are scaled to keep the mean.
const Kernel dropout("dropout",
                     [](Pointer x, Pointer y, Scalar n, Scalar seed, Scalar p, Constexpr block) {
                       Tile i = program_id(0) * block + cast(arange(0, block), tw::i64);
                       Tile is_kept = rand(seed, i) >= p;
                       store(y + i, where(is_kept, load(x + i, i < n) / (1.0 - p), 0.0), i < n);
                     },
                     {"x", "y", "n", "seed", "p", "block"});

tw::Tensor dropout_of(const tw::Tensor& x, std::int64_t seed, float p, std::int64_t block = 1024) {
  tw::Tensor y = tw::Tensor::empty(x.shape());
  auto grid = [](const Config& c) { return tw::Grid(cdiv(c["n"], c["block"])); };
  dropout.launch(grid, x, y, x.count(), seed, p, block);
  return y;
}

// The tensors' own generator draws the same numbers: of its seed and the place of the element.
tw::Tensor expected_of(const tw::Tensor& x, std::uint64_t seed, double p) {
  tw::Tensor is_kept = tw::rand(x.shape(), tw::f32, tw::Generator(seed)) >= p;
  return tw::where(is_kept, x / (1.0 - p), 0.0);
}

bool are_equal(const tw::Tensor& a, const tw::Tensor& b) {
  return a.to_vector<float>() == b.to_vector<float>();
}

}  // namespace

int main() {
  bool fits = true;
  auto show = [&](const std::string& what, bool is_right) {
    std::cout << what << ": " << (is_right ? "right" : "wrong") << '\n';
    fits = fits && is_right;
  };
  const tw::Tensor x = tw::arange(1, 1001).to(tw::f32);
  const tw::Tensor y = dropout_of(x, 42, 0.5F);
  show("dropped", are_equal(y, expected_of(x, 42, 0.5)));
  show("in other blocks", are_equal(y, dropout_of(x, 42, 0.5F, 64)));
  show("another seed", !are_equal(y, dropout_of(x, 43, 0.5F)));
  // y = x * mask, so the gradient of x is that of y * mask: the same kernel with the same seed.
  const tw::Tensor ones = tw::ones({1000}), gradient = dropout_of(ones, 42, 0.5F);
  show("backward", are_equal(y, x * gradient));

  // The elements kept with p of 0.25, 0.5 and 0.75: the same random numbers, compared with a higher
  // threshold.
  for (float p : {0.25F, 0.5F, 0.75F}) {
    for (float element : dropout_of(tw::ones({64}), 42, p).to_vector<float>())
      std::cout << (element == 0 ? '.' : '#');
    std::cout << '\n';
  }

  // A figure, which differs from run to run: the speed beside that of what compile() makes.
  if (tw::default_device() == tw::Device::cpu()) {
    tw::Generator generator(42);
    auto compiled = tw::compile(
        [&](const tw::Tensor& t) { return tw::dropout(t, 0.5, /*train=*/true, generator); });
    const tw::Tensor large = tw::ones({1 << 20});
    std::vector<double> seconds = tw::autotune::interleaved_medians(
        {[&] { dropout_of(large, 42, 0.5F); }, [&] { compiled(large); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return fits ? 0 : 1;
}
