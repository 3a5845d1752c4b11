// Values that depend on frozen weights alone are computed once.
#include "graph/compile/bindings/frozen_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/compile/compile.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/dynamic_scalar.h"
#include "graph/functions/random/random.h"
#include "graph/ir/text.h"
#include "graph/passes/frozen_part.h"
#include "graph/tensor/tensor_body.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::graph::frozen_values_test {
namespace {

const Options frozen{.fullgraph = true, .device = Device::cpu(), .freezing = true};
const Options live{.fullgraph = true, .device = Device::cpu()};

Tensor random_tensor(const Shape& shape, unsigned seed, float least = -1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(least, 1);
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  for (float& x : elements) x = uniform(generator);
  return Tensor::from(elements, shape);
}
Tensor random_bytes(const Shape& shape, unsigned seed) {
  return round(random_tensor(shape, seed) * 127.0).to(i8);
}

void expect_close(const Tensor& a, const Tensor& b, float tolerance = 1e-5F) {
  ASSERT_EQ(a.shape(), b.shape());
  auto x = a.to_vector<float>(), y = b.to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << "element " << i;
}

PlanReport report_of(const CompiledFunction& function) { return function.report().back(); }

struct Norm {
  Tensor mean, var, weight, bias;
  explicit Norm(std::int64_t channels)
      : mean(random_tensor({channels}, 1)),
        var(random_tensor({channels}, 2, 0.5F)),
        weight(random_tensor({channels}, 3)),
        bias(random_tensor({channels}, 4)) {}
  Tensor operator()(const Tensor& x) const {
    Tensor factor = weight * rsqrt(var + 1e-5), channels = (bias - mean * factor).reshape({-1, 1});
    return x * factor.reshape({-1, 1}) + channels;
  }
};

TEST(FrozenValues, AreFactorsOfANorm) {
  Norm norm(6);
  Tensor x = random_tensor({6, 50}, 5);
  auto scaled = [=](const Tensor& t) { return norm(t); };
  Compiled fast = compile(scaled, frozen), plain = compile(scaled, live);
  expect_close(fast(x), plain(x));
  EXPECT_EQ(report_of(plain).frozen_values, 0);
  EXPECT_EQ(report_of(fast).frozen_values, 2);
  EXPECT_EQ(report_of(fast).frozen_bytes, 2 * 6 * 4);
  expect_contains(fast.explain(),
                  "2 values follow from frozen weights and were computed once, 48 B");
  expect_contains(fast.dump(), "# computed once, of frozen weights:\n");
}

// Whatever they take, since convolutions would convert and pack them at each call.
TEST(FrozenValues, AreFiltersOf8Bits) {
  Tensor filters = random_bytes({64, 32, 7, 7}, 6), scales = random_tensor({64, 1, 1, 1}, 7);
  Tensor x = random_tensor({1, 32, 14, 14}, 8);
  auto function = [=](const Tensor& t) { return conv2d(t, filters.to(f32) * scales, {}); };
  Compiled fast = compile(function, frozen), plain = compile(function, live);
  expect_close(fast(x), plain(x), 1e-4F);
  EXPECT_EQ(report_of(fast).frozen_bytes, 64 * 32 * 49 * 4);
  EXPECT_EQ(report_of(fast).packed_weights, 1);
}

// A product streams them as they are, in a quarter of the bytes.
TEST(FrozenValues, AreNoFactorsOf8Bits) {
  Tensor weight = random_bytes({300, 300}, 9), scales = random_tensor({300, 1}, 10);
  Tensor x = random_tensor({2, 300}, 11);
  auto function = [=](const Tensor& t) { return linear(t, weight.to(f32) * (scales * 2.0)); };
  Compiled fast = compile(function, frozen);
  expect_close(fast(x), compile(function, live)(x), 1e-4F);
  EXPECT_EQ(report_of(fast).frozen_values, 0);
}

TEST(FrozenValues, AreFactorsThatTakeNoMoreMemoryThanWeights) {
  Tensor direction = random_tensor({300, 300}, 12), length = random_tensor({300, 1}, 13);
  Tensor x = random_tensor({2, 300}, 14);
  auto function = [=](const Tensor& t) {
    return linear(t, direction * (length * rsqrt(sum(direction * direction, {1}, true))));
  };
  Compiled fast = compile(function, frozen);
  expect_close(fast(x), compile(function, live)(x), 1e-4F);
  EXPECT_EQ(report_of(fast).frozen_values, 1);
  EXPECT_EQ(report_of(fast).launches, 1);
}

// One that is large and only added is fused into what reads it; a result is the caller's.
TEST(FrozenValues, AreNeitherLargeTablesNorResults) {
  Tensor table = random_tensor({300, 300}, 15), x = random_tensor({300, 300}, 16);
  Compiled adds = compile([=](const Tensor& t) { return t + table * 2.0; }, frozen);
  expect_close(adds(x), x + table * 2.0);
  EXPECT_EQ(report_of(adds).frozen_values, 0);

  Tensor weight = random_tensor({4}, 17);
  auto gives = compile(
      [=](const Tensor& t) {
        return std::vector<Tensor>{weight * 2.0, t + 1.0};
      },
      frozen);
  Tensor first = gives(x)[0], second = gives(x)[0];
  first.copy_from(x.slice(0, 0, 1).slice(1, 0, 4).reshape({4}));
  expect_close(second, weight * 2.0);
}

TEST(FrozenValues, KeepTheirWeightsFromBeingWritten) {
  Norm norm(6);
  Tensor x = random_tensor({6, 50}, 18);
  Compiled fast = compile([=](const Tensor& t) { return norm(t); }, frozen);
  norm.var.copy_from(random_tensor({6}, 19, 0.5F));  // not yet used
  expect_close(fast(x), norm(x));
  expect_contains(error_of([&] { norm.var.copy_from(random_tensor({6}, 20)); }),
                  "[copy_from] the tensor is frozen");
}

// The promise is about all functions and signatures: a frozen weight stays frozen, even after the
// computed values are gone.
TEST(FrozenValues, KeepTheirWeightsFromSignaturesThatWriteThem) {
  Tensor weight = random_tensor({5}, 29);
  const Tensor row = random_tensor({1, 5}, 30), rows = random_tensor({3, 5}, 31);
  auto function = [=](const Tensor& x) mutable {
    if (x.size(0) > 1) weight.copy_from(weight * 0.5);
    return x * exp(weight);
  };
  Options options = frozen;
  options.dynamic = Dynamic::never;
  {
    Compiled writes_first = compile(function, options);
    const Tensor halved = rows * exp(weight * 0.5);
    expect_close(writes_first(rows), halved);  // of this signature it is no weight
    expect_close(writes_first(row), row * exp(weight));
    expect_contains(error_of([&] { writes_first(rows); }), "is written in place and frozen");
    expect_close(writes_first(row), row * exp(weight));
  }
  Tensor again = weight;
  expect_contains(error_of([&] { again.copy_from(row.reshape({5})); }), "the tensor is frozen");
  Tensor copy = weight.clone();
  copy.copy_from(row.reshape({5}));
  expect_close(copy, row.reshape({5}));
}

// Numbers that are set between calls are no weights.
TEST(FrozenValues, AreOfNoSettings) {
  DynamicScalar rate(2.0);
  Generator generator(7);
  const Tensor weight = random_tensor({5}, 27);
  Compiled fast = compile([=](const Tensor& t) { return t * (weight * rate); }, frozen);
  Compiled noisy = compile([=](const Tensor& t) { return t + rand({5}, f32, generator); }, frozen);
  Tensor x = random_tensor({3, 5}, 28);
  expect_close(fast(x), x * (weight * 2.0));
  rate.set(5.0);
  expect_close(fast(x), x * (weight * 5.0));
  const Tensor first = noisy(x).clone();
  generator.manual_seed(8);
  const Tensor other = noisy(x).clone();
  generator.manual_seed(7);
  expect_close(noisy(x), first);
  EXPECT_NE(first.to_vector<float>(), other.to_vector<float>());
}

// Assigning to a handle makes it another weight.
TEST(FrozenValues, FollowHandles) {
  struct Model {
    Tensor scale;
    Tensor forward(const Tensor& x) const { return x * exp(scale); }
  };
  auto model = std::make_shared<Model>(Model{random_tensor({5}, 21)});
  Compiled fast = compile([model](const Tensor& x) { return model->forward(x); }, frozen);
  Tensor x = random_tensor({3, 5}, 22);
  expect_close(fast(x), model->forward(x));
  model->scale = random_tensor({5}, 23);
  expect_close(fast(x), model->forward(x));
  EXPECT_EQ(report_of(fast).frozen_values, 1);
}

// Whichever input of its function a weight is.
TEST(FrozenValues, AreComputedOnceForAll) {
  auto values_of_input = [](std::size_t weight, const char* inputs) {
    Graph graph =
        parse(concat("graph {\n%0: f32[5] = input\n%1: f32[5] = input\n",
                     "%2: f32[5] = exp %0\n%3: f32[5] = mul %2, %1\n", inputs, "return %3\n}\n"));
    PlanOptions options;
    options.inputs.resize(2);
    options.inputs[weight].is_frozen = true;
    FrozenValues none(graph, options, [](std::size_t) { return false; });
    EXPECT_TRUE(none.graph().nodes.empty());
    FrozenValues values(graph, options, [=](std::size_t input) { return input == weight; });
    EXPECT_EQ(graph.inputs.size(), 3U);
    EXPECT_EQ(options.inputs.size(), 3U);
    EXPECT_TRUE(options.inputs[2].is_frozen);
    return values;
  };
  const Tensor weight = random_tensor({5}, 24).to(default_device()),
               other = random_tensor({5}, 25).to(default_device());
  auto value_of = [](FrozenValues& values, const Tensor& of) {
    values.bind([&](std::size_t) -> const Tensor& { return of; });
    return values.tensors().at(0);
  };
  FrozenValues first = values_of_input(0, "inputs %0 %1\n");
  FrozenValues second = values_of_input(1, "inputs %1 %0\n");
  std::weak_ptr<Buffer> held = value_of(first, weight).body()->buffer;
  EXPECT_EQ(value_of(second, weight).body()->buffer, held.lock());
  EXPECT_NE(value_of(second, other).body()->buffer, held.lock());
  expect_close(first.tensors()[0], exp(weight));
  value_of(first, other);
  EXPECT_TRUE(held.expired());  // nobody has it
  expect_close(value_of(first, weight), exp(weight));
}

// Other tensors may use the same memory of the user's, while the first ones live.
TEST(FrozenValues, AreOfATensorAndNotOfItsMemory) {
  alignas(64) static float memory[64 * 96];
  std::ranges::fill(memory, 1.0F);
  const Tensor x = random_tensor({64, 96}, 26);
  auto functions = [&] {
    Tensor weight = Tensor::from_blob(memory, {64, 96}, f32);
    return std::pair{
        compile([=](const Tensor& t) { return linear(t, weight); }, frozen),
        compile([=](const Tensor& t) { return t * exp(weight.slice(0, 0, 1)); }, frozen)};
  };
  auto before = functions();
  before.first(x), before.second(x);
  std::ranges::fill(memory, 2.0F);
  auto after = functions();
  const Tensor twos = full({64, 96}, 2.0);
  expect_close(after.first(x), linear(x, twos), 1e-4F);
  expect_close(after.second(x), x * exp(twos.slice(0, 0, 1)), 1e-4F);
}

TEST(FrozenPart, IsNothingWhereNothingIsWorthIt) {
  const Graph graph = parse(
      "graph {\n%0: f32[5] = input\n"
      "%1: f32[5] = input\n"
      "%2: f32[5] = exp %0\n"
      "%3: f32[5] = mul %2, %1\n"
      "inputs %0 %1\nreturn %3\n}\n");
  EXPECT_FALSE(split_frozen_part(graph, {false, false}));
  EXPECT_FALSE(split_frozen_part(graph, {false, true}));
  std::optional<FrozenPart> part = split_frozen_part(graph, {true, false});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->from, std::vector<std::size_t>{0});
  EXPECT_EQ(print(part->rest), print(parse("graph {\n%0: f32[5] = input\n"
                                           "%1: f32[5] = input\n"
                                           "%2: f32[5] = input\n"
                                           "%3: f32[5] = mul %2, %1\n"
                                           "inputs %0 %1 %2\nreturn %3\n}\n")));
  EXPECT_FALSE(split_frozen_part(graph, {true, true}));  // the result is the caller's
}

}  // namespace
}  // namespace tilewright::graph::frozen_values_test
