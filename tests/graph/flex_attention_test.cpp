// Attention with functions of scores and of places: at once and compiled it is what the formula
// says for each score, and compiled it is one op.
#include "graph/functions/attending/flex_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "graph/compile/compile.h"
#include "graph/functions/indexing/advanced_indexing.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::flex_attention_test {
namespace {

struct Sizes {
  std::int64_t batch, heads, groups, rows, keys, depth, width;
};
// A tensor that functions read, and its elements.
struct Table {
  Tensor tensor;
  std::vector<double> elements;
  Table(const Tensor& x) : tensor(x), elements(x.to(f64).to_vector<double>()) {}
  double operator[](std::int64_t i) const { return elements.at(static_cast<std::size_t>(i)); }
};
struct Tables {
  std::int64_t length, reach, heads;
  Table slopes, gains, document, distances;
  explicit Tables(const Sizes& s)
      : length(std::max(s.rows, s.keys)),
        reach(s.rows + s.keys),
        heads(s.heads),
        slopes(ramp({s.heads}, 0.11F)),
        gains(ramp({s.batch, s.heads}, 0.3F) + 0.7),
        document((arange(0, s.batch * length) / 5.0).to(i64).reshape({s.batch, length})),
        distances(sin(ramp({s.heads, 2 * reach}, 0.4F))) {}
};
using Place = std::array<std::int64_t, 4>;  // batch, head, row, key

struct Case {
  const char* name;
  std::function<Tensor(const Tables&, const Tensor&, const ScorePlace&)> score;
  std::function<double(const Tables&, double, const Place&)> score_here;
  std::function<Tensor(const Tables&, const ScorePlace&)> mask;
  std::function<bool(const Tables&, const Place&)> mask_here;
};
std::vector<Case> cases() {
  auto is_same = [](const Tables& t, const ScorePlace& at) {
    return index(t.document.tensor, {at.batch, at.row}) ==
           index(t.document.tensor, {at.batch, at.key});
  };
  auto is_same_here = [](const Tables& t, const Place& p) {
    return t.document[p[0] * t.length + p[2]] == t.document[p[0] * t.length + p[3]];
  };
  auto biased = [](const Tables& t, const Tensor& s, const ScorePlace& at) {
    return s + index(t.slopes.tensor, {at.head}) * (at.key - at.row);
  };
  auto biased_here = [](const Tables& t, double s, const Place& p) {
    return s + t.slopes[p[1]] * static_cast<double>(p[3] - p[2]);
  };
  return {
      {"nothing", {}, {}, {}, {}},
      {"positions that bias", biased, biased_here, {}, {}},
      {"within documents", {}, {}, is_same, is_same_here},
      {"positions that bias, within documents", biased, biased_here, is_same, is_same_here},
      {"causal, scaled by head",
       [](const Tables& t, const Tensor& s, const ScorePlace& at) {
         return s * index(t.gains.tensor, {at.batch, at.head});
       },
       [](const Tables& t, double s, const Place& p) { return s * t.gains[p[0] * t.heads + p[1]]; },
       [](const Tables&, const ScorePlace& at) { return at.key <= at.row; },
       [](const Tables&, const Place& p) { return p[3] <= p[2]; }},
      {"a window to both sides, rows that see nothing among them",
       [](const Tables&, const Tensor& s, const ScorePlace&) { return silu(s) * 3.0; },
       [](const Tables&, double s, const Place&) { return 3 * s / (1 + std::exp(-s)); },
       [](const Tables&, const ScorePlace& at) {
         return logical_and(abs(at.row - at.key) <= 2, at.row != 1);
       },
       [](const Tables&, const Place& p) { return std::abs(p[2] - p[3]) <= 2 && p[2] != 1; }},
      {"a slope below 0 and a distance",
       [](const Tables&, const Tensor& s, const ScorePlace& at) {
         return where(s > 0.1, s, s * 0.25) - abs(at.row - at.key).to(f32) * 0.125;
       },
       [](const Tables&, double s, const Place& p) {
         return (s > 0.1F ? s : s * 0.25) - static_cast<double>(std::abs(p[2] - p[3])) * 0.125;
       },
       {},
       {}},
      {"a table of distances",
       [](const Tables& t, const Tensor& s, const ScorePlace& at) {
         return s + index(t.distances.tensor, {at.head, at.row - at.key + t.reach});
       },
       [](const Tables& t, double s, const Place& p) {
         return s + t.distances[p[1] * 2 * t.reach + p[2] - p[3] + t.reach];
       },
       {},
       {}},
      {"a cap, and minus infinity of its own",
       [](const Tables&, const Tensor& s, const ScorePlace& at) {
         return where(remainder(at.row + at.key * 3, 4) == 0,
                      -std::numeric_limits<double>::infinity(), tanh(s * 0.5) * 2.0);
       },
       [](const Tables&, double s, const Place& p) {
         return (p[2] + p[3] * 3) % 4 == 0 ? -std::numeric_limits<double>::infinity()
                                           : std::tanh(s * 0.5) * 2;
       },
       [](const Tables&, const ScorePlace& at) { return logical_or(at.key < 3, at.key <= at.row); },
       [](const Tables&, const Place& p) { return p[3] < 3 || p[3] <= p[2]; }},
  };
}

Tensor noise(const Shape& shape, double frequency) {
  return sin(arange(0, element_count(shape)).to(f64) * frequency).reshape(shape);
}

std::vector<double> wanted(const Case& c, const Tables& tables, const Sizes& s, const Tensor& q,
                           const Tensor& k, const Tensor& v) {
  const auto a = q.to(f64).to_vector<double>(), b = k.to(f64).to_vector<double>(),
             values = v.to(f64).to_vector<double>();
  std::vector<double> result;
  for (std::int64_t line = 0; line < s.batch * s.heads * s.rows; ++line) {
    const std::int64_t row = line % s.rows, head = line / s.rows % s.heads,
                       batch = line / s.rows / s.heads;
    const std::int64_t first = (batch * s.groups + head / (s.heads / s.groups)) * s.keys;
    std::vector<double> weights;
    double highest = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::int64_t key = 0; key < s.keys; ++key) {
      double score = 0;
      for (std::int64_t d = 0; d < s.depth; ++d)
        score += a[static_cast<std::size_t>(line * s.depth + d)] *
                 b[static_cast<std::size_t>((first + key) * s.depth + d)];
      score /= std::sqrt(static_cast<double>(s.depth));
      const Place place{batch, head, row, key};
      if (c.score_here) score = c.score_here(tables, score, place);
      if (c.mask_here && !c.mask_here(tables, place))
        score = -std::numeric_limits<double>::infinity();
      weights.push_back(score);
      highest = std::max(highest, score);
    }
    for (double& weight : weights)
      total += weight = std::isinf(highest) ? 0 : std::exp(weight - highest);
    for (std::int64_t e = 0; e < s.width; ++e) {
      double mixed = 0;
      for (std::int64_t key = 0; key < s.keys; ++key)
        mixed += weights[static_cast<std::size_t>(key)] *
                 values[static_cast<std::size_t>((first + key) * s.width + e)];
      result.push_back(total == 0 ? 0 : mixed / total);
    }
  }
  return result;
}

void expect_as_wanted(const Tensor& result, const std::vector<double>& wanted, double bound) {
  const auto got = result.to(f64).to_vector<double>();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], bound) << i;
}

TEST(FlexAttention, IsWhatItsFunctionsSayOfEachScore) {
  const Sizes all[] = {{2, 4, 2, 17, 23, 16, 16}, {1, 4, 1, 1, 37, 8, 8},
                       {3, 2, 2, 5, 5, 4, 4},     {1, 2, 1, 70, 133, 32, 32},
                       {2, 2, 2, 6, 9, 8, 12},    {1, 1, 1, 64, 64, 16, 16},
                       {1, 2, 1, 64, 520, 64, 64}};
  const std::pair<DType, double> dtypes[] = {
      {f32, 2e-5}, {f16, 4e-3}, {DType::bf16, 3e-2}, {f64, 1e-12}};
  for (const Case& c : cases())
    for (const Sizes& s : all) {
      const Tables tables(s);
      for (const auto& [dtype, bound] : dtypes) {
        // Many keys are for warpgroups of 16 bits; differences between types show at one other
        // size.
        if (s.keys >= 512 ? bit_width(dtype) != 16 : dtype != f32 && s.rows != 17) continue;
        SCOPED_TRACE(testing::Message() << c.name << ", " << dtype << ", rows " << s.rows);
        const Tensor q = (noise({s.batch, s.heads, s.rows, s.depth}, 0.7) * 2.0).to(dtype),
                     k = noise({s.batch, s.groups, s.keys, s.depth}, 1.3).to(dtype),
                     v = noise({s.batch, s.groups, s.keys, s.width}, 2.1).to(dtype);
        // 64-bit floats in what is read.
        auto attend = [&](const Tensor& x, const Tensor& y, const Tensor& z) {
          FlexAttentionOptions options;
          if (c.score)
            options.score_mod = [&](const Tensor& score, const ScorePlace& at) {
              return c.score(tables, score, at);
            };
          if (c.mask) options.mask_mod = [&](const ScorePlace& at) { return c.mask(tables, at); };
          return flex_attention(x, y, z, options);
        };
        const std::vector<double> expected = wanted(c, tables, s, q, k, v);
        const double off = dtype == f64 && c.score ? 1e-6 : bound;  // tables and factors of f32
        expect_as_wanted(attend(q, k, v), expected, off);
        Compiled compiled = compile(attend);
        expect_as_wanted(compiled(q, k, v), expected, off);
        if (s.depth != s.width) continue;
        int attentions = 0;
        const std::vector<PlanReport> plans = compiled.report();
        for (const RegionReport& region : plans.front().regions) {
          EXPECT_NE(region.kind, "product");
          attentions += region.kind == "attention";
        }
        EXPECT_GE(attentions, 1) << compiled.explain();
      }
    }
}

// A function of 16 bits' queries sees sums of 32, at once as well.
TEST(FlexAttention, GivesFunctionsScoresThatAreNotRounded) {
  const Tensor q = noise({1, 1, 3, 8}, 0.7).to(f16), k = noise({1, 1, 5, 8}, 1.3).to(f16);
  Tensor seen;
  flex_attention(q, k, k,
                 {.score_mod = [&](const Tensor& score, const ScorePlace&) { return seen = score; },
                  .scale = 1});
  ASSERT_EQ(seen.dtype(), f32);
  expect_as_wanted(seen, matmul(q.to(f64), k.to(f64).transpose(2, 3)).to_vector<double>(), 1e-6);
}

TEST(FlexAttention, OfNoHeadsOrKeysHasItsSizes) {
  auto attend = [](const Tensor& q, const Tensor& k) {
    return flex_attention(q, k, k,
                          {.score_mod = [](const Tensor& s, const ScorePlace&) { return s * s; }});
  };
  EXPECT_EQ(attend(zeros({2, 0, 3, 8}), zeros({2, 0, 5, 8})).shape(), (Shape{2, 0, 3, 8}));
  EXPECT_EQ(attend(zeros({2, 4, 3, 8}), zeros({2, 2, 0, 8})).to_vector<float>(),
            std::vector<float>(192, 0));
}

TEST(FlexAttention, SaysWhatDoesNotFit) {
  const Tensor q = zeros({1, 4, 3, 8}), k = zeros({1, 2, 5, 8});
  auto error = [&](const Tensor& keys, const FlexAttentionOptions& options) {
    return error_of([&] { flex_attention(q, keys, keys, options); });
  };
  auto score = [](Tensor given) {
    return FlexAttentionOptions{
        .score_mod = [=](const Tensor&, const ScorePlace&) { return given; }};
  };
  auto mask = [](Tensor given) {
    return FlexAttentionOptions{.mask_mod = [=](const ScorePlace&) { return given; }};
  };
  expect_contains(error(k, score({})), "score_mod gave an undefined tensor");
  expect_contains(error(k, score(zeros({3, 4}))), "score_mod gave a tensor of 3x4");
  expect_contains(error(k, score(zeros({3, 5}, i64))), "score_mod gave i64");
  expect_contains(error(k, mask(zeros({3, 5}))), "mask_mod gave f32");
  expect_contains(error(k, mask(zeros({2, 4, 3, 5}, DType::boolean))), "mask_mod gave a tensor");
  expect_contains(error(zeros({1, 3, 5, 8}), {}), "q has 4 heads, k has 3");
  expect_contains(error(zeros({1, 2, 5, 4}), {}), "head size must be equal");
  expect_contains(error(k.to(f16), {}), "they must have one dtype");
  expect_contains(error({}, {}), "k is undefined");
}

}  // namespace
}  // namespace tilewright::flex_attention_test
