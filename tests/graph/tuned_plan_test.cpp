// Choices of regions are taken only where whole calls are faster by them.
#include "graph/compile/plans/tuned_plan.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "autotune/policy.h"
#include "graph/compile/compile.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/run/plan_body.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tune/region_estimate.h"
#include "graph/tune/region_tuner.h"
#include "tests/graph/captured.h"
#include "tests/setting.h"

namespace tilewright::graph::tuned_plan_test {
namespace {

using tilewright::Mode;

using ::testing::HasSubstr;
using ::testing::Not;
using Tensors = std::vector<Tensor>;

Tensor noise(const Shape& shape, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  for (float& element : elements) element = uniform(random);
  return Tensor::from(elements, shape);
}

Tensor model(const Tensor& x, const Tensor& w) { return softmax(relu(linear(x, w)), -1); }

// A database in memory, which no other process has written to; each test has shapes of its own.
struct TunedPlanTest : ::testing::Test {
  std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::int64_t rows = 323;
  std::int64_t depth = 96 + static_cast<std::int64_t>(std::hash<std::string>()(name) % 200);
  Tensor x = noise({rows, depth}, 1), w = noise({256, depth}, 2);
  Setting on{"TILEWRIGHT_TUNE", "on"}, in_memory{"TILEWRIGHT_TUNE_DB", "off"};
  // More than whole calls ever take on a busy machine: all regions are known, so none is searched.
  Options options{
      .mode = tilewright::Mode::max_autotune, .device = Device::cpu(), .tune_seconds = 30};
  Graph graph = run_passes(captured({{rows, depth}, {256, depth}},
                                    [](Tensors& x) { return Tensors{model(x[0], x[1])}; }));
  TaskList list = make_tasks(graph);
  std::vector<FusedRegion> regions = fuse_tasks(list, true);

  // Stores that what is estimated to be the worst of all is twice as fast as the default, of each
  // region.
  void store_worst() {
    for (const FusedRegion& fused : regions) {
      const Region& region = fused.region;
      RegionSpace space = region_space(list, region, dsl::host_target());
      RegionEstimate estimate(list, region, dsl::host_target());
      std::vector<autotune::Point> points = space.space.legal_points(10'000);
      std::erase(points, space.preferred);
      auto worst = std::ranges::max_element(points, {}, [&](const autotune::Point& point) {
        return estimate.seconds(space.blocks_of(point));
      });
      autotune::shared_tuning_database().store(
          autotune::rows_of(tuning_key(list, region, Device::cpu()), space.space, space.preferred,
                            {{space.preferred, std::vector<double>(25, 1e-3)},
                             {*worst, std::vector<double>(25, 5e-4)}}));
    }
  }

  std::vector<std::string> programs(const Options& of) {
    Compiled fast = compile(&model, of);
    fast(x, w);
    std::vector<std::string> keys;
    std::vector<PlanReport> report = fast.report();
    for (const RegionReport& region : report[0].regions) keys.push_back(region.key);
    return keys;
  }
};

TEST_F(TunedPlanTest, KeepsTheDefaultWhereWholeCallsAreSlowerByTheChoices) {
  ASSERT_GE(regions.size(), 2u);
  store_worst();
  Compiled fast = compile(&model, options);
  Tensor y = fast(x, w);
  EXPECT_THAT(fast.report()[0].tuning, HasSubstr(" regions known"));
  EXPECT_THAT(fast.report()[0].tuning, HasSubstr("; in whole calls the default's blocks stay ("));
  EXPECT_THAT(fast.report()[0].tuning, HasSubstr(" of the default's time)"));
  Options untuned = options;
  untuned.mode = tilewright::Mode::reduce_overhead;
  EXPECT_EQ(programs(options), programs(untuned));
  // Another process measures nothing.
  Compiled again = compile(&model, options);
  again(x, w);
  EXPECT_THAT(again.report()[0].tuning, HasSubstr("the default's blocks stay (known)"));
  Tensor expected = model(x, w);
  for (std::int64_t i = 0; i < 20; ++i)
    EXPECT_NEAR(again(x, w).to_vector<float>()[i], expected.to_vector<float>()[i], 1e-5);
}

TEST_F(TunedPlanTest, TakesTheChoicesWhereTheDatabaseMayOnlyBeRead) {
  store_worst();
  Setting read("TILEWRIGHT_TUNE", "read");
  Compiled fast = compile(&model, options);
  fast(x, w);
  EXPECT_THAT(fast.report()[0].tuning, Not(HasSubstr("whole calls")));
  Options untuned = options;
  untuned.mode = tilewright::Mode::reduce_overhead;
  EXPECT_NE(programs(options), programs(untuned));
}

TEST_F(TunedPlanTest, LocksWhatWholeCallsChose) {
  store_worst();
  std::string file = ::testing::TempDir() + "tuned_plan_" + std::to_string(::getpid());
  options.write_plan = file;
  std::vector<std::string> written = programs(options);
  options.write_plan = "";
  options.locked_plan = file;
  EXPECT_EQ(programs(options), written);
  std::filesystem::remove(file);
}

TEST_F(TunedPlanTest, LeavesWhatCallsWriteAsItWas) {
  store_worst();
  options.tune_seconds = 0.3;  // its own regions are searched for
  Tensor count = Tensor::from(std::vector<float>{0}, {1});
  auto step = [&](const Tensor& x, const Tensor& w) {
    count.copy_from(count + 1);
    return model(x, w) + count;
  };
  Compiled fast = compile(step, options);
  EXPECT_NEAR(fast(x, w).to_vector<float>()[0], model(x, w).to_vector<float>()[0] + 1, 1e-5);
  EXPECT_THAT(fast.report()[0].tuning, HasSubstr("tuning: "));
  EXPECT_EQ(count.to_vector<float>()[0], 1);
  fast(x, w);
  EXPECT_EQ(count.to_vector<float>()[0], 2);
}

std::int64_t number_at(const void* address) {
  std::int64_t number = 0;
  std::memcpy(&number, address, sizeof number);
  return number;
}

TEST(StepMemory, CopiesArgumentsAndWhatIsWrittenAndNothingElse) {
  Tensor argument = Tensor::from(std::vector<std::int64_t>{3, 4}, {2});
  Tensor weight = Tensor::from(std::vector<std::int64_t>{5}, {1});
  Tensor count = Tensor::from(std::vector<std::int64_t>{6}, {1});
  StepMemory memory({{argument.slice(0, 1, 2), weight, count}, 1, {2}}, Device::cpu());
  const std::vector<void*>& addresses = memory.addresses();
  EXPECT_EQ(addresses[1], weight.data());
  EXPECT_NE(addresses[2], count.data());
  EXPECT_EQ(number_at(addresses[0]), 4);
  EXPECT_EQ(number_at(addresses[2]), 6);
  *static_cast<std::int64_t*>(addresses[2]) = 99;
  memory.restore_small();
  EXPECT_EQ(number_at(addresses[2]), 6);
  *static_cast<std::int64_t*>(addresses[0]) = 99;
  EXPECT_EQ(argument.to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(count.item<std::int64_t>(), 6);
}

TEST(StepMemory, SetsPositionsInTurnWhereTheyAreCopies) {
  Tensor argument = Tensor::from(std::vector<std::int64_t>{1, 2}, {2});
  Tensor weight = Tensor::from(std::vector<std::int32_t>{5}, {1});
  StepMemory memory({{argument, weight}, 1, {}}, Device::cpu());
  std::vector<CachePosition> positions = {{0, i64, 1, {70, 30}}, {1, i32, 0, {70, 30}}};
  const std::int64_t* copy = static_cast<const std::int64_t*>(memory.addresses()[0]);
  for (std::int64_t turn = 0; turn < 4; ++turn) {
    memory.set_positions(positions, turn);
    EXPECT_EQ(copy[0], 1);
    EXPECT_EQ(copy[1], turn % 2 == 0 ? 70 : 30);
  }
  EXPECT_EQ(weight.item<std::int32_t>(), 5);
}

TEST(RegionTrial, TimesAttentionsToCachesAtFewKeysAndMany) {
  Capture capture;
  Tensor q = capture.placeholder(f32, {1, 4, 1, 8}), k = capture.placeholder(f32, {1, 2, 512, 8});
  Tensor v = capture.placeholder(f32, {1, 2, 512, 8}), position = capture.placeholder(i64, {1});
  Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true, .position = position});
  Graph graph = run_passes(capture.finish({y}).graph);
  TaskList list = make_tasks(graph);
  Region region = fuse_tasks(list, true).front().region;
  std::vector<WorkElement> elements = work_elements(list, region);
  ASSERT_EQ(elements.size(), 1u);
  EXPECT_EQ(elements[0].storage, list.tasks.front().operands[3].storage);
  std::vector<std::int64_t> positions = elements[0].values;
  ASSERT_GE(positions.size(), 4u);
  EXPECT_TRUE(std::ranges::is_sorted(positions, std::greater{}));
  EXPECT_GT(positions.front(), 300);
  EXPECT_LT(positions.front(), 512);
  EXPECT_LT(positions.back(), 64);
  for (std::int64_t position : positions) EXPECT_NE((position + 1) % 32, 0) << position;
}

TEST(CallRounds, AreAsManyAsADecisionWantsWhereCallsAreShort) {
  CallRounds rounds = call_rounds(4, 50e-6, 5);
  EXPECT_TRUE(rounds.is_worthwhile);
  EXPECT_EQ(rounds.rounds.first, autotune::DecisionRounds().first);
  EXPECT_EQ(rounds.rounds.again, autotune::DecisionRounds().again);
}

TEST(CallRounds, AreFewerWhereCallsAreLongAndNoneWhereTheyAreTooLong) {
  CallRounds rounds = call_rounds(2, 0.1, 5);
  EXPECT_TRUE(rounds.is_worthwhile);
  EXPECT_EQ(rounds.rounds.first, 12);
  EXPECT_EQ(rounds.rounds.again, 12);
  EXPECT_TRUE(call_rounds(2, 0.8, 5).is_worthwhile);
  EXPECT_EQ(call_rounds(2, 0.8, 5).rounds.first, 5);
  EXPECT_FALSE(call_rounds(2, 0.9, 5).is_worthwhile);
}

}  // namespace
}  // namespace tilewright::graph::tuned_plan_test
