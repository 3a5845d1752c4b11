// Lesson 2, a fused softmax. You learn what fusion is worth: a row is read once and written once,
// however many operations there are in between; and what reductions of a tile look like.
//
// One program has one row, which fits a tile: the width rounded up to a power of two. Elements
// beyond the row are loaded as minus infinity, which changes neither the maximum nor the sum.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/softmax
#include <tilewright/tilewright.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

const Kernel softmax_rows("softmax_rows",
                          [](Pointer x, Pointer y, Scalar width, Constexpr block) {
                            Tile column = cast(arange(0, block), tw::i64);
                            Tile inside = column < width;
                            Tile at = program_id(0) * width + column;
                            Tile row = load(x + at, inside, -infinity);
                            Tile weights = exp(row - max(row, 0));
                            store(y + at, weights / sum(weights, 0), inside);
                          },
                          {"x", "y", "width", "block"});

tw::Tensor softmax_of(const Kernel& kernel, const tw::Tensor& x) {
  tw::Tensor y = tw::Tensor::empty(x.shape());
  const auto width = static_cast<std::uint64_t>(x.size(-1));
  kernel.launch(x.size(0), x, y, x.size(-1), static_cast<std::int64_t>(std::bit_ceil(width)));
  return y;
}

double largest_difference(const tw::Tensor& a, const tw::Tensor& b) {
  std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, std::abs(double{x[i]} - y[i]));
  return largest;
}

}  // namespace

int main() {
  tw::Tensor x = tw::sin(tw::arange(0, 6 * 300).to(tw::f32)).reshape({6, 300}) * 3.0;
  bool fits = true;
  auto show = [&](const std::string& what, const tw::Tensor& y) {
    bool right = largest_difference(y, tw::softmax(x, -1)) < 1e-6;
    std::cout << what << ": " << (right ? "right" : "wrong") << '\n';
    fits = fits && right;
  };
  show("host", softmax_of(softmax_rows, x));
  show("sm_80", softmax_of(softmax_rows.on(tw::Device::emulated("sm_80")), x));
  // How a GPU runs it may be said: here by eight warps a program.
  Kernel wide = softmax_rows.with(Knobs{.num_warps = 8});
  show("sm_90a, 8 warps", softmax_of(wide.on(tw::Device::emulated("sm_90a")), x));

  // The compiler does the same to operations on tensors: this is one launch too.
  auto fast = tw::compile([](const tw::Tensor& t) { return tw::softmax(t, -1); });
  show("compiled", fast(x));
  std::cout << "launches: " << fast.report().at(0).launches << '\n';
  return fits ? 0 : 1;
}
