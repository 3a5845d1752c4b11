// Random functions that compute, write in place, take views, keep tensors and read values: in
// segments they do what they do op by op.
#include <gtest/gtest.h>

#include <random>

#include "graph/compile/compile.h"
#include "tests/tensors.h"

namespace tilewright::segments_random_test {
namespace {

// A function by its seed: the same steps at each call, but for what the data decides.
class RandomFunction {
 public:
  explicit RandomFunction(unsigned seed) : seed_(seed), state_(ramp({4, 4}, 0.02F)) {}

  Tensor operator()(const Tensor& a, const Tensor& b, std::vector<float>& log) {
    std::mt19937 random(seed_);
    auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
    std::vector<Tensor> pool = {a, b, state_, a * 0.5 + b};
    float number = 0.5F;
    for (int step = 0; step < 24; ++step) {
      Tensor x = pool[below(pool.size())], y = pool[below(pool.size())];
      switch (below(12)) {
        case 0: pool.push_back(tanh(x + y)); break;
        case 1: pool.push_back(x * number - y * 0.25); break;
        case 2: pool.push_back(x.transpose(0, 1)); break;
        case 3: pool.push_back(x.clone()); break;
        case 4: x.copy_from(tanh(x) * 0.5 + y * 0.125); break;
        case 5: x.select(0, 1).copy_from(tanh(y.select(0, 2)) + 0.5); break;
        case 6:
          number = mean(x).item<float>();
          log.push_back(number);
          break;
        case 7: log.push_back(x.to_vector<float>()[5]); break;
        case 8: pool.push_back(x.transpose(0, 1).reshape({16}).reshape({4, 4})); break;
        case 9: pool.push_back(number > 0.1F ? sigmoid(x) : x - y.contiguous()); break;
        case 10: state_ = tanh(state_ * 0.5 + x); break;
        default: pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(below(pool.size()))); break;
      }
      if (pool.empty()) pool.push_back(b * 2);
      if (pool.size() > 6) pool.erase(pool.begin());
    }
    return pool.back() + sum(pool.front(), {0}, true);
  }
  const Tensor& state() const { return state_; }

 private:
  unsigned seed_;
  Tensor state_;
};

void expect_same(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-4) << i;
}

// A function whose first call breaks: limits of whole graphs do not matter here.
void compare(unsigned seed, const Options& options, Stance later = Stance::compile) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomFunction eager(seed), traced(seed);
  std::vector<float> eager_log, log;
  Compiled fast = compile(
      [&](const Tensor& a, const Tensor& b) {
        log.push_back(sum(a).item<float>());
        return traced(a, b, log);
      },
      options);
  std::vector<Tensor> results, expected;
  for (int call = 0; call < 4; ++call) {
    const StanceScope scope(call == 0 ? Stance::compile : later);
    const float scale = 0.01F * static_cast<float>(call + 1);
    Tensor a = ramp({4, 4}, scale), b = ramp({4, 4}, -scale), c = a.clone(), d = b.clone();
    eager_log.push_back(sum(a).item<float>());
    const bool is_one = call == 2;  // one tensor twice
    expected.push_back(eager(a, is_one ? a : b, eager_log).clone());
    results.push_back(fast(c, is_one ? c : d).clone());
    expect_same(c.to_vector<float>(), a.to_vector<float>());
    expect_same(d.to_vector<float>(), b.to_vector<float>());
    expect_same(results.back().to_vector<float>(), expected.back().to_vector<float>());
    expect_same(traced.state().to_vector<float>(), eager.state().to_vector<float>());
    expect_same(log, eager_log);
  }
}

TEST(RandomSegments, AreAsOpByOp) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    compare(seed, {.tell_breaks = false, .max_signatures = 64});
    if (HasFatalFailure()) return;
  }
}
// Paths that the first call did not take have no plans.
TEST(RandomSegments, AreAsOpByOpWhereTheStanceForbidsPlans) {
  for (unsigned seed = 200; seed < 230; ++seed) {
    compare(seed, {.tell_breaks = false, .max_signatures = 64}, Stance::eager_on_recompile);
    if (HasFatalFailure()) return;
  }
}
TEST(RandomSegments, AreAsOpByOpWhereLaunchesAreRecorded) {
  for (unsigned seed = 100; seed < 120; ++seed) {
    compare(seed, {.mode = Mode::reduce_overhead, .tell_breaks = false, .max_signatures = 64});
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tilewright::segments_random_test
