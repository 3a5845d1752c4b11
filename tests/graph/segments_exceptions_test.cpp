// Functions that raise exceptions: their effects before it happen once, with and without a break of
// the graph.
#include <gtest/gtest.h>

#include <stdexcept>

#include "graph/compile/compile.h"
#include "graph/functions/log.h"
#include "tests/graph/broken_graphs.h"
#include "tests/tensors.h"

namespace tilewright::segments_exceptions_test {
namespace {

using namespace testing_segments;

TEST(Segments, RunWhatCameBeforeAnExceptionOfTheFunction) {
  Tensor state = zeros({4}).clone(), kept;
  Compiled fast = compile(
      [&](const Tensor& x) {
        bool is_large = sum(x).item<float>() > 8;
        state.copy_from(state + x);
        kept = x * 2;
        if (is_large) throw std::runtime_error("too large");
        return x + 1;
      },
      quiet());
  for (int call = 1; call <= 3; ++call) {
    EXPECT_THROW(fast(full({4}, 3)), std::runtime_error);
    expect_near(state, full({4}, 3 * call));
    expect_near(kept, full({4}, 6));
  }
  expect_near(fast(full({4}, 1)), full({4}, 2));
}

// Effects of a function before it raises an exception happen, and once, as they do op by op.
TEST(Segments, RunWhatCameBeforeAnExceptionWithoutABreak) {
  for (bool fullgraph : {false, true}) {
    Tensor state = zeros({4}).clone(), kept;
    std::vector<std::vector<float>> logged;
    Compiled fast = compile(
        [&](const Tensor& x) -> Tensor {
          Tensor argument = x;
          log_callback(x + 1, [&](const Tensor& t) { logged.push_back(t.to_vector<float>()); });
          state.copy_from(state + x);
          argument.copy_from(x * 2);
          kept = x * 10;
          throw std::runtime_error("always");
        },
        {.fullgraph = fullgraph});
    for (int call = 1; call <= 3; ++call) {
      Tensor x = full({4}, call).clone();
      EXPECT_THROW(fast(x), std::runtime_error);
      expect_near(x, full({4}, 2 * call));
      expect_near(state, full({4}, call * (call + 1) / 2.0));
      expect_near(kept, full({4}, 20 * call));
      ASSERT_EQ(logged.size(), static_cast<std::size_t>(call));
      EXPECT_EQ(logged.back(), std::vector<float>(4, static_cast<float>(call + 1)));
    }
  }
}

TEST(Segments, LogWhatCameBeforeAnExceptionAfterABreak) {
  std::vector<float> logged;
  Compiled fast = compile(
      [&](const Tensor& x) -> Tensor {
        auto log = [&](const Tensor& t) { logged.push_back(t.item<float>()); };
        log_callback(sum(x), log);
        const float total = sum(x).item<float>();
        log_callback(sum(x * 2), log);
        if (total > 8) throw std::runtime_error("too large");
        return x;
      },
      quiet());
  EXPECT_THROW(fast(full({4}, 3)), std::runtime_error);
  fast(full({4}, 1));
  EXPECT_THROW(fast(full({4}, 4)), std::runtime_error);
  EXPECT_EQ(logged, (std::vector<float>{12, 24, 4, 8, 16, 32}));
}

// The second capture of a signature, after a handle has changed, is one that ends by an exception.
TEST(Segments, RunWhatCameBeforeAnExceptionOfALaterCapture) {
  Tensor state = zeros({4}).clone(), weight = full({4}, 1).clone();
  bool fails = false;
  Compiled fast = compile([&](const Tensor& x) {
    state.copy_from(state + x * weight);
    if (fails) throw std::runtime_error("later");
    return x + state;
  });
  fast(full({4}, 1));
  weight = full({4}, 10).clone();
  fails = true;
  EXPECT_THROW(fast(full({4}, 1)), std::runtime_error);
  expect_near(state, full({4}, 11));
  fails = false;
  expect_near(fast(full({4}, 1)), full({4}, 22));
  EXPECT_TRUE(fast.report()[0].graph_break.empty());
}

}  // namespace
}  // namespace tilewright::segments_exceptions_test
