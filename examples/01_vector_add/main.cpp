// Lesson 1, vector add. You learn what a kernel is: a C++ function over tiles, which a launch runs
// as many programs; how programs find their part of the data; and what masks are for.
//
// A kernel's function says what one program does. `program_id` tells programs apart, and each adds
// `block` neighbouring elements. The last program would go beyond the end, so a mask excludes those
// elements: they are neither read nor written.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/vector_add
#include <tilewright/tilewright.h>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

// The names are for messages, and for the function that computes the grid.
const Kernel add("add",
                 [](Pointer x, Pointer y, Pointer out, Scalar n, Constexpr block) {
                   Tile i = program_id(0) * block + cast(arange(0, block), tw::i64);
                   Tile mask = i < n;
                   store(out + i, load(x + i, mask) + load(y + i, mask), mask);
                 },
                 {"x", "y", "out", "n", "block"});

// Pointers are given tensors, a Scalar a number. A Constexpr is a number that the program is
// compiled for: the first launch with 256 compiles it, later ones find it.
tw::Tensor sum_of(const Kernel& kernel, const tw::Tensor& x, const tw::Tensor& y) {
  tw::Tensor out = tw::Tensor::empty(x.shape());
  auto grid = [](const Config& c) { return tw::Grid(cdiv(c["n"], c["block"])); };
  kernel.launch(grid, x, y, out, x.count(), 256);
  return out;
}

bool is_right(const tw::Tensor& out, const tw::Tensor& expected) {
  return out.to_vector<float>() == expected.to_vector<float>();
}

}  // namespace

int main() {
  tw::Tensor x = tw::arange(0, 1000).to(tw::f32), y = x * 0.5;
  bool fits = true;
  auto show = [&](const std::string& where, const tw::Tensor& out) {
    bool right = is_right(out, x + y);
    std::cout << where << ": " << (right ? "right" : "wrong") << '\n';
    fits = fits && right;
  };
  // It runs where its tensors lie; `on` names another device, as a GPU in the emulator.
  show("host", sum_of(add, x, y));
  show("sm_80", sum_of(add.on(tw::Device::emulated("sm_80")), x, y));
  show("sm_90a", sum_of(add.on(tw::Device::emulated("sm_90a")), x, y));
  // A mistake is an Error that names the kernel, the argument and the line of the launch.
  try {
    add.launch(4, x, x, x, 1000, 256);
  } catch (const tw::Error& error) {
    std::string text = error.what();
    std::cout << "refused: " << (text.find("overlap") != text.npos ? "overlap" : text) << '\n';
  }

  // A figure, which differs from run to run: the speed beside that of what compile() makes.
  if (tw::default_device() == tw::Device::cpu()) {
    const tw::Tensor a = tw::randn({1 << 20}), b = tw::randn({1 << 20});
    auto compiled = tw::compile([](const tw::Tensor& s, const tw::Tensor& t) { return s + t; });
    std::vector<double> seconds =
        tw::autotune::interleaved_medians({[&] { sum_of(add, a, b); }, [&] { compiled(a, b); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return fits ? 0 : 1;
}
