// Lesson 10, a stencil: heat that spreads over a plate. You learn to read neighbours through a
// descriptor, of which what lies outside is 0, offsets below 0 included; and to take steps in time
// by two buffers that change places.
//
// The neighbours of a block are four more loads of the same block, moved by one. The rows they
// share come from a cache.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/stencil
#include <tilewright/tilewright.h>
#include <algorithm>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

// new = old + rate * (the sum of four neighbours - 4 old); beyond the plate it is 0 degrees.
const Kernel step("heat_step",
                  [](Pointer from, Pointer to, Scalar height, Scalar width, Scalar rate,
                     Constexpr rows, Constexpr columns) {
                    Desc old = make_desc(from, {height, width}, {width, 1});
                    Tile y = program_id(1) * rows, x = program_id(0) * columns;
                    auto moved = [&](int down, int right) {
                      return load(old, {y + down, x + right}, {rows, columns});
                    };
                    Tile here = moved(0, 0);
                    Tile around = moved(-1, 0) + moved(1, 0) + moved(0, -1) + moved(0, 1);
                    store(make_desc(to, {height, width}, {width, 1}), {y, x},
                          here + (around - here * 4.0) * rate);
                  },
                  {"from", "to", "height", "width", "rate", "rows", "columns"});

tw::Tensor after(tw::Tensor plate, int steps, float rate, std::int64_t rows = 16,
                 std::int64_t columns = 64) {
  tw::Tensor next = tw::zeros(plate.shape());
  plate = plate.clone();
  const std::int64_t height = plate.size(0), width = plate.size(1);
  for (int i = 0; i < steps; ++i) {
    step.launch({cdiv(width, columns), cdiv(height, rows)}, plate, next, height, width, rate, rows,
                columns);
    std::swap(plate, next);
  }
  return plate;
}

// The same in operations on tensors: the plate with a rim of zeros, seen five times.
tw::Tensor stepped(const tw::Tensor& plate, double rate) {
  const std::int64_t height = plate.size(0), width = plate.size(1);
  tw::Tensor rimmed = tw::pad(plate, {1, 1, 1, 1});
  auto moved = [&](std::int64_t down, std::int64_t right) {
    return rimmed.slice(0, 1 + down, 1 + down + height).slice(1, 1 + right, 1 + right + width);
  };
  tw::Tensor around = moved(-1, 0) + moved(1, 0) + moved(0, -1) + moved(0, 1);
  return plate + (around - plate * 4.0) * rate;
}

// A plate with two hot spots.
tw::Tensor heated(std::int64_t height, std::int64_t width) {
  std::vector<float> degrees(static_cast<std::size_t>(height * width));
  degrees[static_cast<std::size_t>(height / 4 * width + width / 4)] = 400;
  degrees[static_cast<std::size_t>(height * 3 / 4 * width + width * 2 / 3)] = 800;
  return tw::Tensor::from(degrees, {height, width});
}

}  // namespace

int main() {
  const tw::Tensor start = heated(15, 60);
  tw::Tensor expected = start;
  for (int i = 0; i < 40; ++i) expected = stepped(expected, 0.2);
  const tw::Tensor end = after(start, 40, 0.2F);
  const bool is_right = tw::all(tw::abs(end - expected) < 1e-3).item<bool>();
  std::cout << "40 steps: " << (is_right ? "right" : "wrong") << '\n';
  const bool is_same = tw::all(end == after(start, 40, 0.2F, 4, 32)).item<bool>();
  std::cout << "in other blocks: " << (is_same ? "the same bits" : "other bits") << '\n';

  // A sign for each degree and a half.
  std::vector<float> degrees = end.to_vector<float>();
  for (std::size_t i = 0; i < degrees.size(); ++i)
    std::cout << ".:-=+*#%@"[std::min(static_cast<int>(degrees[i] / 1.5F), 8)]
              << (i % 60 == 59 ? "\n" : "");

  // A figure, which differs from run to run: the speed beside that of what compile() makes.
  if (tw::default_device() == tw::Device::cpu()) {
    const tw::Tensor large = heated(1024, 1024), next = tw::zeros(large.shape());
    auto compiled = tw::compile([](const tw::Tensor& plate) { return stepped(plate, 0.2); });
    std::vector<double> seconds = tw::autotune::interleaved_medians(
        {[&] {
           step.launch({16, 64}, large, next, 1024, 1024, 0.2F, 16, 64);
         },
         [&] { compiled(large); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return is_right && is_same ? 0 : 1;
}
