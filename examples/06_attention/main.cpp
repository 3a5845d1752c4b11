// Lesson 6, attention. You learn to keep what would not fit memory from ever being there: the keys
// are gone through block by block, and whenever a higher score is found, what was summed so far is
// scaled down. (This is FlashAttention's online softmax: Dao, Fu, Ermon, Rudra and Ré, 2022.)
//
// The grid has two axes: blocks of queries, and heads. A program reads its queries once, all keys
// and values of its head, and writes its rows of the result; the scores are never in memory.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/attention
#include <tilewright/tilewright.h>
#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// softmax(q k^T / sqrt(size)) v, of [heads, queries, size] and [heads, keys, size].
void attend(Pointer q, Pointer k, Pointer v, Pointer out, Scalar queries, Scalar keys,
            Constexpr rows, Constexpr columns, Constexpr size) {
  Tile head = program_id(1), row = program_id(0) * rows;
  auto matrix_of_head = [&](const Pointer& all, const Tile& count) {
    return make_desc(all + head * count * size, {count, size}, {size, 1});
  };
  Desc key = matrix_of_head(k, keys), value = matrix_of_head(v, keys);
  Tile query = load(matrix_of_head(q, queries), {row, 0}, {rows, size});
  Tile lane = cast(arange(0, columns), tw::i64);
  Var highest = full({rows, 1}, -infinity, tw::f32), total = zeros({rows, 1}, tw::f32);
  Var mixed = zeros({rows, size}, tw::f32);
  for (Tile first : range(0, keys, columns)) {
    Tile scores = dot(query, trans(load(key, {first, 0}, {columns, size})));
    scores = scores * (1 / std::sqrt(double(size)));
    // Beyond the last key zeros are loaded, which would count: their weight must be 0.
    scores = where(first + lane < keys, scores, -infinity);
    Tile top = maximum(highest, max(scores, 1, /*keep_dims=*/true));
    Tile weights = exp(scores - top), decay = exp(highest - top);
    total = total * decay + sum(weights, 1, /*keep_dims=*/true);
    mixed = dot(weights, load(value, {first, 0}, {columns, size}), mixed * decay);
    highest = top;
  }
  store(matrix_of_head(out, queries), {row, 0}, mixed / total);
}

const Kernel attention("attention", attend,
                       {"q", "k", "v", "out", "queries", "keys", "rows", "columns", "size"});

tw::Tensor attention_of(const Kernel& kernel, const tw::Tensor& q, const tw::Tensor& k,
                        const tw::Tensor& v, std::int64_t rows, std::int64_t columns) {
  tw::Tensor out = tw::Tensor::empty(q.shape());
  const tw::Grid grid{cdiv(q.size(-2), rows), q.count() / q.size(-1) / q.size(-2)};
  kernel.launch(grid, q, k, v, out, q.size(-2), k.size(-2), rows, columns, q.size(-1));
  return out;
}

// With all scores in memory.
tw::Tensor expected_of(const tw::Tensor& q, const tw::Tensor& k, const tw::Tensor& v) {
  const double scale = 1 / std::sqrt(double(q.size(-1)));
  return tw::matmul(tw::softmax(tw::matmul(q, k.transpose(-2, -1)) * scale, -1), v);
}

}  // namespace

int main() {
  tw::Generator generator(1);
  auto noise = [&](const tw::Shape& shape) { return tw::randn(shape, tw::f32, generator); };
  const tw::Tensor q = noise({2, 50, 16}), k = noise({2, 90, 16}), v = noise({2, 90, 16});
  const tw::Tensor expected = expected_of(q, k, v);
  bool fits = true;
  for (std::string device : {"cpu", "emulated:sm_80", "emulated:sm_90a"}) {
    tw::Tensor out = attention_of(attention.on(tw::Device::parse(device)), q, k, v, 32, 32);
    bool is_right = tw::all(tw::abs(out - expected) < 1e-5).item<bool>();
    std::cout << device << ": " << (is_right ? "right" : "wrong") << '\n';
    fits = fits && is_right;
  }

  // A figure, which differs from run to run: the speed beside that of what compile() makes.
  if (tw::default_device() == tw::Device::cpu()) {
    const tw::Tensor x = noise({1, 8, 1024, 64}), y = noise(x.shape()), z = noise(x.shape());
    auto compiled = tw::compile([](const tw::Tensor& a, const tw::Tensor& b, const tw::Tensor& c) {
      return tw::scaled_dot_product_attention(a, b, c);
    });
    std::vector<double> seconds = tw::autotune::interleaved_medians(
        {[&] { attention_of(attention, x, y, z, 64, 64); }, [&] { compiled(x, y, z); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return fits ? 0 : 1;
}
