// Operations of the user's own, at once and inside compiled functions.
#include "graph/functions/custom/custom_op.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "graph/compile/compile.h"
#include "graph/custom/definition.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/ir/text.h"
#include "tests/errors.h"
#include "tests/graph/custom_ops.h"
#include "tests/tensors.h"

namespace tilewright::custom_op_test {
namespace {

using namespace testing_custom_ops;

using ::testing::AllOf;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

// Each row less its mean: a kernel, a program of which has a row.
const CustomOp& centred() {
  static const dsl::Kernel kernel(
      "centred_rows", [](dsl::Pointer x, dsl::Pointer y, dsl::Scalar width, dsl::Constexpr block) {
        dsl::Tile i = dsl::cast(dsl::arange(0, block), i64);
        dsl::Tile at = dsl::program_id(0) * width + i;
        dsl::Tile row = dsl::load(x + at, i < width);
        dsl::Tile mean = dsl::sum(row, 0) / dsl::cast(width, f32);
        dsl::store(y + at, row - mean, i < width);
      });
  static const CustomOp op = custom_op(
      "centred", like_first,
      TileKernel{kernel, [](const CustomCall& call) {
                   const Shape& shape = call.operand(0).shape;
                   std::int64_t block = 1;
                   while (block < shape[-1]) block *= 2;
                   return TileLaunch{Grid(call.operand(0).count() / shape[-1]), {shape[-1], block}};
                 }});
  return op;
}

// The largest element and the sum of each row, by C++.
const CustomOp& row_facts() {
  static const CustomOp op = custom_op(
      "row_facts",
      [](std::span<const TensorType> operands) {
        Shape rows = operands[0].shape;
        rows.pop_back();
        return std::vector<TensorType>{{operands[0].dtype, rows}, {operands[0].dtype, rows}};
      },
      BufferFunction([](std::span<const BufferView> operands, std::span<const BufferView> results) {
        std::span<const float> x = operands[0].elements<const float>();
        const auto width = static_cast<std::size_t>(operands[0].type.shape[-1]);
        for (std::size_t row = 0; row * width < x.size(); ++row) {
          std::span<const float> one = x.subspan(row * width, width);
          results[0].elements<float>()[row] = *std::ranges::max_element(one);
          float sum = 0;
          for (float element : one) sum += element;
          results[1].elements<float>()[row] = sum;
        }
      }));
  return op;
}

TEST(CustomOp, RunsAtOnceByEachImplementation) {
  Tensor x = ramp({3, 10}), by = Tensor::scalar(1.5F);
  expect_near(swish()(x, by), x * sigmoid(x * 1.5));
  expect_near(centred()(x), x - mean(x, {1}, true));
  std::vector<Tensor> facts = row_facts().all({x});
  expect_near(facts[0], amax(x, {1}));
  expect_near(facts[1], sum(x, {1}));
}

TEST(CustomOp, TakesAnyNumberOfOperandsByOneSpelling) {
  using dsl::Tile;
  const CustomOp six = custom_op("six", elementwise([](Tile a, Tile b, Tile c, Tile d, Tile e,
                                                       Tile f) { return a + b * c - d * e * f; }));
  const Tensor x = ramp({3, 5}), row = ramp({5}, 0.5F);
  auto call = [&](const Tensor& t) { return six(t, row, 2.0, t, row, 3); };
  const Tensor expected = x + row * 2.0 - x * row * 3.0;
  expect_near(call(x), expected);
  expect_near(compile(call)(x), expected);
  expect_near(six(x, row, 2.0, x, x[0], row + 0.0), x + row * 2.0 - x * x[0] * row);
  // As many as there are.
  const CustomOp total = custom_op(
      "total", like_first,
      BufferFunction([](std::span<const BufferView> operands, std::span<const BufferView> results) {
        std::ranges::fill(results[0].elements<float>(), 0.0F);
        for (const BufferView& operand : operands)
          for (std::size_t i = 0; i < operand.elements<const float>().size(); ++i)
            results[0].elements<float>()[i] += operand.elements<const float>()[i];
      }));
  expect_near(total(x, x, x, x, x, x, x, x, x, x, x, x), x * 12.0);
  expect_near(total.all(std::vector<Tensor>(1000, ones({2})))[0], full({2}, 1000.0));
  const std::string at = concat("custom_op_test.cpp:", __LINE__ + 1);
  const std::string error = error_of([&] { six(x, x, x, x, x); });
  EXPECT_THAT(error, AllOf(HasSubstr("[six]"), HasSubstr(at)));
}

TEST(CustomOp, AnElementwiseOneFusesWithItsNeighbours) {
  auto f = compile([](const Tensor& x) { return relu(swish()(x * 2.0, x) + 1.0); });
  Tensor x = ramp({4, 33});
  Tensor wide = x * 2.0;
  expect_near(f(x), relu(wide * sigmoid(wide * x) + 1.0));
  EXPECT_EQ(launches(f), 1);
  EXPECT_THAT(f.explain(), HasSubstr("swish"));
}

TEST(CustomOp, OthersAreLaunchesOfTheirOwnThatReportsName) {
  auto f = compile([](const Tensor& x) {
    std::vector<Tensor> facts = row_facts().all({x * 2.0});
    return relu(centred()(x + 1.0)) + facts[0].reshape({3, 1}) - facts[1].reshape({3, 1});
  });
  Tensor x = ramp({3, 10}), y = x + 1.0;
  expect_near(f(x),
              relu(y - mean(y, {1}, true)) + amax(x * 2.0, {1}, true) - sum(x * 2.0, {1}, true));
  std::vector<std::string> kernels;
  const PlanReport report = f.report().at(0);
  for (const RegionReport& region : report.regions)
    if (region.kind == "custom")
      kernels.insert(kernels.end(), region.ops.begin(), region.ops.end());
  EXPECT_THAT(kernels, ::testing::UnorderedElementsAre("centred", "row_facts"));
  EXPECT_THAT(f.explain(), AllOf(HasSubstr("centred"), HasSubstr("row_facts")));
}

Tensor layer(const Tensor& x, const Tensor& w) {
  Tensor hidden = swish()(matmul(centred()(x), w), Tensor::scalar(1.5F));
  return hidden + row_facts().all({hidden})[0].reshape({hidden.size(0), 1});
}

TEST(CustomOp, GivesTheSameInAllModesAndBackends) {
  Tensor x = ramp({5, 16}), w = ramp({16, 24}), expected = layer(x, w);
  for (Mode mode : {Mode::default_, Mode::reduce_overhead, Mode::max_autotune_no_cudagraphs}) {
    auto f = compile(layer, {.mode = mode, .fullgraph = true, .tune_seconds = 0.05});
    for (int call = 0; call < 3; ++call) expect_near(f(x, w), expected);
  }
  for (Backend backend : {Backend::eager, Backend::aot_eager})
    expect_near(compile(layer, {.backend = backend})(x, w), expected);
}

TEST(CustomOp, SumsWhatTheGraphsInterpreterDoes) {
  graph::Graph graph;
  graph::GraphBuilder builder(graph);
  graph::NodeId x = builder.input(f32, {2, 6});
  graph::Attributes custom;
  custom.custom = graph::custom_named(centred().name());
  graph::NodeId y = builder.append(graph::Op::custom, {x}, custom);
  custom.custom = graph::custom_named(row_facts().name());
  graph::NodeId facts = builder.append(graph::Op::custom, {y}, custom);
  custom.custom = graph::custom_named(swish().name());
  graph::NodeId z = builder.append(graph::Op::custom_formula, {y, x}, custom);
  graph.outputs = {y, z};
  for (graph::NodeId id : builder.results_of(facts)) graph.outputs.push_back(id);
  EXPECT_EQ(graph::print(graph::parse(graph::print(graph))), graph::print(graph));
  Tensor input = ramp({2, 6});
  graph::HostTensor given(f32, {2, 6});
  for (std::int64_t i = 0; i < 12; ++i)
    given.set_number(i, double{input.to_vector<float>()[static_cast<std::size_t>(i)]});
  auto outputs = graph::evaluate(graph, std::span(&given, 1), graph::Rounding::double_).outputs;
  Tensor less = centred()(input);
  std::vector<Tensor> expected = {less, swish()(less, input)};
  for (Tensor& fact : row_facts().all({less})) expected.push_back(fact);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Floats elements = expected[i].to_vector<float>();
    for (std::size_t k = 0; k < elements.size(); ++k)
      EXPECT_NEAR(outputs[i].number(static_cast<std::int64_t>(k)), elements[k], 1e-5) << i;
  }
}

TEST(CustomOp, TakesOperandsThatAreViews) {
  Tensor x = ramp({10, 12});
  auto f = compile([](const Tensor& t) { return centred()(t.transpose(0, 1).slice(0, 2, 6)); });
  Tensor part = x.transpose(0, 1).slice(0, 2, 6).contiguous();
  expect_near(f(x), part - mean(part, {1}, true));
  expect_near(centred()(x.transpose(0, 1)), centred()(x.transpose(0, 1).contiguous()));
}

TEST(CustomOp, ByOperationsOnTensorsFusesAsThese) {
  CustomOp scaled =
      custom_op("scaled_softmax", like_first, GraphFunction([](std::span<const Tensor> x) {
                  return std::vector<Tensor>{softmax(x[0] * 0.5, -1)};
                }));
  auto f = compile([&](const Tensor& x) { return scaled(x + 1.0) * 3.0; });
  Tensor x = ramp({4, 20});
  expect_near(f(x), softmax((x + 1.0) * 0.5, -1) * 3.0);
  EXPECT_EQ(launches(f), 1);
  EXPECT_THAT(f.explain(), HasSubstr("scaled_softmax"));
  expect_near(scaled(x), softmax(x * 0.5, -1));
  // Where the graph breaks, what came before is compiled as well.
  auto broken = compile(
      [&](const Tensor& t) {
        Tensor y = scaled(t);
        return sum(y, {}).to_vector<float>()[0] > 0 ? y : t;
      },
      {.tell_breaks = false});
  expect_near(broken(x), softmax(x * 0.5, -1));
}

TEST(CustomOp, OfTheSameNameIsAnotherOne) {
  auto times = [](float factor) {
    return custom_op("times", elementwise([factor](dsl::Tile x) { return x * double{factor}; }));
  };
  CustomOp two = times(2), three = times(3);
  Tensor x = ramp({8});
  expect_near(two(x), x * 2.0);
  expect_near(three(x), x * 3.0);
  expect_near(compile([&](const Tensor& t) { return two(t) + three(t); })(x), x * 5.0);
}

TEST(CustomOp, OfElementsTakesANumberAsOtherOperationsDo) {
  const CustomOp product =
      custom_op("product", elementwise([](dsl::Tile a, dsl::Tile b) { return a * b; }));
  const Tensor x = ramp({3});
  EXPECT_EQ(product(x, 2).to_vector<float>(), (x * 2).to_vector<float>());
  EXPECT_EQ(product(x.to(bf16), 2.0).dtype(), bf16);
  EXPECT_EQ(product(3, x.to(f64)).dtype(), f64);
  auto compiled = compile([&](const Tensor& t) { return product(t, 2); });
  EXPECT_EQ(compiled(x).to_vector<float>(), (x * 2).to_vector<float>());
}

}  // namespace
}  // namespace tilewright::custom_op_test
