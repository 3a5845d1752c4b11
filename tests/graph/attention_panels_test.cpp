// Attention of many rows in bf16. Where the host has tiles, its keys and values become panels
// first.
#include <gtest/gtest.h>

#include <functional>

#include "graph/compile/compile.h"
#include "graph/lower/lower.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/tensor/capture.h"
#include "tests/graph/noise.h"

namespace tilewright::attention_panels_test {
namespace {

Tensor noise(const Shape& shape, std::uint32_t seed) {
  return testing_noise::noise(shape, seed).to(DType::bf16);
}

struct AttentionCase {
  std::int64_t batch, heads, key_heads, rows, keys, depth;
};

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// The same of the same numbers in f32, of which no product goes by tiles.
void expect_as_in_f32(const Function& f, const std::vector<Tensor>& inputs) {
  constexpr float tolerance = 1e-2F;
  CompiledFunction compiled([&](const std::vector<Tensor>& a) { return std::vector{f(a)}; }, {});
  std::vector<Tensor> wide;
  for (const Tensor& x : inputs) wide.push_back(x.dtype() == DType::bf16 ? x.to(DType::f32) : x);
  const auto actual = compiled.call(inputs)[0].to(DType::f32).to_vector<float>();
  const auto expected = f(wide).to_vector<float>();
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

TEST(AttentionPanels, AreWhatIsAttendedTo) {
  // Whole blocks of keys and others, as many rows as keys and fewer, of one block and of several.
  for (const AttentionCase& c : {AttentionCase{2, 4, 2, 128, 128, 64},
                                 {1, 2, 1, 100, 192, 32},
                                 {1, 2, 2, 200, 256, 128},
                                 {1, 4, 1, 64, 64, 64},
                                 {1, 2, 1, 130, 130, 64},
                                 {1, 2, 1, 128, 128, 48}})
    for (bool causal : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.rows << " rows, " << c.keys << " keys, " << causal);
      const std::vector<Tensor> inputs{noise({c.batch, c.heads, c.rows, c.depth}, 1),
                                       noise({c.batch, c.key_heads, c.keys, c.depth}, 2),
                                       noise({c.batch, c.key_heads, c.keys, c.depth}, 3)};
      expect_as_in_f32(
          [=](const std::vector<Tensor>& a) {
            AttentionOptions options{.causal = causal};
            if (causal) options.alignment = CausalAlignment::bottom_right;
            return scaled_dot_product_attention(a[0], a[1], a[2], options);
          },
          inputs);
    }
}

TEST(AttentionPanels, AreMadeOfWhatIsSeenOfACache) {
  for (std::int64_t position : {0, 60, 191}) {
    SCOPED_TRACE(position);
    expect_as_in_f32(
        [](const std::vector<Tensor>& a) {
          return scaled_dot_product_attention(a[0], a[1], a[2], {.causal = true, .position = a[3]});
        },
        {noise({1, 4, 65, 64}, 1), noise({1, 2, 256, 64}, 2), noise({1, 2, 256, 64}, 3),
         Tensor::from(std::vector<std::int64_t>{position}, {1})});
  }
}

TEST(AttentionPanels, AreMadeOfWhatEachTextOfABatchSees) {
  expect_as_in_f32(
      [](const std::vector<Tensor>& a) {
        return scaled_dot_product_attention(a[0], a[1], a[2], {.causal = true, .position = a[3]});
      },
      {noise({2, 4, 65, 64}, 1), noise({2, 2, 256, 64}, 2), noise({2, 2, 256, 64}, 3),
       Tensor::from(std::vector<std::int64_t>{100, 7}, {2})});
}

TEST(AttentionPanels, AreSeenThroughAWindow) {
  for (std::int64_t window : {1, 70, 500}) {
    SCOPED_TRACE(window);
    expect_as_in_f32(
        [=](const std::vector<Tensor>& a) {
          return scaled_dot_product_attention(a[0], a[1], a[2], {.causal = true, .window = window});
        },
        {noise({1, 4, 192, 64}, 1), noise({1, 2, 192, 64}, 2), noise({1, 2, 192, 64}, 3)});
  }
}

// Whole blocks alone become panels: the rest of one would have to be filled up.
TEST(AttentionPanels, AreOfWholeBlocksOfKeys) {
  auto programs = [](std::int64_t keys) {
    graph::Capture capture;
    Tensor q = capture.placeholder(DType::bf16, {1, 2, 128, 64}),
           k = capture.placeholder(DType::bf16, {1, 2, keys, 64}),
           v = capture.placeholder(DType::bf16, {1, 2, keys, 64});
    const graph::Graph graph =
        run_passes(capture.finish({scaled_dot_product_attention(q, k, v)}).graph);
    const graph::TaskList list = make_tasks(graph);
    std::vector<std::string> names;
    for (const graph::LoweredProgram& program :
         lower(list, fuse_tasks(list, true)[0].region, dsl::target_named("amx")).programs)
      names.push_back(program.function.name);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(programs(128), (Names{"attention_panels", "attention"}));
  EXPECT_EQ(programs(130), Names{"attention"});
}

}  // namespace
}  // namespace tilewright::attention_panels_test
