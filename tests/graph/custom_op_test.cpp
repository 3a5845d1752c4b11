// Operations of the user's own, at once and inside compiled functions.
#include "graph/functions/custom/custom_op.h"

#include <gmock/gmock.h>

#include "graph/compile/compile.h"
#include "graph/custom/definition.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/ir/text.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/tensors.h"

namespace tilewright::custom_op_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

std::vector<TensorType> like_first(std::span<const TensorType> operands) { return {operands[0]}; }

// x * sigmoid(x * by), by its elements.
const CustomOp& swish() {
  static const CustomOp op = custom_op(
      "swish", elementwise([](dsl::Tile x, dsl::Tile by) { return x * dsl::sigmoid(x * by); }));
  return op;
}

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

// Adds `by` to the tensor.
const CustomOp& add_in_place() {
  static const dsl::Kernel kernel(
      "add_to", [](dsl::Pointer x, dsl::Pointer by, dsl::Scalar n, dsl::Constexpr block) {
        dsl::Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
        dsl::store(x + i, dsl::load(x + i, i < n) + dsl::load(by + i, i < n), i < n);
      });
  static const CustomOp op =
      custom_op("add_in_place", like_first,
                TileKernel{kernel,
                           [](const CustomCall& call) {
                             std::int64_t n = call.operand(0).count();
                             return TileLaunch{Grid(dsl::cdiv(n, 64)), {n, std::int64_t{64}}};
                           }},
                {.writes = {0}});
  return op;
}

std::int64_t launches(const auto& function) { return function.report().at(0).launches; }

TEST(CustomOp, RunsAtOnceByEachImplementation) {
  Tensor x = ramp({3, 10}), by = Tensor::scalar(1.5F);
  expect_near(swish()(x, by), x * sigmoid(x * 1.5));
  expect_near(centred()(x), x - mean(x, {1}, true));
  std::vector<Tensor> facts = row_facts().all({x});
  expect_near(facts[0], amax(x, {1}));
  expect_near(facts[1], sum(x, {1}));
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

TEST(CustomOp, WritesItsFirstOperandInPlace) {
  Tensor x = ramp({100}), by = ramp({100}, 0.5F), expected = x + by;
  Tensor at_once = x.clone();
  add_in_place().all({at_once, by});
  expect_near(at_once, expected);
  auto f = compile([](const Tensor& target, const Tensor& other) {
    Tensor before = target * 1.0;
    add_in_place().all({target, other});
    return target - before;
  });
  Tensor compiled = x.clone();
  expect_near(f(compiled, by), by);
  expect_near(compiled, expected);
  // Another one is opaque, and writes where the argument lies.
  static const dsl::Kernel shift("shift", [](dsl::Pointer x, dsl::Scalar n) {
    for (dsl::Tile i : dsl::range(1, n, 1)) dsl::store(x + (i - 1), dsl::load(x + i));
  });
  CustomOp shifted = custom_op("shifted", like_first,
                               TileKernel{shift,
                                          [](const CustomCall& call) {
                                            return TileLaunch{Grid(1), {call.operand(0).count()}};
                                          }},
                               {.writes = {0}});
  auto g = compile([&](const Tensor& target) {
    Tensor before = target * 1.0;
    shifted.all({target});
    return before;
  });
  Tensor moved = x.clone();
  expect_near(g(moved), x);
  expect_near(moved.slice(0, 0, 99), x.slice(0, 1, 100));
  Tensor columns = ramp({4, 5}), turned = columns.transpose(0, 1).contiguous();
  Tensor view = columns.transpose(0, 1);
  shifted.all({view});
  shifted.all({turned});
  expect_near(view, turned);
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

TEST(CustomOp, ConfigurationsAreTimedAndKept) {
  dsl::Kernel kernel(
      "totals", [](dsl::Pointer x, dsl::Pointer y, dsl::Scalar width, dsl::Constexpr block) {
        dsl::Tile lane = dsl::cast(dsl::arange(0, block), i64), row = dsl::program_id(0) * width;
        dsl::Var total = dsl::zeros({block}, f32);
        for (dsl::Tile first : dsl::range(0, width, block))
          total = total + dsl::load(x + row + first + lane, first + lane < width);
        dsl::store(y + dsl::program_id(0), dsl::sum(total, 0));
      });
  CustomOp op = custom_op(
      "totals",
      [](std::span<const TensorType> operands) {
        return std::vector<TensorType>{{f32, {operands[0].shape[0]}}};
      },
      TileKernel{kernel,
                 [](const CustomCall& call) {
                   const Shape& shape = call.operand(0).shape;
                   return TileLaunch{Grid(shape[0]), {shape[1], call["block"]}};
                 },
                 {{{"block", 16}}, {{"block", 256}, {"num_warps", 4}}, {{"block", 1024}}}});
  auto f = compile([&](const Tensor& x) { return op(x); },
                   {.mode = Mode::max_autotune_no_cudagraphs, .tune_seconds = 0.2});
  Tensor x = ramp({20, 3000});
  EXPECT_LT(relative_difference(f(x).to_vector<float>(), sum(x, {1}).to_vector<float>()), 1e-5);
  if (default_device().is_emulated()) return;
  EXPECT_THAT(f.report().at(0).tuning, ::testing::Not(::testing::IsEmpty()));
}

// Its structure says so: every program loads its elements and stores one result for each.
TEST(CustomOp, AnElementwiseKernelFusesWithItsNeighbours) {
  static const dsl::Kernel kernel(
      "scale_add", [](dsl::Pointer x, dsl::Pointer y, dsl::Pointer out, dsl::Scalar n,
                      dsl::Scalar factor, dsl::Constexpr block) {
        dsl::Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
        dsl::Tile a = dsl::load(x + i, i < n), b = dsl::load(y + i, n > i);
        dsl::store(out + i, dsl::exp(a) * factor + b, i < n);
      });
  CustomOp op =
      custom_op("scale_add", like_first,
                TileKernel{kernel, [](const CustomCall& call) {
                             const std::int64_t n = call.operand(0).count();
                             return TileLaunch{Grid(dsl::cdiv(n, 64)), {n, 3.0F, std::int64_t{64}}};
                           }});
  Tensor x = ramp({7, 30}), y = ramp({7, 30}, 0.3F);
  auto f = compile([&](const Tensor& a, const Tensor& b) { return relu(op(a * 2.0, b) - 1.0); });
  expect_near(f(x, y), relu(exp(x * 2.0) * 3.0 + y - 1.0));
  EXPECT_EQ(launches(f), 1);
  EXPECT_THAT(f.explain(), HasSubstr("scale_add"));
  // Operands that are broadcast are not at the same elements.
  auto apart = compile([&](const Tensor& a, const Tensor& b) { return op(a * 2.0, b); },
                       {.fullgraph = true});
  expect_near(apart(x, y), exp(x * 2.0) * 3.0 + y);
}

// Which of these are no functions of single elements.
TEST(CustomOp, OtherKernelsStayLaunchesOfTheirOwn) {
  using namespace dsl;
  auto launches_with = [](const Kernel& kernel, std::int64_t programs) {
    CustomOp op = custom_op("stays", like_first,
                            TileKernel{kernel, [=](const CustomCall&) {
                                         return TileLaunch{Grid(programs), {std::int64_t{128}}};
                                       }});
    auto f = compile([&](const Tensor& x) { return relu(op(x * 2.0)); });
    f(ramp({128}));
    return launches(f);
  };
  auto index = [](std::int64_t block) {
    return program_id(0) * block + cast(arange(0, block), i64);
  };
  auto same = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + i, load(x + i, i < n) + 1.0, i < n);
  };
  EXPECT_EQ(launches_with(Kernel("same", same), 2), 1);
  auto unmasked = [=](Pointer x, Pointer y, Scalar) { store(y + index(64), load(x + index(64))); };
  EXPECT_EQ(launches_with(Kernel("unmasked", unmasked), 2), 1);
  auto turned_round = [](Pointer x, Pointer y, Scalar n) {
    Tile i = constant(ir::Scalar::of_integer(i64, 64)) * program_id(0) + cast(arange(0, 64), i64);
    store(y + i, load(x + i, i < n) + 1.0, i < n);
  };
  EXPECT_EQ(launches_with(Kernel("turned_round", turned_round), 2), 1);
  auto neighbours = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + i, load(x + i, i < n) + load(x + (i + 1), i + 1 < n), i < n);
  };
  EXPECT_EQ(launches_with(Kernel("neighbours", neighbours), 2), 3);
  auto places = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + i, load(x + i, i < n) + cast(i, f32), i < n);
  };
  EXPECT_EQ(launches_with(Kernel("places", places), 2), 3);
  auto reversed = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + (n - 1 - i), load(x + i, i < n), i < n);
  };
  EXPECT_EQ(launches_with(Kernel("reversed", reversed), 2), 3);
  auto half = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + i, load(x + i, i < n), i < n / 2);
  };
  EXPECT_EQ(launches_with(Kernel("half", half), 2), 3);
  auto added = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + i, load(x + i, i < n) + sum(load(x + i, i < n), 0), i < n);
  };
  EXPECT_EQ(launches_with(Kernel("added", added), 2), 3);
}

TEST(CustomOp, ALaunchInsideACompiledFunctionIsAPartOfIt) {
  static const dsl::Kernel add("add", [](dsl::Pointer x, dsl::Pointer y, dsl::Pointer out,
                                         dsl::Scalar n, dsl::Constexpr block) {
    dsl::Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
    dsl::store(out + i, dsl::load(x + i, i < n) + dsl::load(y + i, i < n), i < n);
  });
  static const dsl::Kernel running("running", [](dsl::Pointer x, dsl::Scalar width) {
    dsl::Tile at = dsl::program_id(0) * width;
    for (dsl::Tile i : dsl::range(1, width, 1))
      dsl::store(x + at + i, dsl::load(x + at + i) + dsl::load(x + at + i - 1));
  });
  auto function = [](const Tensor& x, const Tensor& y) {
    Tensor out = zeros({3, 40});
    add.launch([](const dsl::Config&) { return Grid(2); }, x * 2.0, y, out, 120, 64);
    Tensor sums = relu(out);
    running.launch(3, sums, 40);
    return sums * 0.5;
  };
  Tensor x = ramp({3, 40}), y = ramp({3, 40}, 0.02F);
  Tensor expected = cumsum(relu(x * 2.0 + y), 1) * 0.5;
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto f = compile(function, {.mode = mode, .fullgraph = true});
    Tensor first = f(x, y);
    EXPECT_LT(relative_difference(first.to_vector<float>(), expected.to_vector<float>()), 1e-5);
    Tensor again = f(y, x);
    EXPECT_LT(relative_difference(again.to_vector<float>(),
                                  (cumsum(relu(y * 2.0 + x), 1) * 0.5).to_vector<float>()),
              1e-5);
    EXPECT_EQ(launches(f), 3);  // add with relu, the running sum, and what follows
    EXPECT_THAT(f.explain(), HasSubstr("running"));
  }
}

// An argument that a kernel writes has the new value after the call.
TEST(CustomOp, ALaunchWritesAnArgument) {
  static const dsl::Kernel fill("fill", [](dsl::Pointer x, dsl::Scalar value, dsl::Scalar n) {
    dsl::Tile i = dsl::cast(dsl::arange(0, 64), i64);
    dsl::store(dsl::make_desc(x, {n}, {1}), {0}, dsl::splat(value, {64}));
    dsl::store(x + i, dsl::splat(value, {64}), i < n);
  });
  auto f = compile(
      [](const Tensor& x) {
        fill.launch(1, x, 2.5F, 50);
        return x + 1.0;
      },
      {.fullgraph = true});
  Tensor x = zeros({50});
  expect_near(f(x), full({50}, 3.5));
  expect_near(x, full({50}, 2.5));
  EXPECT_THAT(error_of([&] {
                compile([](const Tensor& t) {
                  fill.launch(-1, t, 2.5F, 50);
                  return t;
                })(x);
              }),
              HasSubstr("[fill] the grid is -1 x 1 x 1"));
}

// A block of Llama's, with its own operations or with custom ones in their places.
struct Block {
  bool is_custom;
  Tensor query = ramp({32, 32}), key = ramp({16, 32}), value = ramp({16, 32}, 0.02F),
         out = ramp({32, 32}, 0.015F), up = ramp({48, 32}), gate = ramp({48, 32}, 0.02F),
         down = ramp({32, 48});

  Tensor normed(const Tensor& x) const {
    return is_custom ? rms_rows()(x) : x * rsqrt(mean(x * x, {1}, true) + 1e-5);
  }
  static Tensor heads(const Tensor& x, std::int64_t count) {
    return x.reshape({1, x.size(0), count, 8}).permute({0, 2, 1, 3});
  }
  Tensor operator()(const Tensor& x) const {
    Tensor rows = normed(x);
    Tensor seen =
        scaled_dot_product_attention(heads(linear(rows, query), 4), heads(linear(rows, key), 2),
                                     heads(linear(rows, value), 2), {.causal = true});
    Tensor y = x + linear(seen.permute({0, 2, 1, 3}).reshape({x.size(0), 32}), out);
    Tensor wide = normed(y), opened = linear(wide, gate), lifted = linear(wide, up);
    Tensor hidden = is_custom ? swish()(opened, Tensor::scalar(1.0F)) * lifted
                              : opened * sigmoid(opened) * lifted;
    return y + linear(hidden, down);
  }
  static const CustomOp& rms_rows() {
    static const dsl::Kernel kernel(
        "rms_rows", [](dsl::Pointer x, dsl::Pointer y, dsl::Scalar width, dsl::Constexpr block) {
          dsl::Tile i = dsl::cast(dsl::arange(0, block), i64), at = dsl::program_id(0) * width + i;
          dsl::Tile row = dsl::load(x + at, i < width);
          dsl::Tile square = dsl::sum(row * row, 0) / dsl::cast(width, f32);
          dsl::store(y + at, row * dsl::rsqrt(square + 1e-5), i < width);
        });
    static const CustomOp op =
        custom_op("rms_rows", like_first,
                  TileKernel{kernel,
                             [](const CustomCall& call) {
                               const Shape& shape = call.operand(0).shape;
                               return TileLaunch{Grid(shape[0]), {shape[1], call["block"]}};
                             },
                             {{{"block", 32}}, {{"block", 64}}}});
    return op;
  }
};

TEST(CustomOp, ABlockOfLlamaGivesTheSameInAllModesAndCountsAsItsOwnOperations) {
  Tensor x = ramp({6, 32}, 0.05F), expected = Block{false}(x);
  auto near = [&](const Tensor& y) {
    EXPECT_LT(relative_difference(y.to_vector<float>(), expected.to_vector<float>()), 1e-4);
  };
  near(Block{true}(x));
  std::int64_t norms = 2;
  for (Mode mode : {Mode::default_, Mode::reduce_overhead, Mode::max_autotune,
                    Mode::max_autotune_no_cudagraphs}) {
    auto f = compile(Block{true}, {.mode = mode, .fullgraph = true, .tune_seconds = 0.1});
    for (int call = 0; call < 2; ++call) near(f(x));
    std::int64_t instances = 0;
    const PlanReport report = f.report().at(0);
    for (const RegionReport& region : report.regions)
      if (region.kind == "custom") instances += region.instances;
    EXPECT_EQ(instances, norms);  // swish is in no region of its own
    EXPECT_THAT(f.explain(), AllOf(HasSubstr("rms_rows"), HasSubstr("swish")));
  }
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
