// Products whose last tiles are shared along the inner axis (graph/lower/stream_k.h): of random
// sizes, that tiles do not divide, they are what the graph means, and the same in every run.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/passes/pipeline.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor.h"
#include "tests/property/error_bound.h"
#include "tests/property/plan_run.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::stream_k_test {
namespace {

struct Product {
  std::string name;
  Graph graph;
  std::vector<HostTensor> inputs;
  BlockSizes blocks;
};

HostTensor noise(std::mt19937_64& engine, DType dtype, const Shape& shape) {
  HostTensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_number(i, static_cast<double>(engine() >> 11) * 0x1p-52 - 1);
  round_to(tensor, dtype);
  return tensor;
}

Product random_product(std::uint64_t seed) {
  std::mt19937_64 engine(seed * 0x9e3779b97f4a7c15 + 7);
  auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(engine() % n); };
  DType dtype = std::vector{bf16, f16, f32}[below(3)];
  bool whole = below(3) == 0;  // sizes that TMA and vectors can take
  auto size = [&](std::uint64_t most) {
    return whole ? 16 + 16 * below(most / 16) : 3 + below(most);
  };
  std::int64_t form = below(4), rows = size(200), columns = size(200), depth = size(250);
  Capture capture;
  std::vector<Tensor> x;
  Product result;
  auto input = [&](const Shape& shape) {
    x.push_back(capture.placeholder(dtype, shape));
    result.inputs.push_back(noise(engine, dtype, shape));
    return x.back();
  };
  Tensor y;
  if (form == 0) {
    std::int64_t batch = 2 + below(2);
    Tensor a = input({batch, rows / 2 + 1, depth});
    y = matmul(a, input({batch, depth, columns / 2 + 1}));
  } else {
    Tensor a = input({rows, depth});
    if (form == 1) y = matmul(a, input({depth, columns}));
    if (form == 2) {
      Tensor b = input({columns, depth});
      y = relu(linear(a, b, input({columns}))) + input({rows, columns});
    }
    if (form == 3) {
      Tensor b = input({columns, depth});
      y = linear(a, b) * linear(a, input({columns, depth}));
    }
  }
  result.graph = run_passes(capture.finish({std::move(y)}).graph);
  std::int64_t tile = std::vector<std::int64_t>{16, 32, 64}[below(3)];
  result.blocks = {.rows = tile, .columns = below(2) == 0 ? tile : 64 - tile / 2, .depth = 16};
  if (whole && below(2) == 0) result.blocks = {.rows = 64, .columns = 64, .depth = 64};
  result.blocks.splits = below(4) == 0 ? 0 : 2 + below(4);
  result.blocks.tail = 1 + below(3);
  result.blocks.cluster = 2 * below(2);  // on Hopper
  result.name = concat(x.front().dtype(), " form ", form, ", ", rows, " x ", columns, " x ", depth,
                       ", tiles of ", result.blocks.rows, " x ", result.blocks.columns, ", tail ",
                       result.blocks.tail, ", splits ", result.blocks.splits);
  return result;
}

bool has_stream_k(const Product& product, PlanOptions options) {
  options.interpret = true;
  auto plan = make_plan(product.graph, options);
  return std::ranges::any_of(plan->programs(), [](const PlanProgram& program) {
    return program.name.starts_with("partial_tail");
  });
}

void expect_products_with_tails(const char* target, bool interpret, std::uint64_t cases) {
  std::uint64_t seen = 0;
  for (std::uint64_t seed : seeds_of_test(cases)) {
    Product product = random_product(seed);
    PlanForm form{{.interpret = interpret, .device = Device::emulated(target)}, false, target};
    form.options.blocks = product.blocks;
    seen += has_stream_k(product, form.options);
    BoundedEvaluation expected = bounded_evaluate(product.graph, product.inputs);
    Evaluation actual = run_planned(product.graph, product.inputs, form);
    ASSERT_EQ(violation(expected.outputs[0], actual.outputs[0]), "") << product.name << "\n"
                                                                     << reproduction(seed);
    Evaluation again = run_planned(product.graph, product.inputs, form);
    ASSERT_EQ(actual.outputs[0].floating, again.outputs[0].floating) << product.name;
  }
  EXPECT_GE(10 * seen, 7 * cases);
}

TEST(StreamKProducts, InterpretedComputeWhatTheGraphMeans) {
  expect_products_with_tails("sm_90a", true, 24);
}
TEST(StreamKProducts, ForSm80AndEmulatedComputeWhatTheGraphMeans) {
  expect_products_with_tails("sm_80", false, 24);
}
TEST(StreamKProducts, ForSm90aAndEmulatedComputeWhatTheGraphMeans) {
  expect_products_with_tails("sm_90a", false, 24);
}

}  // namespace
}  // namespace tilewright::graph::stream_k_test
