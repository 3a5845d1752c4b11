// Attention that is written out, in the ways in which people and exporters do: whatever the way, it
// becomes one op that means the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "graph/compile/compile.h"
#include "graph/functions/reducing/norms.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/ir/evaluate.h"
#include "graph/ir/text.h"
#include "graph/passes/passes.h"
#include "graph/tensor/capture.h"
#include "tests/tensors.h"

namespace tilewright::form_attention_test {
namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

// How one attention is written, chosen by a seed.
class Writing {
 public:
  explicit Writing(std::uint32_t seed) : random_(seed) {
    batch_ = 1 + below(3);
    groups_ = 1 + below(2);
    heads_ = groups_ * (1 + below(2));
    rows_ = 1 + below(5);
    keys_ = 1 + below(6);
    depth_ = 1 + below(8);
  }

  // Placeholders are appended as they are wanted.
  Tensor write(graph::Capture& capture) {
    auto input = [&](DType dtype, const Shape& shape) {
      types_.push_back({dtype, shape});
      return capture.placeholder(dtype, shape);
    };
    Tensor q = input(f32, {batch_, heads_, rows_, depth_});
    Tensor k = for_each_head(input(f32, {batch_, groups_, keys_, depth_}));
    Tensor v = for_each_head(input(f32, {batch_, groups_, keys_, depth_}));
    const double factor = 1 / std::sqrt(static_cast<double>(depth_));
    Tensor keys;
    const bool in_three = below(2) == 0;
    switch (below(4)) {
      case 0: keys = k.transpose(2, 3); break;
      case 1:
        q = q * factor;
        keys = k.transpose(2, 3);
        break;
      case 2:
        q = q * 0.5;
        keys = k.transpose(2, 3) * (2 * factor);
        break;
      default: keys = (k / 2.0).transpose(2, 3); q = 3.0 * q;
    }
    Tensor scores;
    if (in_three)
      scores = matmul(q.reshape({batch_ * heads_, rows_, depth_}),
                      keys.reshape({batch_ * heads_, depth_, keys_}))
                   .reshape({batch_, heads_, rows_, keys_});
    else
      scores = matmul(q, keys);
    if (below(3) == 0) scores = tanh(scores / 3.0) * (below(2) == 0 ? 2.0 : -2.0);
    for (std::int64_t more = below(4); more > 0; --more) {
      switch (below(9)) {
        case 6: scores = changed(scores, input(f32, some_of_scores())); break;
        case 7: scores = changed(scores, places().to(f32)); break;
        case 8: scores = scores + where(remainder(places(), 3) == 1, 0.5, -0.5); break;
        case 0: scores = scores * 0.7; break;
        case 1: scores = scores / 1.5; break;
        case 2: scores = scores + input(f32, some_of_scores()); break;
        case 3: scores = input(f32, some_of_scores()) + scores; break;
        case 4: scores = scores - input(f32, some_of_scores()); break;
        default: scores = chosen(scores, input(DType::boolean, some_of_scores()));
      }
    }
    const std::int64_t unseen = below(4);
    Tensor weights = unseen == 2 ? safe_softmax(scores, -1) : softmax(scores, -1);
    switch (unseen) {
      case 0: weights = where(all(scores == none, {-1}, true), 0.0, weights); break;
      case 1:
        weights = where(logical_not(any(logical_not(scores == none), {-1}, true)), 0.0, weights);
        break;
      default: break;
    }
    if (!in_three) return matmul(weights, v);
    return matmul(weights.reshape({batch_ * heads_, rows_, keys_}),
                  v.reshape({batch_ * heads_, keys_, depth_}));
  }

  std::vector<graph::HostTensor> values() {
    std::vector<graph::HostTensor> all;
    for (const graph::ValueType& type : types_) {
      graph::HostTensor value(type.dtype, type.shape);
      for (std::int64_t i = 0; i < value.count(); ++i) {
        const double number = static_cast<double>(below(2001) - 1000) / 500;
        value.set_number(i, is_boolean(type.dtype) ? static_cast<double>(below(2)) : number);
      }
      all.push_back(std::move(value));
    }
    return all;
  }

 private:
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  Tensor for_each_head(const Tensor& x) {
    if (heads_ == groups_) return x;
    return x.unsqueeze(2)
        .expand({batch_, groups_, heads_ / groups_, keys_, depth_})
        .reshape({batch_, heads_, keys_, depth_});
  }
  Shape some_of_scores() {
    Shape shape{batch_, heads_, rows_, keys_};
    for (std::int64_t& size : shape)
      if (below(2) == 0) size = 1;
    return shape;
  }
  // A value computed from all positions; some from one or two axes alone.
  Tensor places() {
    const Tensor rows = arange(0, rows_).reshape({rows_, 1}), keys = arange(0, keys_),
                 heads = arange(0, heads_, 1, i32).reshape({heads_, 1, 1}).to(i64);
    switch (below(4)) {
      case 0: return rows - keys;
      case 1: return abs(rows * 2 - keys) + heads;
      case 2: return maximum(keys, rows);
      default: return heads * keys;
    }
  }
  // No sum, product with a number, mask or cap.
  Tensor changed(const Tensor& scores, const Tensor& by) {
    switch (below(4)) {
      case 0: return scores * by;
      case 1: return silu(scores) + by;
      case 2: return where(scores > by, scores, scores * 0.25);
      default: return abs(scores - by) * -1.0 + scores;
    }
  }
  Tensor chosen(const Tensor& scores, const Tensor& mask) {
    switch (below(4)) {
      case 0: return where(mask, scores, none);
      case 1: return where(mask, none, scores);
      case 2: return scores + where(mask, 0.0, none);
      default: return where(mask, scores, std::numeric_limits<float>::lowest());
    }
  }

  std::mt19937 random_;
  std::int64_t batch_, groups_, heads_, rows_, keys_, depth_;
  std::vector<graph::ValueType> types_;
};

int count(const graph::Graph& graph, graph::Op op) {
  return static_cast<int>(std::ranges::count(graph.nodes, op, &graph::Node::op));
}

TEST(FormAttention, OfWhateverIsWrittenOut) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Writing writing(seed);
    graph::Capture capture;
    const Tensor result = writing.write(capture);
    const graph::Graph written = capture.finish({result}).graph;
    const graph::Graph formed = dead_code(form_attention(written));
    verify(formed);
    ASSERT_EQ(count(formed, graph::Op::attention), 1) << print(written);
    ASSERT_EQ(count(formed, graph::Op::matmul), 0) << print(formed);
    const std::vector<graph::HostTensor> inputs = writing.values();
    const graph::HostTensor wanted =
                                evaluate(written, inputs, graph::Rounding::double_).outputs.at(0),
                            actual =
                                evaluate(formed, inputs, graph::Rounding::double_).outputs.at(0);
    ASSERT_EQ(actual.shape, wanted.shape);
    for (std::int64_t i = 0; i < wanted.count(); ++i) {
      if (std::isnan(wanted.number(i)))
        ASSERT_TRUE(std::isnan(actual.number(i))) << i << print(written) << print(formed);
      else
        ASSERT_NEAR(actual.number(i), wanted.number(i), 1e-6) << i << print(written);
    }
  }
}

// Masks of many bits are put together in as many.
TEST(FormAttention, KeepsTheBitsOfMasks) {
  const Tensor q = full({1, 1, 1, 1}, 1.0, f64), v = arange(0, 2).to(f64).reshape({1, 1, 2, 1});
  const Tensor k = Tensor::from(std::vector<double>{0.1, 0.2}, {1, 1, 2, 1}),
               mask = Tensor::from(std::vector<double>{0.1, 0.7}, {1, 1, 1, 2});
  auto attend = [](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& m) {
    Tensor scores = (matmul(a, b.transpose(2, 3)) - m) * 0.5;
    return matmul(softmax(where(m < 2.0, scores, -1e300), -1), c);
  };
  Compiled compiled = compile(attend, {});
  const double wanted = 1 / (1 + std::exp(0.25));
  EXPECT_NEAR(compiled(q, k, v, mask).to_vector<double>().at(0), wanted, 1e-14);
  EXPECT_NEAR(compiled(q, k, v, mask * 1e300).to_vector<double>().at(0), 0.5, 1e-14);
  ASSERT_EQ(compiled.report().front().regions.back().kind, "attention");
}

// The programs of one serve other sizes, and other numbers of what is seen.
TEST(FormAttention, ServesManySizesByFewPrograms) {
  auto encode = [](const Tensor& x, const Tensor& lengths) {
    const std::int64_t batch = x.size(0), length = x.size(1);
    Tensor heads = x.reshape({batch, length, 4, 16}).permute({0, 2, 1, 3});
    Tensor scores = matmul(heads, heads.transpose(2, 3)) / 4.0;
    Tensor seen = arange(0, length) < lengths.reshape({batch, 1, 1, 1});
    Tensor mixed = matmul(softmax(where(seen, scores, none), -1), heads);
    return mixed.permute({0, 2, 1, 3}).reshape({batch, length, 64});
  };
  Compiled compiled = compile(encode, {.dynamic = Dynamic::always, .device = Device::cpu()});
  auto programs = [&] {
    std::set<std::string> keys;
    for (const PlanReport& plan : compiled.report())
      for (const RegionReport& region : plan.regions) {
        EXPECT_NE(region.kind, "product");
        if (region.kind == "attention") keys.insert(region.key);
      }
    return keys;
  };
  for (auto [batch, length] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
           {2, 70}, {3, 81}, {5, 123}, {2, 97}, {7, 255}}) {
    Tensor x = sin(ramp({batch, length, 64}));
    Tensor lengths = arange(0, batch) * 7 + 5;
    EXPECT_LE(relative_difference(compiled(x, lengths).to_vector<float>(),
                                  encode(x, lengths).to_vector<float>()),
              2e-6);
  }
  EXPECT_EQ(programs().size(), 1);
}

// Masks of many places that are added: a choice of what is seen is one still, for causal rows to be
// found; a sum is computed within the attention, and where its function is too long, before it.
TEST(FormAttention, OfLargeMasks) {
  auto formed =
      [](const std::function<Tensor(const Tensor&, const Tensor&, graph::Capture&)>& mask) {
        graph::Capture capture;
        const Tensor q = capture.placeholder(f32, {1, 1, 600, 8});
        const Tensor rows = arange(0, 600).reshape({600, 1}), keys = arange(0, 600);
        const Tensor scores = matmul(q, q.transpose(2, 3)) + mask(rows, keys, capture);
        return dead_code(
            place_masks(form_attention(capture.finish({matmul(softmax(scores, -1), q)}).graph)));
      };
  auto attention_of = [](const graph::Graph& graph) {
    return *std::ranges::find(graph.nodes, graph::Op::attention, &graph::Node::op);
  };
  const graph::Graph causal = formed([](const Tensor& rows, const Tensor& keys, graph::Capture&) {
    return where(keys <= rows, 0.0, none);
  });
  ASSERT_EQ(count(causal, graph::Op::attention), 1);
  EXPECT_TRUE(attention_of(causal).attributes.causal);
  EXPECT_TRUE(attention_of(causal).attributes.bodies.empty());
  const graph::Graph sum = formed([](const Tensor& rows, const Tensor& keys, graph::Capture&) {
    return (keys - rows).to(f32) * 0.5;
  });
  ASSERT_EQ(count(sum, graph::Op::attention), 1);
  EXPECT_FALSE(attention_of(sum).attributes.bodies.empty());
  const graph::Graph long_sum =
      formed([](const Tensor& rows, const Tensor& keys, graph::Capture& capture) {
        Tensor total = (keys - rows).to(f32);
        for (int each = 0; each < 8; ++each)
          total = total * capture.placeholder(f32, {600, 1}) + 1.0;
        return total;
      });
  ASSERT_EQ(count(long_sum, graph::Op::attention), 1);
  EXPECT_TRUE(attention_of(long_sum).attributes.bodies.empty());
}

}  // namespace
}  // namespace tilewright::form_attention_test
