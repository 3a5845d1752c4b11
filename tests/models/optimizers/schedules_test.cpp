// Schedulers: where rates come from and go to, schedules of a program's own, and misuse.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/compile/compile.h"
#include "graph/functions/pointwise/elementary.h"
#include "models/optimizers/rules/adagrad.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/sgd.h"
#include "models/optimizers/schedules/lr_scheduler.h"
#include "models/optimizers/schedules/plateau.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::schedules_test {
namespace {

struct Trained {
  Tensor parameter = ramp({2});
  std::vector<NamedParameter> list() { return {{"p", parameter}}; }
};

TEST(Schedulers, SetTheFirstRateWhenTheyAreMade) {
  Trained trained;
  Sgd optimizer(trained.list(), {.lr = 1});
  LrScheduler scheduler(optimizer, schedules::linear({.start_factor = 0.25, .total_iters = 3}));
  std::vector<double> rates = {optimizer.value("lr")};
  for (int i = 0; i < 4; ++i) {
    scheduler.step();
    rates.push_back(optimizer.value("lr"));
  }
  EXPECT_EQ(rates, (std::vector<double>{0.25, 0.5, 0.75, 1, 1}));
  EXPECT_EQ(scheduler.steps().item<double>(), 4);
}

TEST(Schedulers, AStepUsesTheRateBeforeTheSchedulers) {
  Tensor parameter = Tensor::from({0.F});
  Sgd optimizer({{"p", parameter}}, {.lr = 1});
  LrScheduler scheduler(optimizer, schedules::exponential(0.5));
  auto step = compile([&](const Tensor& gradient) {
    optimizer.step(std::vector<Tensor>{gradient});
    scheduler.step();
    return parameter + 0.0;
  });
  for (double expected : {-1.0, -1.5, -1.75, -1.875})
    EXPECT_FLOAT_EQ(step(Tensor::from({1.F})).item<float>(), expected);
}

TEST(Schedulers, TakeAFunctionOfTheStep) {
  Trained trained;
  Sgd optimizer(trained.list(), {.lr = 2});
  LrScheduler scheduler(optimizer,
                        schedules::lambda([](const Tensor& step) { return 1 / sqrt(step + 1.0); }));
  for (int i = 0; i < 3; ++i) scheduler.step();
  EXPECT_DOUBLE_EQ(optimizer.value("lr"), 1);
}

TEST(Schedulers, WarmUpRisesAndThenFollows) {
  Trained trained;
  AdamW optimizer(trained.list(), {.lr = 1});
  LrScheduler scheduler(optimizer,
                        schedules::warm_up(2, schedules::cosine_annealing({.t_max = 4}), 0.5));
  std::vector<double> rates = {optimizer.value("lr")};
  for (int i = 0; i < 6; ++i) {
    scheduler.step();
    rates.push_back(optimizer.value("lr"));
  }
  const std::vector<double> expected = {
      0.5, 0.75, 1, 0.5 + std::sqrt(0.125), 0.5, 0.5 - std::sqrt(0.125), 0};
  for (std::size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], expected[i], 1e-15) << i;
}

TEST(Schedulers, TheLastRateOfACycleStays) {
  Trained trained;
  Sgd optimizer(trained.list(), {.momentum = 0.9});
  LrScheduler scheduler(optimizer, schedules::one_cycle({.max_lr = 1, .total_steps = 10}));
  for (int i = 0; i < 9; ++i) scheduler.step();
  const double last = optimizer.value("lr");
  EXPECT_NEAR(last, 1.0 / 25 / 1e4, 1e-15);
  for (int i = 0; i < 9; ++i) scheduler.step();
  EXPECT_EQ(optimizer.value("lr"), last);
}

TEST(Schedulers, MisuseIsNamed) {
  Trained trained;
  Adagrad optimizer(trained.list());
  Sgd one_group(trained.list());
  const LrSchedule cycle = schedules::one_cycle({.max_lr = 1, .total_steps = 10});
  expect_contains(error_of([&] { LrScheduler(optimizer, cycle); }), "[one_cycle] Adagrad has no");
  expect_contains(error_of([&] { schedules::step({.step_size = 0}); }), "[step] step_size is 0");
  expect_contains(error_of([&] { schedules::multi_step({.milestones = {-1}}); }), "[multi_step]");
  expect_contains(error_of([&] { schedules::constant({.factor = 2}); }), "[constant] factor is 2");
  expect_contains(error_of([&] { schedules::linear({.start_factor = 0}); }), "[linear] the");
  expect_contains(error_of([&] { schedules::exponential(-1); }), "[exponential] gamma is -1");
  expect_contains(error_of([&] { schedules::polynomial({.total_iters = 0}); }), "[polynomial]");
  expect_contains(error_of([&] { schedules::cosine_annealing({.t_max = 0}); }), "t_max is 0");
  expect_contains(
      error_of([&] { schedules::cosine_annealing_warm_restarts({.t_0 = 3, .t_mult = 0}); }),
      "t_mult is 0");
  expect_contains(
      error_of([&] { schedules::cyclic({.base_lr = 0, .max_lr = 1, .step_size_up = 0}); }),
      "[cyclic] step_size_up is 0");
  expect_contains(error_of([&] { schedules::one_cycle({.max_lr = 1, .total_steps = 0}); }),
                  "[one_cycle] total_steps is 0");
  expect_contains(error_of([&] {
                    schedules::sequential({cycle, cycle}, {});
                  }),
                  "2 schedules and 0 milestones");
  expect_contains(error_of([&] {
                    schedules::sequential({cycle, cycle, cycle}, {5, 2});
                  }),
                  "do not rise");
  expect_contains(error_of([&] { schedules::chained({}); }), "[chained] there is no schedule");
  expect_contains(error_of([&] { ReduceLrOnPlateau(optimizer, {.factor = 1}); }),
                  "[plateau] factor is 1");
  ReduceLrOnPlateau plateau(optimizer);
  expect_contains(error_of([&] { plateau.step(ramp({2})); }), "[plateau] the metric is f32 2");
  auto two = [&] {
    Tensor other = ramp({2});
    Sgd groups({{"p", trained.parameter}, {"q", other}}, {}, {{"q", [](SgdOptions&) {}}});
    LrScheduler(groups,
                schedules::cyclic({.base_lr = {1, 2, 3}, .max_lr = 1, .cycle_momentum = false}));
    ReduceLrOnPlateau(groups, {.min_lr = PerGroup(std::vector<double>{})});
  };
  expect_contains(error_of(two), "[plateau] there are 0 numbers for group 0");
}

}  // namespace
}  // namespace tilewright::schedules_test
