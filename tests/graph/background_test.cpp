// Functions that are tuned while they are in use.
#include "graph/compile/plans/background_plan.h"

#include <gmock/gmock.h>

#include <chrono>
#include <random>
#include <thread>

#include "autotune/policy.h"
#include "graph/compile/compile.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/tensor/functional.h"
#include "graph/tune/region_tuner.h"
#include "tests/errors.h"
#include "tests/graph/captured.h"
#include "tests/setting.h"

namespace tilewright::graph::background_test {
namespace {

using tilewright::Mode;

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

Tensor noise(const Shape& shape, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  for (float& element : elements) element = uniform(random);
  return Tensor::from(elements, shape);
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  auto x = a.to_vector<float>(), y = b.to_vector<float>();
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << i;
}

Tensor model(const Tensor& x, const Tensor& w) { return relu(linear(x, w)); }

// The process's one thread for jobs is taken until `release`: what is compiled meanwhile waits.
class Blocker {
 public:
  void release() { job_.stop(); }

 private:
  BackgroundJob job_{[](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }};
};

// A database in memory, which no other process has written to; each test has shapes of its own.
struct BackgroundTest : ::testing::Test {
  Setting in_memory{"TILEWRIGHT_TUNE_DB", "off"};
  std::int64_t rows = 217;
  std::int64_t depth = 32 + ::testing::UnitTest::GetInstance()->random_seed() % 7 +
                       static_cast<std::int64_t>(
                           std::hash<std::string>()(
                               ::testing::UnitTest::GetInstance()->current_test_info()->name()) %
                           200);
  Tensor x = noise({rows, depth}, 1), w = noise({96, depth}, 2);
  Options options{.mode = tilewright::Mode::reduce_overhead,
                  .device = Device::cpu(),
                  .tune_seconds = 0.3,
                  .tune_in_background = true};

  // Stores that some other configuration is twice as fast as the default.
  void store_winner() const {
    Graph graph = run_passes(captured({{rows, depth}, {96, depth}},
                                      [](Tensors& x) { return Tensors{model(x[0], x[1])}; }));
    TaskList list = make_tasks(graph);
    std::vector<FusedRegion> regions = fuse_tasks(list, true);
    ASSERT_EQ(regions.size(), 1u);
    RegionSpace space = region_space(list, regions[0].region, dsl::host_target());
    std::vector<autotune::Point> points = space.space.legal_points(100);
    std::erase(points, space.preferred);
    autotune::TuningKey key = tuning_key(list, regions[0].region, Device::cpu());
    autotune::shared_tuning_database().store(
        autotune::rows_of(key, space.space, space.preferred,
                          {{space.preferred, std::vector<double>(25, 1e-3)},
                           {points[0], std::vector<double>(25, 5e-4)}}));
  }
};

TEST_F(BackgroundTest, TakesTheWinnerBetweenTwoCallsOfManyThreads) {
  Setting on("TILEWRIGHT_TUNE", "on");
  Tensor expected = model(x, w);
  for (tilewright::Mode mode : {tilewright::Mode::default_, tilewright::Mode::reduce_overhead}) {
    options.mode = mode;
    w = noise({96, depth = depth + 1}, 2);
    x = noise({rows, depth}, 1);
    expected = model(x, w);
    Blocker blocker;
    Compiled fast = compile(&model, options);
    expect_near(fast(x, w), expected, 1e-4);
    std::string before = fast.report()[0].regions[0].key;
    EXPECT_THAT(fast.explain(), HasSubstr("being tuned in the background"));
    EXPECT_FALSE(fast.wait_until_tuned(0));
    store_winner();
    std::atomic<bool> is_over = false;
    std::atomic<int> calls = 0;
    std::vector<std::jthread> callers;
    for (int i = 0; i < 3; ++i)
      callers.emplace_back([&] {
        while (!is_over) {
          if (mode == tilewright::Mode::default_)
            expect_near(fast(x, w), expected, 1e-4);
          else
            fast(x, w);  // what it gives is valid until some other thread's call
          ++calls;
        }
      });
    blocker.release();
    EXPECT_TRUE(fast.wait_until_tuned());
    for (int seen = calls; calls < seen + 6;) std::this_thread::yield();
    is_over = true;
    callers.clear();
    EXPECT_NE(fast.report()[0].regions[0].key, before);
    std::string text = fast.explain();
    EXPECT_THAT(text, HasSubstr("1 of 1 programs are other ones now"));
    EXPECT_EQ(text.find("recorded again") != std::string::npos,
              mode == tilewright::Mode::reduce_overhead);
    EXPECT_EQ(text.find("the next call"), std::string::npos);
    expect_near(fast(x, w), expected, 1e-4);
  }
}

TEST_F(BackgroundTest, StoresWhatItFindsWithWhichOthersBegin) {
  Setting on("TILEWRIGHT_TUNE", "on");
  Compiled fast = compile(&model, options);
  Tensor before = fast(x, w).clone();
  EXPECT_TRUE(fast.wait_until_tuned());
  EXPECT_THAT(fast.explain(), HasSubstr("tuned in the background for "));
  expect_near(fast(x, w), before, 1e-4);
  Compiled again = compile(&model, options);
  expect_near(again(x, w), before, 1e-4);
  EXPECT_TRUE(again.wait_until_tuned(0));
  EXPECT_EQ(again.report()[0].tuning, "tuning: 1 region known");
  EXPECT_EQ(again.report()[0].regions[0].key, fast.report()[0].regions[0].key);
}

TEST_F(BackgroundTest, SearchesOnlyWhereTuningIsOn) {
  for (const char* policy : {"off", "read"}) {
    Setting setting("TILEWRIGHT_TUNE", policy);
    Blocker blocker;
    Compiled fast = compile(&model, options);
    fast(x, w);
    EXPECT_TRUE(fast.wait_until_tuned(0)) << policy;
  }
}

TEST_F(BackgroundTest, EndsWithItsFunction) {
  Setting on("TILEWRIGHT_TUNE", "on");
  options.tune_seconds = 1000;
  auto fast = std::make_unique<Compiled>(compile(&model, options));
  (*fast)(x, w);
  EXPECT_FALSE(fast->wait_until_tuned(0.1));
  auto begin = std::chrono::steady_clock::now();
  fast.reset();
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(spent.count(), 20);
  // Nothing is left behind in the queue.
  BackgroundJob next([](const std::stop_token&) {});
  EXPECT_TRUE(next.wait(20));
}

TEST_F(BackgroundTest, ShowsWhatWasThrown) {
  Setting on("TILEWRIGHT_TUNE", "on");
  Blocker blocker;
  Compiled fast = compile(&model, options);
  Tensor before = fast(x, w).clone();
  Setting wrong("TILEWRIGHT_TUNE", "perhaps");
  blocker.release();
  EXPECT_TRUE(fast.wait_until_tuned());
  EXPECT_THAT(fast.explain(), HasSubstr("tuning in the background failed, the plan stays: "
                                        "[autotune] TILEWRIGHT_TUNE is \"perhaps\""));
  expect_near(fast(x, w), before, 0);
}

TEST_F(BackgroundTest, RefusesWhatCannotBe) {
  options.write_plan = "plan.txt";
  EXPECT_THAT(error_of([&] { compile(&model, options); }),
              HasSubstr("tune_in_background changes a plan after it was written"));
  EXPECT_THAT(error_of([&] { compile(&model, {.tune_seconds = 0}); }),
              HasSubstr("tune_seconds is 0; it must be positive"));
}

}  // namespace
}  // namespace tilewright::graph::background_test
