// Lesson 11, a histogram. You learn what atomics are for: programs that add to the same place, in
// whatever order they come; and how to need fewer of them: a program counts on its own first, and
// adds once what it counted.
//
// Where few cores meet, as on the host, atomics are cheap, and the first kernel is the faster one.
// Thousands of threads of a GPU that add to 29 places wait for each other.
//
// Atomics of whole numbers give the same result in any order. Sums of floats would be rounded in
// another order each time.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/histogram
#include <tilewright/tilewright.h>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

// An atomic for each element.
const Kernel by_element("histogram_by_element",
                        [](Pointer x, Pointer counts, Scalar n, Constexpr block) {
                          Tile i = program_id(0) * block + cast(arange(0, block), tw::i64);
                          atomic_add(counts + load(x + i, i < n), 1, i < n);
                        },
                        {"x", "counts", "n", "block"});

// An atomic for each bin and program. A program goes through many blocks, with the counts in a
// variable. `histogram` compares each element with each bin, so it is for few bins.
const Kernel by_program("histogram_by_program",
                        [](Pointer x, Pointer counts, Scalar n, Constexpr bins, Constexpr block) {
                          Tile lane = cast(arange(0, block), tw::i64);
                          Var own = zeros({bins}, tw::i32);
                          Tile stride = num_programs(0) * block;
                          for (Tile first : range(program_id(0) * block, n, stride)) {
                            Tile i = first + lane;
                            own += histogram(load(x + i, i < n), bins, i < n);
                          }
                          atomic_add(counts + arange(0, bins), own);
                        },
                        {"x", "counts", "n", "bins", "block"});

tw::Tensor counted_by_element(const tw::Tensor& x, std::int64_t bins) {
  tw::Tensor counts = tw::zeros({bins}, tw::i32);
  by_element.launch(cdiv(x.count(), 1024), x, counts, x.count(), 1024);
  return counts;
}
tw::Tensor counted_by_program(const tw::Tensor& x, std::int64_t bins) {
  tw::Tensor counts = tw::zeros({bins}, tw::i32);
  by_program.launch(8, x, counts, x.count(), bins, 1024);
  return counts;
}

// The sum of the eyes of four dice of eight sides, less 4: 0 to 28.
tw::Tensor throws(std::int64_t n) {
  tw::Generator generator(1);
  return tw::sum(tw::randint(0, 8, {n, 4}, tw::i64, generator), {1}).to(tw::i32);
}

}  // namespace

int main() {
  const std::int64_t bins = 29;
  const tw::Tensor x = throws(20000);
  std::vector<std::int32_t> expected(bins);
  for (std::int32_t sum : x.to_vector<std::int32_t>()) ++expected[static_cast<std::size_t>(sum)];
  bool fits = true;
  auto show = [&](const std::string& how, const tw::Tensor& counts) {
    bool is_right = counts.to_vector<std::int32_t>() == expected;
    std::cout << how << ": " << (is_right ? "right" : "wrong") << '\n';
    fits = fits && is_right;
  };
  show("by element", counted_by_element(x, bins));
  show("by program", counted_by_program(x, bins));
  for (std::size_t sum = 0; sum < expected.size(); ++sum)
    std::cout << (sum + 4 < 10 ? " " : "") << sum + 4 << " |"
              << std::string(static_cast<std::size_t>(expected[sum] / 30), '#') << '\n';

  // Figures, which differ from run to run: the speeds beside that of what compile() makes.
  if (tw::default_device() == tw::Device::cpu()) {
    const tw::Tensor many = throws(1 << 19), as_floats = many.to(tw::f32);
    auto compiled = tw::compile([](const tw::Tensor& t) { return tw::histc(t, 29, -0.5, 28.5); });
    std::vector<double> seconds = tw::autotune::interleaved_medians(
        {[&] { counted_by_element(many, bins); }, [&] { counted_by_program(many, bins); },
         [&] { compiled(as_floats); }});
    std::cerr << "speeds beside compile()'s: " << seconds[2] / seconds[0] << " by element, "
              << seconds[2] / seconds[1] << " by program\n";
  }
  return fits ? 0 : 1;
}
