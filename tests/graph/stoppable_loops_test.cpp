// Loops that another thread stops: at once, compiled, and within other loops.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::stoppable_loops_test {
namespace {

// x grows by a step until it is 10; a step of 0 never ends.
Tensors grown(const Tensors& t) {
  return while_loop([](const Tensors& state) { return state[0] < 10; },
                    [](const Tensors& state) {
                      return Tensors{state[0] + state[1], state[1]};
                    },
                    t);
}
Tensors steps_of(double step) { return {zeros({}).clone(), full({}, step).clone()}; }

// The error of the call if another thread sets the flag while it runs.
template <typename Call>
std::string stopped(const Call& call) {
  std::atomic<bool> stop = false;
  std::thread watch([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stop = true;
  });
  StoppableLoops stoppable(stop);
  const std::string error = error_of(call);
  watch.join();
  return error;
}

TEST(StoppableLoops, EndALoopThatNeverEndsAtOnceAndCompiled) {
  expect_contains(stopped([&] { grown(steps_of(0)); }), "[while_loop] was stopped after ");
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto fast = compile(grown, {.mode = mode});
    for (int call = 0; call < 3; ++call) {
      expect_contains(stopped([&] { fast(steps_of(0)); }),
                      "as the flag of StoppableLoops is set; a loop ends when its condition");
      EXPECT_EQ(fast(steps_of(4))[0].item<float>(), 12);
    }
  }
}

TEST(StoppableLoops, LookBeforeEachTurnOfTheirThread) {
  const std::atomic<bool> set = true, clear = false;
  auto all = [](const Tensors& t) {
    return scan(
               [](const Tensors& state, const Tensors&) {
                 return Turn{{state[0] + 1}, {}};
               },
               t, {}, {.turns = 40})
        .first;
  };
  auto fast = compile(all);
  const Tensors x = {zeros({2})};
  EXPECT_EQ(fast(x)[0].to_vector<float>()[0], 40);
  {
    StoppableLoops stoppable(set);
    expect_contains(error_of([&] { fast(x); }), "[scan] was stopped after 0 turns");
    expect_contains(error_of([&] { all(x); }), "[scan] was stopped after 0 turns");
    {
      StoppableLoops inner(clear);
      EXPECT_EQ(fast(x)[0].to_vector<float>()[0], 40);
    }
    std::string of_other;
    std::thread other([&] { of_other = error_of([&] { fast(x); }); });
    other.join();
    EXPECT_EQ(of_other, "no error");
    expect_contains(error_of([&] { fast(x); }), "was stopped");
  }
  EXPECT_EQ(fast(x)[0].to_vector<float>()[0], 40);
}

TEST(StoppableLoops, EndThoseWithinOthers) {
  auto nested = [](const Tensors& t) {
    auto turn = [&](const Tensors& state, const Tensors&) -> Turn {
      return {{grown({state[0] * 0, t[1]})[0]}, {}};
    };
    return scan(turn, {t[0]}, {}, {.turns = 30}).first;
  };
  auto fast = compile(nested);
  EXPECT_EQ(fast(steps_of(5))[0].item<float>(), 10);  // compiled before the flag can be set
  expect_contains(stopped([&] { fast(steps_of(0)); }), "[while_loop] was stopped after ");
  EXPECT_EQ(fast(steps_of(5))[0].item<float>(), 10);
}

}  // namespace
}  // namespace tilewright::stoppable_loops_test
