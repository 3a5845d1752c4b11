// The gradients of attention against their definition, in blocks with edges, and their memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/attending/flex_attention.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/indexing/gathering.h"
#include "tests/every_device.h"
#include "tests/graph/derivatives/doubles.h"

namespace tilewright::attention_gradient_test {
namespace {

using testing_doubles::Doubles;

// The sizes of an attention and what its rows see.
struct Case {
  const char* name;
  std::int64_t batch, heads, groups, rows, keys, depth;
  bool causal = false;
  std::int64_t window = 0;
  CausalAlignment alignment = CausalAlignment::top_left;
  double cap = 0;
  enum class Mask : std::uint8_t { none, seen, added } mask = Mask::none;
  bool has_function = false, has_positions = false;
  // The place of row 0 of this element of the batch, where places are in memory.
  static std::int64_t position(std::int64_t element) { return 5 + 11 * element; }
};

constexpr double bias = 0.03;  // of the function of scores, for each place between row and key

Doubles random_doubles(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Doubles values(static_cast<std::size_t>(count));
  for (double& value : values) value = static_cast<float>(normal(random));
  return values;
}

struct Gradients {
  Doubles q, k, v;
};

// By the definition, score by score.
class Definition {
 public:
  // `mask` is added to the scores; of none or each row and key.
  Definition(const Case& c, const Doubles& q, const Doubles& k, const Doubles& v, const Doubles& g,
             const Doubles& mask)
      : c_(c), q_(q), k_(k), v_(v), g_(g), mask_(mask) {}

  Gradients run() {
    found_ = {Doubles(q_.size()), Doubles(k_.size()), Doubles(v_.size())};
    for (std::int64_t head = 0; head < c_.batch * c_.heads; ++head)
      for (std::int64_t row = 0; row < c_.rows; ++row) one_row(head, row);
    return std::move(found_);
  }

 private:
  bool sees(std::int64_t element, std::int64_t row, std::int64_t key) const {
    const std::int64_t last =
        row + (c_.alignment == CausalAlignment::bottom_right ? c_.keys - c_.rows : 0) +
        (c_.has_positions ? Case::position(element) : 0);
    return !c_.causal || (key <= last && (c_.window == 0 || key > last - c_.window));
  }
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  void one_row(std::int64_t head, std::int64_t row) {
    const std::int64_t depth = c_.depth, first = (head * c_.rows + row) * depth;
    const std::int64_t group =
        head / c_.heads * c_.groups + head % c_.heads / (c_.heads / c_.groups);
    auto key_at = [&](std::int64_t key, std::int64_t d) {
      return at((group * c_.keys + key) * depth + d);
    };
    const double scale = 1 / std::sqrt(static_cast<double>(depth));
    Doubles weights(at(c_.keys)), slopes(at(c_.keys), 1), mixed(at(c_.keys));
    double total = 0, product = 0;
    for (std::int64_t key = 0; key < c_.keys; ++key) {
      double score = 0;
      for (std::int64_t d = 0; d < depth; ++d) {
        score += q_[at(first + d)] * k_[key_at(key, d)] * scale;
        mixed[at(key)] += g_[at(first + d)] * v_[key_at(key, d)];
      }
      if (c_.cap != 0) {
        const double bent = std::tanh(score / c_.cap);
        score = c_.cap * bent;
        slopes[at(key)] = 1 - bent * bent;
      }
      if (c_.has_function) {
        slopes[at(key)] *= 1 - std::tanh(score) * std::tanh(score);
        score = std::tanh(score) + bias * static_cast<double>(key - row);
      }
      if (!mask_.empty()) score += mask_[at(row * c_.keys + key)];
      if (sees(head / c_.heads, row, key)) total += weights[at(key)] = std::exp(score);
    }
    for (std::int64_t key = 0; key < c_.keys; ++key) {
      if (total != 0) weights[at(key)] /= total;
      product += weights[at(key)] * mixed[at(key)];
    }
    for (std::int64_t key = 0; key < c_.keys; ++key) {
      const double weight = weights[at(key)];
      const double gradient = weight * (mixed[at(key)] - product) * slopes[at(key)] * scale;
      for (std::int64_t d = 0; d < depth; ++d) {
        found_.q[at(first + d)] += gradient * k_[key_at(key, d)];
        found_.k[key_at(key, d)] += gradient * q_[at(first + d)];
        found_.v[key_at(key, d)] += weight * g_[at(first + d)];
      }
    }
  }

  const Case& c_;
  const Doubles &q_, &k_, &v_, &g_;
  const Doubles& mask_;
  Gradients found_;
};

Tensor attended(const Case& c, const Tensor& q, const Tensor& k, const Tensor& v,
                const Tensor& mask, const Tensor& positions) {
  if (c.has_function)
    return flex_attention(q, k, v,
                          {.score_mod =
                               [](const Tensor& score, const ScorePlace& at) {
                                 return tanh(score) + (at.key - at.row).to(score.dtype()) * bias;
                               },
                           .mask_mod =
                               [&](const ScorePlace& at) {
                                 return c.causal ? at.key <= at.row : at.key < at.row + 100000;
                               }});
  return scaled_dot_product_attention(q, k, v,
                                      {.causal = c.causal,
                                       .position = positions,
                                       .window = c.window,
                                       .alignment = c.alignment,
                                       .mask = mask,
                                       .cap = c.cap});
}

class AttentionGradients : public testing::TestWithParam<Case> {};

TEST_P(AttentionGradients, AreThoseOfTheDefinition) {
  const Case c = GetParam();
  const Shape rows{c.batch, c.heads, c.rows, c.depth}, keys{c.batch, c.groups, c.keys, c.depth};
  const Doubles q = random_doubles(element_count(rows), 1),
                k = random_doubles(element_count(keys), 2),
                v = random_doubles(element_count(keys), 3),
                g = random_doubles(element_count(rows), 4);
  Doubles of_mask;
  Tensor mask, positions;
  if (c.mask != Case::Mask::none) {
    if (c.mask == Case::Mask::added) of_mask = random_doubles(c.rows * c.keys, 5);
    of_mask.resize(static_cast<std::size_t>(c.rows * c.keys));
    std::mt19937 random(6);
    for (std::int64_t i = 0; i < c.rows * c.keys; ++i)
      if (random() % 3 == 0 || i / c.keys == 7)  // row 7 sees nothing
        of_mask[static_cast<std::size_t>(i)] = -std::numeric_limits<double>::infinity();
    mask = Tensor::from(of_mask, {1, 1, c.rows, c.keys}).to(f32);
    if (c.mask == Case::Mask::seen) mask = mask == 0.0;
  }
  if (c.has_positions) {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < c.batch; ++i) places.push_back(Case::position(i));
    positions = Tensor::from(places, {c.batch});
  }
  auto step = compile(
      [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& g) {
        return grad<0, 1, 2>([&](const Tensor& q, const Tensor& k, const Tensor& v) {
          return sum(attended(c, q, k, v, mask, positions) * g);
        })(q, k, v);
      },
      {.fullgraph = true});
  const Gradients wanted = Definition(c, q, k, v, g, of_mask).run();
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::f32, 1e-5), std::pair(DType::bf16, 4e-2), std::pair(DType::f16, 5e-3)}) {
    auto tensor = [dtype = dtype](const Doubles& values, const Shape& shape) {
      return Tensor::from(values, shape).to(dtype);
    };
    const auto [of_q, of_k, of_v] =
        step(tensor(q, rows), tensor(k, keys), tensor(v, keys), tensor(g, rows));
    auto expect_near = [&, dtype = dtype, tolerance = tolerance](
                           const Tensor& found, const Doubles& expected, const char* name) {
      const Doubles values = found.to(DType::f64).to_vector<double>();
      double largest = 0, distance = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        largest = std::max(largest, std::abs(expected[i]));
        const double off = std::abs(values[i] - expected[i]);
        distance = off <= distance ? distance : off;  // NaN stays
      }
      EXPECT_LE(distance, tolerance * largest) << name << " of " << dtype;
    };
    expect_near(of_q, wanted.q, "q");
    expect_near(of_k, wanted.k, "k");
    expect_near(of_v, wanted.v, "v");
  }
}

constexpr CausalAlignment top = CausalAlignment::top_left, bottom = CausalAlignment::bottom_right;
INSTANTIATE_TEST_SUITE_P(
    Cases, AttentionGradients,
    testing::Values(
        Case{"plain", 2, 2, 2, 130, 130, 32}, Case{"few_keys", 1, 2, 2, 70, 5, 16},
        Case{"causal", 1, 2, 2, 200, 200, 64, true},
        Case{"grouped", 1, 6, 2, 65, 97, 16, true, 0, bottom},
        Case{"one_group", 2, 3, 1, 33, 33, 8, true},
        Case{"window", 1, 1, 1, 150, 150, 16, true, 20},
        Case{"capped", 1, 2, 2, 50, 50, 16, true, 0, top, 1.5},
        Case{"masked", 1, 2, 2, 67, 99, 16, false, 0, top, 0, Case::Mask::seen},
        Case{"added_mask", 2, 2, 1, 45, 70, 16, false, 0, top, 0, Case::Mask::added},
        Case{"function", 1, 2, 1, 70, 70, 16, true, 0, top, 0, Case::Mask::none, true},
        Case{"one_row", 1, 4, 2, 1, 50, 16}, Case{"unseen", 1, 1, 1, 40, 30, 8, true, 0, bottom},
        Case{"positions", 2, 2, 1, 20, 70, 16, true, 9, top, 0, Case::Mask::none, false, true},
        Case{"depth_80", 1, 2, 2, 90, 90, 80}, Case{"depth_3", 3, 1, 1, 37, 41, 3, true}),
    [](const auto& info) { return info.param.name; });

// The slopes of any function of scores, of operands too, which are read at places beyond the last
// row and key. Gradients are compared with differences.
TEST(AttentionGradient, GoesThroughFunctionsOfScores) {
  const Shape shape{1, 2, 5, 4};
  auto tensor = [&](unsigned seed) {
    return Tensor::from(random_doubles(element_count(shape), seed), shape);
  };
  const Tensor slopes = square(Tensor::from(random_doubles(10, 9), {2, 5, 1})) + 0.5;
  const ScoreFunction functions[] = {
      [&](const Tensor& score, const ScorePlace&) { return score * log(slopes) + 1 / slopes; },
      [](const Tensor& score, const ScorePlace& at) {
        return where(score > 0.3, relu(score) * 2, sqrt(abs(score) + 0.1)) - at.head.to(f64);
      },
      [](const Tensor& score, const ScorePlace& at) {
        return maximum(sigmoid(score), 0.4) / (at.key - at.row + 9).to(f64) + square(score) * 0.1;
      },
      [](const Tensor&, const ScorePlace& at) { return (at.key - at.row).to(f64) * 0.1; }};
  for (const ScoreFunction& function : functions) {
    auto loss = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
      return sum(sin(flex_attention(q, k, v, {.score_mod = function})));
    };
    auto step = compile(grad<0, 1, 2>(loss), {.fullgraph = true, .verify_gradients = 1});
    const auto found = step(tensor(1), tensor(2), tensor(3));
    const auto wanted = grad<0, 1, 2>(loss)(tensor(1), tensor(2), tensor(3));
    testing_doubles::expect_values(std::get<0>(found),
                                   testing_doubles::values(std::get<0>(wanted)));
  }
}

// Masks of the least number instead of -inf may hide all of a row: then all keys weigh the same.
TEST(AttentionGradient, IsRightForRowsOfHugeScores) {
  const Shape shape{1, 1, 3, 1};
  for (DType dtype : {f32, f64}) {
    auto tensor = [&](const Doubles& values) { return Tensor::from(values, shape).to(dtype); };
    const Tensor given = tensor({1, -0.5, 2}), mask = full({1, 1, 3, 3}, -1e30, dtype);
    auto by_mask = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
      return sum(scaled_dot_product_attention(q, k, v, {.mask = mask}) * given);
    };
    const FlexAttentionOptions options{.score_mod = [](const Tensor& score, const ScorePlace&) {
      return where(score > 100, score, -1e30);
    }};
    auto by_function = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
      return sum(flex_attention(q, k, v, options) * given);
    };
    const Tensor q = tensor({0.5, -1, 2}), k = tensor({1, 0.25, -0.5}), v = tensor({1, 3, -2});
    const auto masked = compile(grad<0, 1, 2>(by_mask))(q, k, v);
    const auto of_function = compile(grad<0, 1, 2>(by_function))(q, k, v);
    auto expect = [](const Tensor& found, const Doubles& wanted) {
      EXPECT_THAT(found.to(f64).to_vector<double>(),
                  testing::Pointwise(testing::DoubleNear(1e-5), wanted));
    };
    expect(std::get<0>(masked), {0.75, -0.375, 1.5});
    expect(std::get<1>(masked), {5. / 9, 35. / 9, -40. / 9});
    for (const auto& found : {masked, of_function}) expect(std::get<2>(found), Doubles(3, 2.5 / 3));
  }
}

// Operands of a function of scores have gradients by the formula.
TEST(AttentionGradient, IsTheFormulasForOperandsOfFunctions) {
  const Tensor x = Tensor::from(random_doubles(40, 1), {1, 2, 5, 4}),
               table = Tensor::from(random_doubles(9, 2), {9});
  auto loss = [&](const Tensor& x, const Tensor& table) {
    return sum(
        sin(flex_attention(x, x, x, {.score_mod = [&](const Tensor& score, const ScorePlace& at) {
                             return score + take(table, at.key - at.row + 4);
                           }})));
  };
  auto step = compile(grad<0, 1>(loss), {.fullgraph = true, .verify_gradients = 1});
  const auto [of_x, of_table] = step(x, table);
  EXPECT_GT(sum(abs(of_table)).item<double>(), 1e-3);
}

// Layers in a loop keep what their gradients read; those of checkpoints compute it again.
TEST(AttentionGradient, IsThatOfLayersInARowInLoopsAndCheckpoints) {
  const Tensor x = Tensor::from(random_doubles(40, 1), {1, 2, 5, 4}),
               weights = Tensor::from(random_doubles(48, 2), {3, 4, 4}) * 0.5;
  auto layer = [](const Tensor& x, const Tensor& weight) {
    return x + scaled_dot_product_attention(matmul(x, weight), x, x, {.causal = true});
  };
  auto in_a_row = [&](const Tensor& x, const Tensor& weights) {
    Tensor y = x;
    for (std::int64_t i = 0; i < 3; ++i) y = layer(y, weights.select(0, i));
    return sum(square(y));
  };
  auto in_a_loop = [&](const Tensor& x, const Tensor& weights) {
    auto turn = [&](const Tensors& carried, const Tensors& slices) -> Turn {
      return {{layer(carried[0], slices[0])}, {}};
    };
    return sum(square(scan(turn, {x}, {weights}).first[0]));
  };
  auto checkpointed = [&](const Tensor& x, const Tensor& weights) {
    Tensor y = x;
    for (std::int64_t i = 0; i < 3; ++i) y = checkpoint(layer)(y, weights.select(0, i));
    return sum(square(y));
  };
  const auto [of_x, of_weights] = grad<0, 1>(in_a_row)(x, weights);
  auto expect_same = [&](auto loss) {
    const auto [x_found, weights_found] =
        compile(grad<0, 1>(loss), {.fullgraph = true})(x, weights);
    testing_doubles::expect_values(x_found, testing_doubles::values(of_x), 1e-8);
    testing_doubles::expect_values(weights_found, testing_doubles::values(of_weights), 1e-8);
  };
  expect_same(in_a_row);
  expect_same(in_a_loop);
  expect_same(checkpointed);
}

// One compiled function, with plans for many sizes.
TEST(AttentionGradient, IsRightAtManySizes) {
  auto loss = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return sum(sin(scaled_dot_product_attention(q, k, v, {.causal = true})));
  };
  auto step = compile(grad<0, 1, 2>(loss), {.fullgraph = true, .dynamic = Dynamic::always});
  for (std::int64_t positions : {3, 7, 64, 65, 40}) {
    const Shape shape{1, 2, positions, 8};
    auto tensor = [&](unsigned seed) {
      return Tensor::from(random_doubles(element_count(shape), seed), shape);
    };
    const auto found = step(tensor(1), tensor(2), tensor(3));
    const auto wanted = grad<0, 1, 2>(loss)(tensor(1), tensor(2), tensor(3));
    testing_doubles::expect_values(std::get<1>(found),
                                   testing_doubles::values(std::get<1>(wanted)));
  }
}

TEST(AttentionGradient, TakesMemoryLinearInPositions) {
  auto loss = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return sum(scaled_dot_product_attention(q, k, v, {.causal = true}));
  };
  auto step = compile(grad<0, 1, 2>(loss), {.fullgraph = true});
  const std::int64_t positions = 2048;
  const Tensor x = zeros({1, 1, positions, 16}, DType::f32);
  const MemoryReport memory = step.memory(x, x, x);
  EXPECT_LT(memory.peak, positions * positions * 4 / 16);
}

// The second derivative is that of the formula.
TEST(AttentionGradient, HasADerivative) {
  auto loss = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return sum(square(scaled_dot_product_attention(q, k, v, {.causal = true})));
  };
  const Shape shape{1, 2, 5, 4};
  auto tensor = [&](unsigned seed) {
    return Tensor::from(random_doubles(element_count(shape), seed), shape);
  };
  const Tensor q = tensor(1), k = tensor(2), v = tensor(3), direction = tensor(4);
  auto along = [&](const Tensor& of_q, const Tensor& of_k) {
    return sum(grad<0>(loss)(of_q, of_k, v) * direction);
  };
  const auto [of_q, of_k] = grad<0, 1>(along)(q, k);
  const double step = 1e-6;
  const Tensor ahead = along(q + direction * step, k + direction * step),
               behind = along(q - direction * step, k - direction * step);
  const double slope = (ahead - behind).item<double>() / (2 * step);
  EXPECT_NEAR(sum((of_q + of_k) * direction).item<double>(), slope, 1e-6 * std::abs(slope) + 1e-7);
}

}  // namespace
}  // namespace tilewright::attention_gradient_test
