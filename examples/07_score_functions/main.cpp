// Lesson 7, attention with a score function. You learn to make one kernel out of a pattern and a
// function: C++ code that modifies the score of a query and a key is traced into the kernel, so
// that masks, biases and caps cost no memory and no extra launch.
//
// A score of minus infinity is a key that is not seen. A row that sees none is 0, and not 0 / 0.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build &&
//   build/score_functions
#include <tilewright/tilewright.h>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Scores [rows, columns], the head, queries [rows, 1] and keys [1, columns], as places.
using ScoreFunction = std::function<Tile(Tile score, Tile head, Tile query, Tile key)>;

// softmax(score(q k^T / sqrt(size))) v of [heads, length, size]. Where no query sees a later key,
// blocks of these alone need not be gone through.
Kernel attention(const std::string& name, ScoreFunction score, bool sees_later = true) {
  return {name, [=](Pointer q, Pointer k, Pointer v, Pointer out, Scalar length, Constexpr rows,
                    Constexpr columns, Constexpr size) {
            Tile head = program_id(1), row = program_id(0) * rows;
            auto of_head = [&](const Pointer& all) {
              return make_desc(all + head * length * size, {length, size}, {size, 1});
            };
            Tile queries = (row + cast(arange(0, rows), tw::i64))[{whole, None}];
            Tile loaded = load(of_head(q), {row, 0}, {rows, size});
            Var highest = full({rows, 1}, -infinity, tw::f32), total = zeros({rows, 1}, tw::f32);
            Var mixed = zeros({rows, size}, tw::f32);
            Tile end = sees_later ? length : minimum(length, row + rows);
            for (Tile first : range(0, end, columns)) {
              Tile keys = (first + cast(arange(0, columns), tw::i64))[{None, whole}];
              Tile scores = dot(loaded, trans(load(of_head(k), {first, 0}, {columns, size})));
              scores = score(scores * (1 / std::sqrt(double(size))), head, queries, keys);
              scores = where(keys < length, scores, -infinity);
              Tile top = maximum(highest, max(scores, 1, true));
              // Where nothing was seen yet, top is -infinity, and 0 is as good.
              Tile from = where(top == -infinity, 0.0, top);
              Tile weights = exp(scores - from), decay = exp(highest - from);
              total = total * decay + sum(weights, 1, true);
              mixed = dot(weights, load(of_head(v), {first, 0}, {columns, size}), mixed * decay);
              highest = top;
            }
            Tile seen = total > 0.0;
            store(of_head(out), {row, 0}, where(seen, mixed / where(seen, total, 1.0), 0.0));
          }};
}

const ScoreFunction causal = [](Tile score, Tile, Tile query, Tile key) {
  return where(key <= query, score, -infinity);
};
const ScoreFunction window = [](Tile score, Tile, Tile query, Tile key) {
  return where(key <= query && query - key < 6, score, -infinity);
};
// ALiBi: a penalty by distance, another for each head.
const ScoreFunction alibi = [](Tile score, Tile head, Tile query, Tile key) {
  Tile slope = exp2(cast(-(head + 1), tw::f32));
  return score - slope * cast(abs(query - key), tw::f32);
};
const ScoreFunction capped = [](Tile score, Tile, Tile, Tile) { return tanh(score / 2.0) * 2.0; };
// Texts of 7, side by side, that do not see each other.
const ScoreFunction documents = [](Tile score, Tile, Tile query, Tile key) {
  return where(query / 7 == key / 7, score, -infinity);
};

// The functions' definition, for all scores at once.
tw::Tensor expected_scores(const std::string& name, const tw::Tensor& scores) {
  const std::int64_t length = scores.size(-1);
  tw::Tensor key = tw::arange(0, length), query = key.unsqueeze(1), distance = query - key;
  tw::Tensor slopes = tw::exp2(-tw::arange(1, scores.size(0) + 1).to(tw::f32)).reshape({-1, 1, 1});
  if (name == "alibi") return scores - slopes * tw::abs(distance).to(tw::f32);
  if (name == "capped") return tw::tanh(scores / 2.0) * 2.0;
  tw::Tensor is_seen = distance >= 0;
  if (name == "window") is_seen = tw::logical_and(is_seen, distance < 6);
  if (name == "documents") is_seen = tw::floor_divide(query, 7) == tw::floor_divide(key, 7);
  return tw::where(is_seen, scores, -infinity);
}

}  // namespace

int main() {
  const std::int64_t heads = 2, length = 40, size = 16;
  tw::Generator generator(1);
  auto noise = [&] { return tw::randn({heads, length, size}, tw::f32, generator); };
  const tw::Tensor q = noise(), k = noise(), v = noise();
  const tw::Tensor scores = tw::matmul(q, k.transpose(-2, -1)) / std::sqrt(double(size));
  bool fits = true;
  std::vector<std::string> picture(size);
  struct Case {
    std::string name;
    Kernel kernel;
  };
  for (const auto& [name, kernel] :
       std::vector<Case>{{"causal", attention("causal", causal, /*sees_later=*/false)},
                         {"window", attention("window", window, /*sees_later=*/false)},
                         {"alibi", attention("alibi", alibi)},
                         {"capped", attention("capped", capped)},
                         {"documents", attention("documents", documents)}}) {
    auto run = [&, &kernel = kernel](const tw::Tensor& a, const tw::Tensor& b,
                                     const tw::Tensor& c) {
      tw::Tensor out = tw::zeros(a.shape());
      kernel.launch({cdiv(a.size(1), 16), a.size(0)}, a, b, c, out, a.size(1), 16, 16, size);
      return out;
    };
    tw::Tensor expected = tw::matmul(tw::softmax(expected_scores(name, scores), -1), v);
    bool is_right = tw::all(tw::abs(run(q, k, v) - expected) < 1e-5).item<bool>();
    std::cout << name << ": " << (is_right ? "right" : "wrong") << '\n';
    fits = fits && is_right;

    // With equal products of all pairs, and values that name their keys, the results are the
    // weights themselves: a line a query, a column a key.
    tw::Tensor place = tw::arange(0, size), equal = tw::zeros({1, size, size});
    tw::Tensor names = (place.unsqueeze(1) == place).to(tw::f32).unsqueeze(0);
    std::vector<float> weights = run(equal, equal, names).to_vector<float>();
    for (std::string& line : picture) line += line.empty() ? "" : "  ";
    for (std::size_t i = 0; i < weights.size(); ++i)
      picture[i / size] += ".:+*#"[static_cast<int>(std::ceil(weights[i] * 4 - 0.01F))];
  }
  for (const std::string& line : picture) std::cout << line << '\n';

  // A figure, which differs from run to run: the speed beside that of what compile() makes.
  if (tw::default_device() == tw::Device::cpu()) {
    const tw::Tensor x = tw::randn({1, 8, 1024, 64}), y = tw::zeros(x.shape());
    const Kernel kernel = attention("causal", causal, /*sees_later=*/false);
    auto compiled = tw::compile([](const tw::Tensor& t) {
      return tw::scaled_dot_product_attention(t, t, t, {.causal = true});
    });
    std::vector<double> seconds =
        tw::autotune::interleaved_medians({[&] {
                                             kernel.launch({16, 8}, x, x, x, y, 1024, 64, 64, 64);
                                           },
                                           [&] { compiled(x); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return fits ? 0 : 1;
}
