#include "graph/compile/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "runtime/cpu/parallel.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::compile_test {
namespace {

struct Layer {
  Tensor weight = ramp({24, 16}), bias = ramp({24});
  Tensor forward(const Tensor& x) { return softmax(relu(linear(x, weight, bias)), -1); }
};

constexpr Mode modes[] = {Mode::default_, Mode::reduce_overhead, Mode::max_autotune,
                          Mode::max_autotune_no_cudagraphs};

// A write in place is read by the next repetition, in every mode and without generated code.
TEST(Compile, RepeatsAFunctionAsOneUnit) {
  for (Mode mode : modes)
    for (Backend backend : {Backend::eager, Backend::aot_eager, Backend::tilewright}) {
      Tensor state = Tensor::from<float>({1, 2}, {2}), x = Tensor::from<float>({3, 4}, {2});
      Compiled fast = compile(
          [state](const Tensor& x) mutable {
            state.copy_from(state * 2 + x);
            return state + 1;
          },
          {.mode = mode, .backend = backend});
      EXPECT_EQ(fast.repeat(3, {x})[0].to_vector<float>(), (std::vector<float>{30, 45}));
      EXPECT_EQ(fast.repeat(1, {x})[0].to_vector<float>(), (std::vector<float>{62, 93}));
      EXPECT_EQ(fast.repeat(2, {x})[0].to_vector<float>(), (std::vector<float>{254, 381}));
      EXPECT_EQ(state.to_vector<float>(), (std::vector<float>{253, 380}));
      expect_contains(error_of([&] { fast.repeat(0, {x}); }), "[repeat] times is 0");
    }
}

// The sum is of what the weights were, the product of what they become.
TEST(Compile, WritesToWeightsThatWereReadBroadcast) {
  for (Mode mode : modes)
    for (Backend backend : {Backend::eager, Backend::aot_eager, Backend::tilewright}) {
      Tensor weight = Tensor::from<float>({1, 2}, {1, 2});
      Compiled fast = compile(
          [weight](const Tensor& x) mutable {
            Tensor sum = x + weight;
            weight.copy_from(weight * 10);
            return sum * weight;
          },
          {.mode = mode, .backend = backend});
      Tensor x = Tensor::from<float>({1, 1, 2, 2}, {2, 2});
      EXPECT_EQ(fast(x).to_vector<float>(), (std::vector<float>{20, 60, 30, 80}));
      EXPECT_EQ(fast(x).to_vector<float>(), (std::vector<float>{1100, 4200, 1200, 4400}));
      EXPECT_EQ(weight.to_vector<float>(), (std::vector<float>{100, 200}));
    }
}

TEST(Compile, GivesWhatTheFunctionGivesInEveryModeAndBackend) {
  Layer layer;
  Tensor x = ramp({5, 16}, 0.02F), expected = layer.forward(x);
  for (Mode mode : modes)
    for (Backend backend : {Backend::eager, Backend::aot_eager, Backend::tilewright}) {
      Compiled fast = compile(layer, {.mode = mode, .backend = backend});
      for (int call = 0; call < 3; ++call) expect_near(fast(x), expected);
    }
}

TEST(Compile, FusesAWholeLayerIntoOneLaunch) {
  Layer layer;
  Compiled fast = compile(layer);
  fast(ramp({5, 16}));
  ASSERT_EQ(fast.report().size(), 1u);
  EXPECT_EQ(fast.report()[0].launches, 1);
  EXPECT_GT(fast.report()[0].regions[0].bytes, 24 * 16 * 4);
}

// A weight's gradient is a product and its bias's a sum, both with a row for each output: the sum
// would make the product's program one of whole rows. For few rows they share a launch.
TEST(Compile, KeepsSumsApartThatAProductOfManyRowsHasNothingToDoWith) {
  for (std::int64_t outputs : {16, 96}) {
    Tensor weight = zeros({outputs, 32}), bias = zeros({outputs});
    Compiled update = compile([weight, bias](const Tensor& of_result, const Tensor& x) mutable {
      weight.copy_from(weight - matmul(of_result.transpose(0, 1), x) * 0.5);
      bias.copy_from(bias - sum(of_result, {0}) * 0.5);
      return x;
    });
    const Tensor of_result = ramp({40, outputs}, 0.01F), x = ramp({40, 32}, 0.02F);
    update(of_result, x);
    EXPECT_EQ(update.report()[0].launches, outputs == 16 ? 1 : 2);
    expect_near(weight, matmul(of_result.transpose(0, 1), x) * -0.5);
    expect_near(bias, sum(of_result, {0}) * -0.5);
  }
}

TEST(Compile, ReadsCapturedTensorsAtEveryCall) {
  Tensor weight = Tensor::from<float>({1, 1}, {2});
  Compiled fast = compile([weight](const Tensor& x) { return x * weight; });
  Tensor x = Tensor::from<float>({3, 4}, {2});
  fast(x);
  weight.copy_from(Tensor::from<float>({10, 100}, {2}));
  EXPECT_EQ(fast(x).to_vector<float>(), (std::vector<float>{30, 400}));
}

TEST(Compile, WritesCapturedTensorsInPlace) {
  Tensor cache = Tensor::from<float>({0, 0, 0, 0, 0, 0}, {3, 2});
  Compiled step = compile(
      [cache](const Tensor& at, const Tensor& row) {
        Tensor target = cache;
        target.index_copy_(0, at, row);
        return sum(target, {0});
      },
      {.mode = Mode::reduce_overhead});
  for (std::int64_t i = 0; i < 3; ++i) {
    Tensor row = Tensor::from<float>({float(i + 1), 1}, {1, 2});
    step(Tensor::from<std::int64_t>({i}, {1}), row);
  }
  EXPECT_EQ(cache.to_vector<float>(), (std::vector<float>{1, 1, 2, 1, 3, 1}));
}

TEST(Compile, CompilesEachSignatureOnceUpToTheLimit) {
  int runs = 0;
  Compiled fast = compile(
      [&runs](const Tensor& x) {
        ++runs;
        return x + 1;
      },
      {.max_signatures = 3, .dynamic = Dynamic::never});
  for (int turn = 0; turn < 2; ++turn)
    for (std::int64_t size : {1, 2, 3}) fast(ramp({size}));
  EXPECT_EQ(runs, 3);
  std::string error = error_of([&] { fast(ramp({4})); });
  expect_contains(error, "[compile] 3 signatures are compiled, which is the limit");
  expect_contains(error, "argument 0: axis 0 is 4, compiled for 2");
}

TEST(Compile, SaysHowManyArgumentsAnotherSignatureHas) {
  CompiledFunction sums(
      [](const std::vector<Tensor>& x) { return std::vector<Tensor>{x.front() + x.back()}; },
      {.max_signatures = 1});
  Tensor x = ramp({2});
  sums.call({x, x, x});
  expect_contains(error_of([&] { sums.call({x, x}); }), "the call has 2 arguments, compiled for 3");
}

TEST(Compile, ReportsWhereDataIsRead) {
  auto branches = [](const Tensor& x) { return sum(x, {0}).item<float>() > 0 ? x * 2 : x * 3; };
  Compiled whole = compile(branches, {.fullgraph = true});
  expect_contains(error_of([&] { whole(ramp({4})); }), "breaks the graph");
  Compiled parts = compile(branches);
  EXPECT_EQ(parts(Tensor::from<float>({1, 2}, {2})).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(parts(Tensor::from<float>({-1, -2}, {2})).to_vector<float>(),
            (std::vector<float>{-3, -6}));
  expect_contains(parts.explain(), "runs in segments, since the graph breaks: item at");
}

TEST(Compile, ExplainsItsRegions) {
  Layer layer;
  Compiled fast = compile(layer);
  fast(ramp({5, 16}));
  std::string text = fast.explain();
  expect_contains(text, "f32 5x16");
  expect_contains(text, "1 launch of 1 distinct program;");
  expect_contains(text, "matmul");
  expect_contains(fast.dump(), "dot");
}

TEST(Compile, IsPartOfACaptureThatCallsIt) {
  Compiled inner = compile([](const Tensor& x) { return exp(x); });
  Compiled outer = compile([&inner](const Tensor& x) { return inner(x) + 1; });
  outer(ramp({8}));
  EXPECT_EQ(outer.report()[0].launches, 1);
  EXPECT_TRUE(inner.report().empty());
}

TEST(Compile, ServesSeveralThreads) {
  Compiled fast = compile([](const Tensor& x) { return x * 2; });
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::int64_t size : {3, 4, 5})
    threads.emplace_back([&, size] {
      for (int i = 0; i < 20; ++i) {
        std::vector<float> elements(static_cast<std::size_t>(size), float(i));
        Tensor y = fast(Tensor::from(elements, {size}));
        if (y.to_vector<float>() != std::vector<float>(elements.size(), float(2 * i))) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fast.report().size(), 3u);
}

TEST(Compile, NamesModesAndBackends) {
  for (Mode mode : modes) EXPECT_EQ(parse_mode(name_of(mode)), mode);
  expect_contains(error_of([] { parse_mode("fast"); }),
                  "[mode] 'fast' is unknown; it must be one of default, reduce-overhead");
  expect_contains(error_of([] { parse_backend("cuda"); }), "[backend] 'cuda' is unknown");
}

// The parts into which launches were split while it lives, by a pool of four workers.
class SplitLaunches {
 public:
  SplitLaunches() {
    set_parallel_for(
        [this](std::int64_t count, RangeBody body, void* context) {
          most = std::max(most, count);
          for (std::int64_t i = 0; i < count; ++i) body(context, i, i + 1, static_cast<int>(i % 4));
        },
        4);
  }
  ~SplitLaunches() { set_parallel_for({}, 0); }
  std::int64_t most = 0;
};

TEST(Compile, LaunchesTakeNoMoreThreadsThanTheFunctionsOwn) {
  const Tensor x = ramp({512, 64});
  auto function = [](const Tensor& t) { return softmax(t * 2, -1); };
  const Tensor expected = function(x);
  for (Mode mode : modes)
    for (int threads : {0, 1, 2, 3}) {
      SplitLaunches launches;
      Compiled fast = compile(function, {.mode = mode, .threads = threads, .tune_seconds = 0.05});
      for (int call = 0; call < 3; ++call) expect_near(fast(x), expected);
      EXPECT_EQ(thread_count(), 4) << "of the caller";
      if (threads == 0)
        EXPECT_GT(launches.most, 3);
      else
        EXPECT_EQ(launches.most, threads == 1 ? 0 : threads);
    }
}

TEST(Compile, RefusesWhatItCannotCall) {
  Compiled fast = compile([](const Tensor& x) { return x; });
  expect_contains(error_of([&] { fast(); }),
                  "[compile] the function takes 1 tensor and the call has 0");
  expect_contains(error_of([&] { fast(Tensor()); }), "[compile] argument 0 is undefined");
  auto half = compile([](const Tensor& x) { return std::pair{x + 1, Tensor()}; });
  EXPECT_EQ(error_of([&] { half(Tensor::from<float>({1}, {1})); }),
            "[compile] result 1 of the function is undefined; every result must be a tensor");
  expect_contains(
      error_of([] { compile([](const Tensor& x) { return x; }, {.max_signatures = 0}); }),
      "max_signatures is 0");
  expect_contains(error_of([] { compile([](const Tensor& x) { return x; }, {.threads = -1}); }),
                  "[compile] threads is -1; it must be from 1 to 1024, or 0 for all");
  expect_contains(
      error_of([] { compile([](const Tensor& x) { return x; }, {.planned_threads = 1025}); }),
      "[compile] planned_threads is 1025; it must be from 1 to 1024, or 0 for those that there");
}

}  // namespace
}  // namespace tilewright::compile_test
