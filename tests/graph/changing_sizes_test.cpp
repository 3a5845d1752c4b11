// Functions that are called with many sizes: few programs serve them, and what they compute is what
// programs of one size compute.
#include <gtest/gtest.h>

#include <set>

#include "graph/compile/compile.h"
#include "graph/lower/block_sizes.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/graph/many_sizes.h"
#include "tests/tensors.h"

namespace tilewright::changing_sizes_test {
namespace {

using namespace testing_sizes;

using namespace testing_sizes;

// Keys of the programs of all plans.
std::set<std::string> programs_of(const CompiledFunction& function) {
  std::set<std::string> keys;
  for (const PlanReport& plan : function.report())
    for (const RegionReport& region : plan.regions) keys.insert(region.key);
  return keys;
}

struct Layer {
  Tensor gain = ramp({48}) * 0.01 + 1;
  Tensor wide = sin(ramp({48, 80})), narrow = cos(ramp({80, 48}));
  Tensor operator()(const Tensor& x) const {
    Tensor normed = x * rsqrt(mean(x * x, {-1}, true) + 1e-5) * gain;
    return x + matmul(gelu(matmul(normed, wide)), narrow);
  }
};

TEST(ChangingSizes, HaveTheResultsOfEachSizeAlone) {
  const Layer layer;
  Compiled many = compile(layer, on_host(Dynamic::always));
  for (std::int64_t rows : many_sizes) {
    SCOPED_TRACE(rows);
    Compiled alone = compile(layer, on_host(Dynamic::never));
    Tensor x = rows_of(rows, 48);
    expect_same(many(x), alone(x));
  }
}

std::size_t most_regions(const CompiledFunction& function) {
  std::size_t most = 0;
  for (const PlanReport& plan : function.report()) most = std::max(most, plan.regions.size());
  return most;
}

// For each region, the program of the first call, and one for each class of sizes.
TEST(ChangingSizes, ShareProgramsOfTheirClass) {
  const Layer layer;
  Compiled many = compile(layer, {.max_signatures = 1, .device = Device::cpu()});
  Compiled always = compile(layer, on_host(Dynamic::always));
  std::set<std::int64_t> classes;
  for (std::int64_t rows : many_sizes) {
    many(rows_of(rows, 48));
    always(rows_of(rows, 48));
    classes.insert(graph::least_of_size_class(rows));
  }
  EXPECT_EQ(many.report().size(), many_sizes.size());
  EXPECT_LE(programs_of(many).size(), most_regions(many) * (1 + classes.size()));
  EXPECT_LE(programs_of(always).size(), most_regions(always) * classes.size());
}

TEST(ChangingSizes, OfOneHaveAProgramOfTheirOwn) {
  EXPECT_EQ(graph::least_of_size_class(1), 1);
  for (std::int64_t rows : {2, 7, 15}) EXPECT_EQ(graph::least_of_size_class(rows), 2);
  EXPECT_EQ(graph::least_of_size_class(16), 16);
  EXPECT_EQ(graph::least_of_size_class(1000), graph::least_of_size_class(64));
}

// As a step of a decoder whose keys grow has them.
TEST(ChangingSizes, OfKeysServeOneRow) {
  auto step = [](const Tensor& q, const Tensor& k, const Tensor& mask) {
    return scaled_dot_product_attention(q, k, k * 0.5, {.mask = mask});
  };
  Compiled many = compile(step, on_host(Dynamic::always));
  std::set<std::string> first;
  for (std::int64_t keys : {130, 131, 200, 257, 384, 511}) {
    Tensor q = sin(ramp({2, 6, 1, 64})), k = cos(ramp({2, 2, keys, 64}));
    Tensor mask = arange(0, keys) > (arange(0, 2) * 9).reshape({2, 1, 1, 1});
    expect_same(many(q, k, mask), step(q, k, mask));
    if (first.empty()) first = programs_of(many);
  }
  EXPECT_EQ(programs_of(many), first);
}

// Elements written in place must not be read again by a block that is moved back.
TEST(ChangingSizes, AreRightWhereArgumentsAreWritten) {
  auto step = [](const Tensor& x, const Tensor& y) {
    Tensor z = x;
    z.copy_from(x * 2 + softmax(y, -1));
    return sum(z, {-1});
  };
  CompiledFunction many(
      [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{step(in[0], in[1])}; },
      on_host(Dynamic::always));
  for (std::int64_t rows : many_sizes) {
    SCOPED_TRACE(rows);
    Tensor y = rows_of(rows, 50), x = y.clone(), expected = y.clone();
    Tensor sums = step(expected, y);
    expect_same(many.call({x, y})[0], sums);
    expect_same(x, expected);
  }
}

TEST(ChangingSizes, AreNoErrorPastTheLimitOfSignatures) {
  Compiled many = compile([](const Tensor& x) { return x * 2; },
                          {.max_signatures = 1, .device = Device::cpu()});
  for (std::int64_t rows : many_sizes) expect_same(many(ramp({rows})), ramp({rows}) * 2);
  // Another dtype is another signature.
  std::string error = error_of([&] { many(ramp({3}).to(DType::f64)); });
  expect_contains(error, "1 signatures are compiled, which is the limit; this call, (f64 3)");
}

// The first size has programs of its own.
TEST(ChangingSizes, ShareProgramsFromTheSecondOn) {
  const Layer layer;
  Compiled many = compile(layer, {.device = Device::cpu()});
  many(rows_of(64, 48));
  const std::size_t own = programs_of(many).size();
  many(rows_of(97, 48));
  const std::size_t both = programs_of(many).size();
  EXPECT_GT(both, own);
  for (std::int64_t rows : {65, 128, 300, 511}) many(rows_of(rows, 48));
  EXPECT_EQ(programs_of(many).size(), both);
}

// A step of decoding after prompts has the programs that it would have alone.
TEST(ChangingSizes, HaveTheirOwnProgramsForOneRow) {
  const Layer layer;
  Compiled many = compile(layer, {.device = Device::cpu()}),
           alone = compile(layer, on_host(Dynamic::never));
  many(rows_of(64, 48));
  many(rows_of(1, 48));
  alone(rows_of(1, 48));
  EXPECT_TRUE(std::ranges::includes(programs_of(many), programs_of(alone)));
}

// A configuration that was searched for one size is for that size.
TEST(ChangingSizes, HaveTheirOwnProgramsWhereTheClockChooses) {
  const Layer layer;
  Compiled many = compile(layer, {.mode = Mode::max_autotune_no_cudagraphs,
                                  .max_signatures = 3,
                                  .device = Device::cpu(),
                                  .tune_seconds = 1e-3});
  std::size_t before = 0;
  for (std::int64_t rows : {64, 97, 128}) {
    many(rows_of(rows, 48));
    EXPECT_GT(programs_of(many).size(), before) << rows;
    before = programs_of(many).size();
  }
}

TEST(ChangingSizes, KeepThePlansThatWereUsedLatest) {
  int runs = 0;
  Compiled many = compile([&](const Tensor& x) { return ++runs, x * 2; },
                          {.max_signatures = 1, .max_sizes = 2, .device = Device::cpu()});
  for (std::int64_t rows : {1, 2, 3}) many(ramp({rows}));
  EXPECT_EQ(runs, 3);
  many(ramp({2}));  // so that 3 was used before it
  many(ramp({4}));
  EXPECT_EQ(many.report().size(), 3U);
  EXPECT_EQ(runs, 4);
  for (std::int64_t rows : {1, 2, 4}) many(ramp({rows}));
  EXPECT_EQ(runs, 4);
  expect_same(many(ramp({3})), ramp({3}) * 2);
  EXPECT_EQ(runs, 5);
}

TEST(ChangingSizes, AreReplayedWhereLaunchesAreRecorded) {
  const Layer layer;
  Compiled many = compile(layer, {.mode = Mode::reduce_overhead, .device = Device::cpu()});
  for (int turn = 0; turn < 2; ++turn)
    for (std::int64_t rows : many_sizes) {
      Tensor x = rows_of(rows, 48);
      expect_same(many(x), layer(x));
    }
}

TEST(ChangingSizes, NeedAPlaceForAtLeastOne) {
  expect_contains(error_of([] { compile([](const Tensor& x) { return x; }, {.max_sizes = 0}); }),
                  "max_sizes is 0");
}

// One that differs in its dtype alone is no nearer than one that differs in sizes.
TEST(ChangingSizes, AreNoSignaturesOfEachDtype) {
  TILEWRIGHT_ON_THE_HOST_ONLY("on GPUs sizes are signatures up to the limit");
  Compiled twice = compile([](const Tensor& x) { return x * 2; });
  for (DType dtype : {f32, bf16, f16})
    for (std::int64_t size : {5, 9, 7, 11})
      EXPECT_EQ(twice(ones({size}, dtype)).to(f32).to_vector<float>(),
                std::vector<float>(static_cast<std::size_t>(size), 2));
}

}  // namespace
}  // namespace tilewright::changing_sizes_test
