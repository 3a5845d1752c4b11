// Launches that become one: batches keep every dependence, and plans with them compute what the
// graph means, for random groups of updates of tensors of any size.
#include "graph/run/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "graph/tensor/capture.h"
#include "tests/property/expect_within.h"
#include "tests/property/plan_run.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::batches_test {
namespace {

using Random = std::mt19937_64;

std::uint32_t below(Random& random, std::uint64_t count) {
  return static_cast<std::uint32_t>(random() % count);
}

std::vector<BatchCandidate> random_launches(Random& random, std::size_t storages) {
  std::vector<BatchCandidate> launches(1 + below(random, 40));
  for (BatchCandidate& launch : launches) {
    launch.program = below(random, 4);
    for (std::uint32_t i = below(random, 4); i-- > 0;)
      launch.reads.push_back(below(random, storages));
    for (std::uint32_t i = 1 + below(random, 2); i-- > 0;)
      launch.writes.push_back(below(random, storages));
    launch.new_bytes = below(random, 100);
    launch.most = launch.program == 0 ? 1 : 5;
  }
  return launches;
}

bool touch(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return std::ranges::any_of(a, [&](auto id) { return std::ranges::find(b, id) != b.end(); });
}
bool depends(const BatchCandidate& late, const BatchCandidate& early) {
  return touch(late.reads, early.writes) || touch(late.writes, early.writes) ||
         touch(late.writes, early.reads);
}

TEST(Batches, KeepEveryDependenceAndTheirLimits) {
  for (std::uint64_t seed : seeds_of_test(300)) {
    Random random(seed);
    const std::size_t storages = 2 + below(random, 60);
    auto launches = random_launches(random, storages);
    auto batches = make_batches(launches, storages, {200});
    std::vector<std::size_t> step(launches.size(), SIZE_MAX);
    for (std::size_t i = 0; i < batches.size(); ++i) {
      std::int64_t bytes = 0;
      for (std::uint32_t launch : batches[i]) {
        ASSERT_EQ(step[launch], SIZE_MAX) << reproduction(seed);
        step[launch] = i;
        bytes += launches[launch].new_bytes;
        EXPECT_EQ(launches[launch].program, launches[batches[i][0]].program);
      }
      EXPECT_LE(batches[i].size(), launches[batches[i][0]].most);
      EXPECT_TRUE(bytes <= 200 || batches[i].size() == 1) << reproduction(seed);
    }
    for (std::size_t late = 0; late < launches.size(); ++late) {
      ASSERT_NE(step[late], SIZE_MAX);
      for (std::size_t early = 0; early < late; ++early)
        if (depends(launches[late], launches[early])) {
          ASSERT_LT(step[early], step[late]) << reproduction(seed);
        }
    }
  }
}

// A few kinds of updates over many tensors: in place or to new ones, some from what another made,
// all of a kind with one rate, which one of the tensors may be.
class RandomUpdates {
 public:
  explicit RandomUpdates(std::uint64_t seed) : random_(seed) {
    constexpr DType dtypes[] = {f32, f32, bf16, f16};
    dtype_ = dtypes[below(random_, 4)];
    Tensor rate = input({1});
    std::vector<Tensor> outputs;
    for (std::uint32_t i = 1 + below(random_, 12); i-- > 0;) {
      std::int64_t size = random_size();
      bool is_new = known_.empty() || below(random_, 4) > 0;
      Tensor x = is_new ? input(shape_of(size)) : any_known();
      Tensor y = update(below(random_, 3), x, rate);
      if (is_new && below(random_, 3) > 0)
        x.copy_from(y);
      else
        outputs.push_back(y);
      known_.push_back(y);
    }
    graph = run_passes(capture_.finish(outputs).graph);
  }

  Graph graph;
  std::vector<HostTensor> inputs;

 private:
  std::int64_t random_size() {
    constexpr std::int64_t sizes[] = {0, 1, 2, 15, 16, 17, 64, 100, 128, 768, 1024, 2047, 2304};
    return sizes[below(random_, std::size(sizes))];
  }
  Shape shape_of(std::int64_t size) {
    if (size % 16 == 0 && below(random_, 2) == 0) return {size / 16, 16};
    return {size};
  }
  Tensor input(const Shape& shape) {
    HostTensor values(dtype_, shape);
    for (std::int64_t i = 0; i < values.count(); ++i)
      values.set_number(i, 0.5 + below(random_, 64) / 64.0);
    inputs.push_back(std::move(values));
    return capture_.placeholder(dtype_, shape);
  }
  Tensor any_known() { return known_[below(random_, known_.size())]; }
  Tensor update(std::uint32_t kind, const Tensor& x, const Tensor& rate) {
    if (kind == 0) return x * 0.5 + 0.25;
    if (kind == 1) return x - rate * x;
    return sqrt(maximum(x, rate) * rate);
  }

  Random random_;
  Capture capture_;
  DType dtype_;
  std::vector<Tensor> known_;
};

void expect_updates_are_meant(const PlanForm& form, std::uint64_t count) {
  for (std::uint64_t seed : seeds_of_test(count)) {
    RandomUpdates random(seed);
    BoundedEvaluation expected = bounded_evaluate(random.graph, random.inputs);
    Evaluation actual = run_planned(random.graph, random.inputs, form);
    SCOPED_TRACE(form.name);
    expect_within(expected, actual,
                  [&] { return reproduction(seed) + "\n" + print(random.graph); });
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(BatchedUpdates, ComputeWhatTheGraphMeans) {
  expect_updates_are_meant({{}, false, "host"}, 150);
}
TEST(BatchedUpdates, InterpretedComputeWhatTheGraphMeans) {
  expect_updates_are_meant({{.interpret = true}, false, "interpreted"}, 150);
}
TEST(BatchedUpdates, RecordedComputeWhatTheGraphMeans) {
  expect_updates_are_meant({{}, true, "recorded"}, 100);
}
TEST(BatchedUpdates, ForSm80AndEmulatedComputeWhatTheGraphMeans) {
  expect_updates_are_meant({{.device = Device::emulated("sm_80")}, false, "sm_80"}, 60);
}
TEST(BatchedUpdates, RecordedForSm90aAndEmulatedComputeWhatTheGraphMeans) {
  expect_updates_are_meant({{.device = Device::emulated("sm_90a")}, true, "sm_90a"}, 60);
}

}  // namespace
}  // namespace tilewright::graph::batches_test
