// Lesson 2, a fused softmax. You learn what fusion is worth: a row is read once and written once,
// however many operations there are in between; and what reductions of a tile look like.
//
// One program has one row, which is one tile. Tiles may have any size: the width is a Constexpr, a
// number that the kernel is compiled for, and no mask is needed. (A width that changes often would
// be a Scalar, beside a block that is rounded up and a mask, as in lesson 1; that is slower.)
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/softmax
#include <tilewright/tilewright.h>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

// Dividing once and multiplying a thousand times is cheaper than a thousand divisions.
const Kernel softmax_rows("softmax_rows",
                          [](Pointer x, Pointer y, Constexpr width) {
                            Tile at = program_id(0) * width + cast(arange(0, width), tw::i64);
                            Tile row = load(x + at);
                            Tile weights = exp(row - max(row, 0));
                            store(y + at, weights * (1.0 / sum(weights, 0)));
                          },
                          {"x", "y", "width"});

tw::Tensor softmax_of(const Kernel& kernel, const tw::Tensor& x) {
  tw::Tensor y = tw::Tensor::empty(x.shape());
  kernel.launch(x.size(0), x, y, x.size(1));
  return y;
}

}  // namespace

int main() {
  tw::Tensor x = tw::sin(tw::arange(0, 6 * 300).to(tw::f32)).reshape({6, 300}) * 3.0;
  bool fits = true;
  auto show = [&](const std::string& what, const tw::Tensor& y) {
    bool right = tw::all(tw::abs(y - tw::softmax(x, -1)) < 1e-6).item<bool>();
    std::cout << what << ": " << (right ? "right" : "wrong") << '\n';
    fits = fits && right;
  };
  show("host", softmax_of(softmax_rows, x));
  show("sm_80", softmax_of(softmax_rows.on(tw::Device::emulated("sm_80")), x));
  // Launch knobs for GPUs can be set, here eight warps per program.
  Kernel wide = softmax_rows.with(Knobs{.num_warps = 8});
  show("sm_90a, 8 warps", softmax_of(wide.on(tw::Device::emulated("sm_90a")), x));

  // The compiler does the same to operations on tensors: this is one launch too.
  auto fast = tw::compile([](const tw::Tensor& t) { return tw::softmax(t, -1); });
  show("compiled", fast(x));
  std::cout << "launches: " << fast.report().at(0).launches << '\n';

  // A figure, which differs from run to run: the speed beside that of what compile() makes.
  if (tw::default_device() == tw::Device::cpu()) {
    const tw::Tensor large = tw::randn({1024, 1000});
    std::vector<double> seconds = tw::autotune::interleaved_medians(
        {[&] { softmax_of(softmax_rows, large); }, [&] { fast(large); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return fits ? 0 : 1;
}
