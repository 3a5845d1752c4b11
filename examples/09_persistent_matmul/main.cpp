// Lesson 9, a persistent matrix product with descriptors. You learn to launch only as many programs
// as the machine can run at a time, each of which goes through many blocks: the second block's
// first loads can then be on their way while the first block is stored, and nothing is set up
// twice. Each program's next block follows from num_programs, so any grid is right.
//
// A descriptor says how an array lies in memory. Blocks that reach beyond its edges are cut off
// there, so no mask is written. On Hopper the compiler lets the engine for copies (TMA) fetch whole
// blocks, if it knows the sizes: so here these are Constexprs. Numbers of bf16 are multiplied by
// tensor cores; sums are f32.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build
//   build/persistent_matmul
#include <tilewright/tilewright.h>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

void multiply(Pointer a, Pointer b, Pointer c, Constexpr m, Constexpr n, Constexpr k, Constexpr bm,
              Constexpr bn, Constexpr bk, Constexpr group) {
  Desc left = make_desc(a, {m, k}, {k, 1}), right = make_desc(b, {k, n}, {n, 1});
  Desc out = make_desc(c, {m, n}, {n, 1});
  const std::int64_t down = cdiv(m, bm), across = cdiv(n, bn);
  for (Tile block : range(program_id(0), down * across, num_programs(0))) {
    // Lesson 3's order in groups is a word of the language.
    auto [i, j] = swizzle2d(block / across, block % across, down, across, group);
    Tile row = i * bm, column = j * bn;
    Var total = zeros({bm, bn}, tw::f32);
    for (Tile inner : range(0, k, bk))
      total =
          dot(load(left, {row, inner}, {bm, bk}), load(right, {inner, column}, {bk, bn}), total);
    store(out, {row, column}, total);
  }
}

// With three stages two blocks of a and of b are on their way, on a GPU, while a third is
// multiplied. Kernels with other knobs are compiled separately, so this one is made once.
const Kernel matmul =
    Kernel("persistent_matmul", multiply, {"a", "b", "c", "m", "n", "k", "bm", "bn", "bk", "group"})
        .with(Knobs{.num_stages = 3});

tw::Tensor product_of(const tw::Tensor& a, const tw::Tensor& b, std::int64_t programs,
                      std::int64_t block) {
  const std::int64_t m = a.size(0), n = b.size(1), k = a.size(1);
  tw::Tensor c = tw::zeros({m, n});
  matmul.launch(programs, a, b, c, m, n, k, block, block, /*bk=*/32, /*group=*/4);
  return c;
}

}  // namespace

int main() {
  tw::Generator generator(1);
  const tw::Tensor a = tw::randn({100, 72}, tw::bf16, generator);
  const tw::Tensor b = tw::randn({72, 96}, tw::bf16, generator);
  const tw::Tensor expected = tw::matmul(a, b, tw::f32);
  bool fits = true;
  for (std::int64_t programs : {1, 3, 12, 40}) {
    bool is_right = tw::all(tw::abs(product_of(a, b, programs, 32) - expected) < 1e-4).item<bool>();
    std::cout << programs << " programs: " << (is_right ? "right" : "wrong") << '\n';
    fits = fits && is_right;
  }

  // Which of 3 programs has which of the 4 by 3 blocks: a kernel that stores its number there.
  const Kernel owners("owners", [](Pointer out, Scalar down, Scalar across, Constexpr group) {
    for (Tile block : range(program_id(0), down * across, num_programs(0))) {
      auto [i, j] = swizzle2d(block / across, block % across, down, across, group);
      store(out + i * across + j, program_id(0));
    }
  });
  std::vector<std::int64_t> owner(4 * 3);
  owners.launch(3, owner, 4, 3, 2);
  for (std::size_t i = 0; i < owner.size(); ++i) std::cout << owner[i] << (i % 3 == 2 ? '\n' : ' ');

  // A figure, which differs from run to run: the speed beside that of what compile() makes. A host
  // runs as many programs at a time as it has cores, a GPU as many as it has multiprocessors.
  if (tw::default_device() == tw::Device::cpu()) {
    const tw::Tensor x = tw::randn({512, 512}, tw::bf16, generator);
    auto compiled = tw::compile([](const tw::Tensor& t) { return tw::matmul(t, t, tw::f32); });
    std::vector<double> seconds = tw::autotune::interleaved_medians(
        {[&] { product_of(x, x, std::thread::hardware_concurrency(), 64); }, [&] { compiled(x); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return fits ? 0 : 1;
}
