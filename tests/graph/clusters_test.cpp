// Programs that run together on Hopper: parts of few long rows, products that share operands.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "runtime/base/half.h"
#include "tests/errors.h"

namespace tilewright::graph::clusters_test {
namespace {

using Function = Tensor (*)(const Tensor&, const Tensor&);

std::shared_ptr<const Plan> plan_of(Function function, DType dtype, const Shape& x, const Shape& y,
                                    const PlanOptions& options) {
  Capture capture;
  Tensor a = capture.placeholder(dtype, x), b = capture.placeholder(dtype, y);
  return make_plan(run_passes(capture.finish({function(a, b)}).graph), options);
}

PlanOptions on(const char* target, std::int64_t cluster = 0) {
  PlanOptions options{.device = Device::emulated(target)};
  options.blocks.cluster = cluster;
  return options;
}

std::string text_of(Function function, const Shape& x, const char* target = "sm_90a") {
  PlanOptions options = on(target);
  options.interpret = true;
  return plan_of(function, DType::f32, x, {x[1]}, options)->program_text(0);
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Tensor softmax_of(const Tensor& x, const Tensor&) { return softmax(x, -1); }
Tensor norm_of(const Tensor& x, const Tensor& w) { return rms_norm(x, w); }
Tensor layer_norm_of(const Tensor& x, const Tensor& w) { return layer_norm(x, w, w); }
Tensor log_sum_of(const Tensor& x, const Tensor&) {
  Tensor top = amax(x, {-1}, true);
  return top + log(sum(exp(x - top), {-1}, true));
}
Tensor product_of(const Tensor& x, const Tensor& y) { return relu(matmul(x, y)); }

TEST(Clusters, HoldARowInTheRegistersOfSeveralPrograms) {
  std::string text = text_of(softmax_of, {32, 131'072});
  expect_contains(text, " cluster 8 {");
  EXPECT_EQ(count(text, "cluster_reduce"), 2);
  EXPECT_EQ(count(text, "load_desc"), 1);  // once, and for good
  EXPECT_EQ(count(text, "= exp2 "), 1);
  EXPECT_EQ(count(text, "loop "), 0);
  EXPECT_EQ(count(text_of(norm_of, {32, 65'536}), "cluster_reduce"), 1);
}

TEST(Clusters, AreForRowsThatOneProgramCannotHold) {
  expect_contains(text_of(softmax_of, {512, 131'072}), " cluster 8 {");
  expect_contains(text_of(softmax_of, {512, 65'536}), " cluster 4 {");
  // Shares that are no tile would need a mask for each element.
  EXPECT_EQ(count(text_of(softmax_of, {512, 40'000}), "cluster"), 0);
  EXPECT_EQ(count(text_of(softmax_of, {512, 16'384}), "cluster"), 0);
  EXPECT_EQ(count(text_of(softmax_of, {512, 131'073}), "cluster"), 0);
  EXPECT_EQ(count(text_of(softmax_of, {512, 131'072}, "sm_80"), "cluster"), 0);
}

TEST(Clusters, AreForFewLongRows) {
  EXPECT_EQ(count(text_of(log_sum_of, {512, 131'072}), "cluster"), 0);
  expect_contains(text_of(log_sum_of, {32, 131'072}), " cluster 4 {");
  expect_contains(text_of(log_sum_of, {64, 131'072}), " cluster 2 {");
  expect_contains(text_of(softmax_of, {64, 262'144}), " cluster 2 {");
}

std::vector<float> noise(std::size_t count, std::uint32_t seed) {
  std::vector<float> x(count);
  for (float& e : x) {
    seed = seed * 1664525 + 1013904223;
    e = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return x;
}

// Held in registers, an equal share each; in several pieces each; by one program.
void expect_rows_in_parts(std::int64_t width) {
  const std::int64_t rows = 3;
  std::vector<float> x = noise(rows * width, 1), w = noise(width, 2);
  x[5] = 20;
  x[width + 30'000] = 30;
  void* inputs[] = {x.data(), w.data()};
  for (Function f : {softmax_of, norm_of, layer_norm_of, log_sum_of}) {
    auto run = [&](const PlanOptions& options) {
      auto plan = plan_of(f, DType::f32, {rows, width}, {width}, options);
      auto buffer = plan->run(inputs)[0];
      auto* data = static_cast<const float*>(buffer->data());
      return std::vector<float>(data, data + (f == log_sum_of ? rows : rows * width));
    };
    std::vector<float> expected = run({.device = Device::cpu()});
    for (std::int64_t cluster : {8, 4, 2, 1}) {
      std::vector<float> actual = run(on("sm_90a", cluster));
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], 2e-5 * (1 + std::abs(expected[i])))
            << cluster << " programs, element " << i;
    }
  }
}

TEST(Clusters, ComputeRowsOfEqualShares) { expect_rows_in_parts(32'768); }
TEST(Clusters, ComputeRowsThatAreWholeChunksAndNoEqualShares) { expect_rows_in_parts(40'960); }
TEST(Clusters, ComputeRowsInParts) { expect_rows_in_parts(36'005); }

TEST(Clusters, OfProductsComputeTheSame) {
  std::vector<std::uint16_t> x(300 * 136), y(136 * 264);
  auto fill = [](std::vector<std::uint16_t>& to, std::uint32_t seed) {
    std::vector<float> from = noise(to.size(), seed);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = BFloat16(from[i]).bits;
  };
  fill(x, 1);
  fill(y, 2);
  void* inputs[] = {x.data(), y.data()};
  auto run = [&](std::int64_t cluster) {
    PlanOptions options = on("sm_90a", cluster);
    options.blocks.rows = 128;
    options.blocks.columns = 128;
    options.blocks.splits = 1;
    auto plan = plan_of(product_of, DType::bf16, {300, 136}, {136, 264}, options);
    EXPECT_EQ(count(plan->program_text(0), " cluster 2 {"), cluster == 2 ? 1 : 0);
    auto buffer = plan->run(inputs)[0];
    auto* data = static_cast<const std::uint16_t*>(buffer->data());
    return std::vector<std::uint16_t>(data, data + 300 * 264);
  };
  EXPECT_TRUE(run(1) == run(2));
}

// Blocks of rows that see the same keys.
TEST(Clusters, OfAttentionComputeTheSame) {
  const std::size_t size = 2 * 300 * 64;
  std::vector<std::uint16_t> q(size), k(size);
  std::vector<float> from = noise(2 * size, 5);
  for (std::size_t i = 0; i < size; ++i) {
    q[i] = BFloat16(from[i]).bits;
    k[i] = BFloat16(from[size + i]).bits;
  }
  void* inputs[] = {q.data(), k.data()};
  auto attend = [](const Tensor& x, const Tensor& y) {
    return scaled_dot_product_attention(x, y, y);
  };
  auto run = [&](std::int64_t cluster) {
    Shape shape{1, 2, 300, 64};
    auto plan = plan_of(attend, DType::bf16, shape, shape, on("sm_90a", cluster));
    EXPECT_EQ(count(plan->program_text(0), " cluster 2 {"), cluster == 2 ? 1 : 0);
    auto buffer = plan->run(inputs)[0];
    auto* data = static_cast<const std::uint16_t*>(buffer->data());
    return std::vector<std::uint16_t>(data, data + size);
  };
  EXPECT_TRUE(run(1) == run(2));
}

}  // namespace
}  // namespace tilewright::graph::clusters_test
