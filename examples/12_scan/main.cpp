// Lesson 12, a scan over many blocks: each element becomes the sum of all up to it. You learn to
// cut a computation in which all depends on all that came before into launches: the sums of blocks,
// the scan of these, and the scan within each block. A launch begins when the one before has ended;
// within a launch programs must not wait for each other.
//
// Scans compute destinations that depend on counts of earlier elements. Below, the characters of a
// text that are kept move up, in order and all at once.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/scan
#include <tilewright/tilewright.h>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

Tile places_of_block(const Tile& block, Constexpr size) {
  return block * size + cast(arange(0, size), tw::i64);
}

const Kernel sums_of_blocks("sums_of_blocks",
                            [](Pointer x, Pointer sums, Scalar n, Constexpr size) {
                              Tile i = places_of_block(program_id(0), size);
                              store(sums + program_id(0), sum(load(x + i, i < n), 0));
                            });

// One program: each sum becomes the sum of those before it. The running total is a variable.
const Kernel sums_before("sums_before", [](Pointer sums, Scalar blocks, Constexpr size) {
  Var before = cast(0.0, sums.dtype());
  for (Tile turn : range(0, cdiv(blocks, size))) {
    Tile i = places_of_block(turn, size), some = load(sums + i, i < blocks);
    store(sums + i, before + cumsum(some) - some, i < blocks);
    before += sum(some, 0);
  }
});

const Kernel scan_of_blocks("scan_of_blocks", [](Pointer x, Pointer sums, Pointer y, Scalar n,
                                                 Constexpr size) {
  Tile i = places_of_block(program_id(0), size);
  store(y + i, load(sums + program_id(0)) + cumsum(load(x + i, i < n)), i < n);
});

tw::Tensor scan(const tw::Tensor& x, std::int64_t size = 1024) {
  const std::int64_t n = x.count(), blocks = cdiv(n, size);
  tw::Tensor y = tw::Tensor::empty({n}, x.dtype()), sums = tw::Tensor::empty({blocks}, x.dtype());
  sums_of_blocks.launch(blocks, x, sums, n, size);
  sums_before.launch(1, sums, blocks, 256);
  scan_of_blocks.launch(blocks, x, sums, y, n, size);
  return y;
}

// The characters that are letters go to where the scan of "is a letter" says, and others nowhere.
const Kernel is_letter("is_letter", [](Pointer text, Pointer flags, Scalar n, Constexpr size) {
  Tile i = places_of_block(program_id(0), size), lower = load(text + i, i < n) | 32;
  store(flags + i, cast(lower >= int('a') && lower <= int('z'), tw::i32), i < n);
});
const Kernel move_up("move_up", [](Pointer text, Pointer flags, Pointer places, Pointer out,
                                   Scalar n, Constexpr size) {
  Tile i = places_of_block(program_id(0), size), keeps = load(flags + i, i < n) != 0 && i < n;
  store(out + (load(places + i, i < n) - 1), load(text + i, i < n), keeps);
});

std::string letters_of(const std::string& text, std::int64_t size) {
  const auto n = static_cast<std::int64_t>(text.size());
  std::vector<std::uint8_t> bytes(text.begin(), text.end()), out(bytes.size());
  tw::Tensor flags = tw::zeros({n}, tw::i32);
  is_letter.launch(cdiv(n, size), bytes, flags, n, size);
  tw::Tensor places = scan(flags, size);
  move_up.launch(cdiv(n, size), bytes, flags, places, out, n, size);
  return {out.begin(), out.begin() + places.select(0, n - 1).item<std::int32_t>()};
}

}  // namespace

int main() {
  bool fits = true;
  for (std::int64_t n : {1, 1000, 1024, 5000, 300000}) {
    const tw::Tensor x = tw::remainder(tw::arange(0, n) * 7, 10).to(tw::f32);
    // Whole numbers below 2^24: sums are exact in any order.
    bool is_right = tw::all(scan(x) == tw::cumsum(x, 0)).item<bool>();
    std::cout << n << " elements: " << (is_right ? "right" : "wrong") << '\n';
    fits = fits && is_right;
  }
  const std::string text = "All of these move at once: (each) knows where it goes!!!";
  std::cout << letters_of(text, 16) << '\n';
  fits = fits && letters_of(text, 16) == letters_of(text, 64);

  // A figure, which differs from run to run: the speed beside that of what compile() makes.
  if (tw::default_device() == tw::Device::cpu()) {
    const tw::Tensor x = tw::randn({1 << 20});
    auto compiled = tw::compile([](const tw::Tensor& t) { return tw::cumsum(t, 0); });
    std::vector<double> seconds =
        tw::autotune::interleaved_medians({[&] { scan(x); }, [&] { compiled(x); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return fits ? 0 : 1;
}
