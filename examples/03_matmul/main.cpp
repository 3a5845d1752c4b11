// Lesson 3, a matrix product. You learn three things: a loop over tiles that adds up in registers;
// an order of programs in which neighbours share what caches hold; and letting the clock choose
// block sizes.
//
// A program makes one block of c and goes along the inner axis. Programs come in groups of `group`
// rows of blocks: those that run at the same time then need few blocks of a and b between them.
// Blocks may reach beyond the matrices: zeros are loaded there, and nothing is stored.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/matmul
#include <tilewright/tilewright.h>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

void multiply(Pointer a, Pointer b, Pointer c, Scalar m, Scalar n, Scalar k, Constexpr bm,
              Constexpr bn, Constexpr bk, Constexpr group) {
  Tile blocks_down = (m + (bm - 1)) / bm, blocks_across = (n + (bn - 1)) / bn;
  Tile in_group = blocks_across * group;
  Tile first_row = program_id(0) / in_group * group;
  Tile rows = minimum(blocks_down - first_row, group);
  Tile within = program_id(0) % in_group;
  Tile row = (first_row + within % rows) * bm, column = within / rows * bn;

  Desc left = make_desc(a, {m, k}, {k, 1}), right = make_desc(b, {k, n}, {n, 1});
  Var sum = zeros({bm, bn}, tw::f32);
  for (Tile i : range(0, k, bk))
    sum = dot(load(left, {row, i}, {bm, bk}), load(right, {i, column}, {bk, bn}), sum);
  store(make_desc(c, {m, n}, {n, 1}), {row, column}, sum);
}

const Kernel matmul("matmul", multiply, {"a", "b", "c", "m", "n", "k", "bm", "bn", "bk", "group"});

// Knobs have the names of Constexprs; num_warps is for GPUs. The first launch of a size times the
// configurations and keeps what it found in the tuning database. The first value of each knob is
// the default, which stays unless another is measurably faster.
tw::autotune::TunedKernel tuned() {
  return {matmul,
          {.space = tw::autotune::Space()
                        .choose("bm", {32, 64})
                        .choose("bn", {32, 64})
                        .choose("bk", {32})
                        .choose("group", {4, 1}),
           .grid =
               [](const tw::autotune::KernelCall& call) {
                 return tw::Grid(cdiv(call["m"], call["bm"]) * cdiv(call["n"], call["bn"]));
               },
           .key = {"m", "n", "k"},
           .budget = {8, 0.5}}};
}

}  // namespace

int main() {
  const std::int64_t m = 100, n = 90, k = 70;
  tw::Tensor a = tw::sin(tw::arange(0, m * k).to(tw::f32)).reshape({m, k});
  tw::Tensor b = tw::cos(tw::arange(0, k * n).to(tw::f32)).reshape({k, n});
  tw::Tensor expected = tw::matmul(a, b);
  bool fits = true;
  auto show = [&](const std::string& where, const tw::Tensor& c) {
    bool right = tw::all(tw::abs(c - expected) < 1e-4).item<bool>();
    std::cout << where << ": " << (right ? "right" : "wrong") << '\n';
    fits = fits && right;
  };
  auto grid = [](const Config& c) {
    return tw::Grid(cdiv(c["m"], c["bm"]) * cdiv(c["n"], c["bn"]));
  };
  for (std::string device : {"cpu", "emulated:sm_80", "emulated:sm_90a"}) {
    tw::Tensor c = tw::zeros({m, n});
    matmul.on(tw::Device::parse(device)).launch(grid, a, b, c, m, n, k, 32, 32, 16, 2);
    show(device, c);
  }
  tw::Tensor c = tw::zeros({m, n});
  tuned().launch(a, b, c, m, n, k);
  show("tuned", c);

  // A figure, which differs from run to run: the speed beside that of what compile() makes.
  if (tw::default_device() == tw::Device::cpu()) {
    const tw::Tensor x = tw::randn({512, 512}), y = tw::randn({512, 512});
    auto compiled = tw::compile([](const tw::Tensor& t) { return tw::matmul(t, t); });
    std::vector<double> seconds = tw::autotune::interleaved_medians(
        {[&] { matmul.launch(grid, x, x, y, 512, 512, 512, 64, 64, 64, 4); },
         [&] { compiled(x); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return fits ? 0 : 1;
}
