// Lesson 13, an operation of your own in a compiled model. You learn to give compile() what it does
// not have: an elementwise function, which fuses with what is around it; a kernel, which becomes a
// launch of its own that is recorded and reported like all others; and C++ on the host's memory.
//
// An op says by a shape rule what it gives. An elementwise one needs none.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/custom_op
#include <tilewright/tilewright.h>
#include <algorithm>
#include <bit>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

using Types = std::span<const tw::TensorType>;

std::vector<tw::TensorType> like_the_first(Types operands) { return {operands[0]}; }

const tw::CustomOp gated = tw::custom_op(
    "gated", tw::elementwise([](Tile x, Tile gate) { return x * gate * sigmoid(gate); }));

// Rows over their root mean square. Sizes are known when the op is called: the launch computes the
// grid and the kernel's numbers from them.
const Kernel rms_rows("rms_rows", [](Pointer x, Pointer y, Scalar width, Constexpr block) {
  Tile column = cast(arange(0, block), tw::i64), at = program_id(0) * width + column;
  Tile row = load(x + at, column < width);
  Tile scale = rsqrt(sum(row * row, 0) / cast(width, tw::f32) + 1e-6);
  store(y + at, row * scale, column < width);
});
const tw::CustomOp rms = tw::custom_op(
    "rms", like_the_first,
    tw::TileKernel{
        rms_rows, [](const tw::CustomCall& call) {
          const std::int64_t width = call.operand(0).shape[-1];
          const auto block =
              static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(width)));
          return tw::TileLaunch{tw::Grid(call.operand(0).count() / width), {width, block}};
        }});

// Keeps what is larger than the median of its row, by the standard library.
void keep_upper_half(std::span<const tw::BufferView> operands,
                     std::span<const tw::BufferView> results) {
  auto x = operands[0].elements<const float>();
  auto y = results[0].elements<float>();
  const auto width = static_cast<std::size_t>(operands[0].type.shape[-1]);
  for (std::size_t first = 0; first < x.size(); first += width) {
    std::vector<float> row(x.begin() + std::ptrdiff_t(first),
                           x.begin() + std::ptrdiff_t(first + width));
    std::nth_element(row.begin(), row.begin() + std::ptrdiff_t(width / 2), row.end());
    for (std::size_t i = first; i < first + width; ++i) y[i] = x[i] > row[width / 2] ? x[i] : 0;
  }
}
const tw::CustomOp upper_half =
    tw::custom_op("upper_half", like_the_first, tw::BufferFunction(keep_upper_half));

tw::Tensor model(const tw::Tensor& x, const tw::Tensor& w) {
  tw::Tensor hidden = tw::matmul(rms(x), w);
  return upper_half(gated(hidden + 1.0, hidden) * 2.0);
}

}  // namespace

int main() {
  tw::Tensor x = tw::sin(tw::arange(0, 8 * 48).to(tw::f32)).reshape({8, 48});
  tw::Tensor w = tw::cos(tw::arange(0, 48 * 32).to(tw::f32)).reshape({48, 32}) * 0.1;
  const tw::Tensor expected = model(x, w);  // operation by operation
  bool fits = true;
  for (std::string device : {"cpu", "emulated:sm_80", "emulated:sm_90a"}) {
    auto fast = tw::compile(model, {.mode = tw::Mode::reduce_overhead,
                                    .fullgraph = true,
                                    .device = tw::Device::parse(device)});
    bool right = tw::all(tw::abs(fast(x, w) - expected) < 1e-4).item<bool>();
    std::cout << device << ": " << (right ? "right" : "wrong") << ", "
              << fast.report().at(0).launches << " launches\n";
    fits = fits && right;
  }
  try {
    gated(x, w);
  } catch (const tw::Error& error) {
    std::string text = error.what();
    std::cout << "refused: " << (text.find("[gated]") != text.npos ? "gated" : text) << '\n';
  }
  return fits ? 0 : 1;
}
