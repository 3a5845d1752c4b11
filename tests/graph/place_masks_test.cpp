// Masks that say by places what a row sees become causal rows and windows, however they are
// written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "graph/compile/compile.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/ir/evaluate.h"
#include "graph/ir/text.h"
#include "graph/passes/passes.h"
#include "graph/tensor/capture.h"
#include "tests/tensors.h"

namespace tilewright::place_masks_test {
namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

// Attention under a mask, written in a way that a seed chooses.
class Writing {
 public:
  explicit Writing(std::uint32_t seed) : random_(seed) {
    batch_ = 1 + below(2);
    heads_ = 1 + below(2);
    rows_ = 1 + below(6);
    keys_ = 1 + below(7);
  }

  Tensor write(graph::Capture& capture) {
    auto input = [&](DType dtype, const Shape& shape) {
      types_.push_back({dtype, shape});
      return capture.placeholder(dtype, shape);
    };
    Tensor q = input(f32, {batch_, heads_, rows_, 4}), k = input(f32, {batch_, heads_, keys_, 4});
    Tensor v = input(f32, {batch_, heads_, keys_, 4});
    Tensor seen = condition();
    if (below(3) == 0) {  // some are hidden by what is only known later
      hides_more_ = true;
      Tensor padding = input(DType::boolean, {batch_, 1, 1, keys_});
      seen = below(2) == 0 ? logical_and(seen, padding) : logical_and(padding, seen);
    }
    Tensor mask = seen;
    switch (below(4)) {
      case 0: mask = where(seen, 0.0, none); break;
      case 1: mask = where(logical_not(seen), none, 0.0); break;
      case 2: mask = where(seen, 0.0, std::numeric_limits<float>::lowest()); break;
      default: break;
    }
    return scaled_dot_product_attention(q, k, v, {.mask = mask});
  }
  bool hides_more() const { return hides_more_; }
  bool has_places() const { return rows_ > 1 && keys_ > 1; }

  std::vector<graph::HostTensor> values() {
    std::vector<graph::HostTensor> all;
    for (const graph::ValueType& type : types_) {
      graph::HostTensor value(type.dtype, type.shape);
      for (std::int64_t i = 0; i < value.count(); ++i)
        value.set_number(i, is_boolean(type.dtype) ? static_cast<double>(below(4) != 0)
                                                   : static_cast<double>(below(2001) - 1000) / 500);
      all.push_back(std::move(value));
    }
    return all;
  }

 private:
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  // Keys up to a row's own place, and perhaps no further back than a window.
  Tensor condition() {
    const std::int64_t past =
        below(4) == 0 ? below(5) - 2 : keys_ - rows_ + (below(2) == 0 ? 0 : 1);
    Tensor row = arange(0, rows_) + past, key = arange(0, keys_);
    if (below(2) == 0) {  // as a gather of what numbers the places
      Tensor places = arange(0, rows_ + keys_).unsqueeze(0).expand({2, rows_ + keys_});
      row = index_select(places.reshape({-1}), 0, arange(0, rows_) + rows_ + keys_) + past;
    }
    row = row.unsqueeze(1);
    Tensor seen;
    switch (below(5)) {
      case 0: seen = key <= row; break;
      case 1: seen = row >= key; break;
      case 2: seen = logical_not(key > row); break;
      case 3: seen = 2 * key < 2 * row + 1; break;
      default: seen = key - row < 1;
    }
    if (below(3) == 0) {
      const std::int64_t window = 1 + below(4);
      Tensor recent = below(2) == 0 ? key > row - window : logical_not(row - key >= window);
      seen = logical_and(seen, recent);
    }
    switch (below(3)) {
      case 0: return seen;
      case 1: return seen.unsqueeze(0).unsqueeze(0);
      default:  // of each of a batch
        return seen.unsqueeze(0).expand({batch_, rows_, keys_}).unsqueeze(1);
    }
  }

  std::mt19937 random_;
  std::int64_t batch_, heads_, rows_, keys_;
  bool hides_more_ = false;
  std::vector<graph::ValueType> types_;
};

TEST(PlaceMasks, MeansTheSameHoweverAMaskIsWritten) {
  int placed = 0, left = 0;
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Writing writing(seed);
    graph::Capture capture;
    const Tensor result = writing.write(capture);
    const graph::Graph written = capture.finish({result}).graph;
    const graph::Graph after = dead_code(place_masks(decide_by_places(written)));
    verify(after);
    const auto attention = std::ranges::find(after.nodes, graph::Op::attention, &graph::Node::op);
    ASSERT_NE(attention, after.nodes.end());
    if (writing.has_places()) {
      const bool is_placed = attention->operands.size() == 3;
      (is_placed ? placed : left) += 1;
      if (writing.hides_more()) EXPECT_FALSE(is_placed) << print(after);
    }
    const std::vector<graph::HostTensor> inputs = writing.values();
    const graph::HostTensor wanted =
                                evaluate(written, inputs, graph::Rounding::double_).outputs.at(0),
                            actual =
                                evaluate(after, inputs, graph::Rounding::double_).outputs.at(0);
    for (std::int64_t i = 0; i < wanted.count(); ++i)
      ASSERT_NEAR(actual.number(i), wanted.number(i), 1e-9) << i << print(written) << print(after);
  }
  EXPECT_GT(placed, 200);
  EXPECT_GT(left, 100);
}

// As exporters write it: a mask for the rows that a text has so far, without padding.
TEST(PlaceMasks, ServesManySizesByFewPrograms) {
  auto attend = [](const Tensor& x) {
    const std::int64_t batch = x.size(0), length = x.size(1), past = 3;
    Tensor heads = x.reshape({batch, length, 4, 16}).permute({0, 2, 1, 3});
    Tensor keys = cat({heads.slice(2, 0, past), heads}, 2);
    Tensor row = (arange(0, length) + past).unsqueeze(1);
    Tensor mask = where(arange(0, length + past) <= row, 0.0, none);
    return softmax(matmul(heads, keys.transpose(2, 3)) / 4.0 + mask, -1);
  };
  auto mixed = [&](const Tensor& x) {
    const std::int64_t batch = x.size(0), length = x.size(1);
    Tensor heads = x.reshape({batch, length, 4, 16}).permute({0, 2, 1, 3});
    return matmul(attend(x), cat({heads.slice(2, 0, 3), heads}, 2));
  };
  Compiled compiled = compile(mixed, {.dynamic = Dynamic::always, .device = Device::cpu()});
  std::set<std::string> keys;
  for (auto [batch, length] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
           {2, 70}, {3, 81}, {5, 123}, {2, 97}, {7, 255}}) {
    Tensor x = sin(ramp({batch, length, 64}));
    EXPECT_LE(relative_difference(compiled(x).to_vector<float>(), mixed(x).to_vector<float>()),
              2e-6);
  }
  for (const PlanReport& plan : compiled.report())
    for (const RegionReport& region : plan.regions)
      if (region.kind == "attention") keys.insert(region.key);
  EXPECT_EQ(keys.size(), 1);
}

}  // namespace
}  // namespace tilewright::place_masks_test
