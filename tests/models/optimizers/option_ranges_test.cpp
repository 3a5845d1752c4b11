// Numbers that no rule and no schedule takes. The bounds are those that the constructors of PyTorch
// 2.15 check; NaN is refused everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models/optimizers/rules/adadelta.h"
#include "models/optimizers/rules/adafactor.h"
#include "models/optimizers/rules/adagrad.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/adamax.h"
#include "models/optimizers/rules/asgd.h"
#include "models/optimizers/rules/lamb.h"
#include "models/optimizers/rules/lion.h"
#include "models/optimizers/rules/muon.h"
#include "models/optimizers/rules/nadam.h"
#include "models/optimizers/rules/radam.h"
#include "models/optimizers/rules/rmsprop.h"
#include "models/optimizers/rules/rprop.h"
#include "models/optimizers/rules/sgd.h"
#include "models/optimizers/schedules/plateau.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::option_ranges_test {
namespace {

using ::testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <typename Options>
std::string said(const Options& options) {
  Tensor matrix = ramp({2, 3});
  return error_of([&] { OptimizerBy<Options>({{"w", matrix}}, options); });
}

// Every setting of the rule: NaN, and a number below the least.
template <typename Options>
void expect_settings_checked() {
  Options usual;
  if constexpr (requires { usual.momentum; }) usual.momentum = 0.5;
  Tensor matrix = ramp({2, 3});
  OptimizerBy<Options> optimizer({{"w", matrix}}, usual);
  EXPECT_EQ(said(usual), "no error");
  for (const OptimizerSetting& setting : usual.settings()) {
    const std::string begin = concat("[", Options::name, "] ", setting.name, " is ");
    EXPECT_THAT(error_of([&] { optimizer.set(setting.name, nan); }), HasSubstr(begin + "nan"));
    const double wrong = std::isinf(setting.least) ? setting.most + 1 : setting.least - 1;
    EXPECT_THAT(error_of([&] { optimizer.set(setting.name, wrong); }), HasSubstr(begin));
    EXPECT_EQ(optimizer.value(setting.name), setting.value);
  }
}

TEST(OptionRanges, OfEveryRuleAreChecked) {
  expect_settings_checked<AdadeltaOptions>();
  expect_settings_checked<AdafactorOptions>();
  expect_settings_checked<AdagradOptions>();
  expect_settings_checked<AdamOptions>();
  expect_settings_checked<AdamWOptions>();
  expect_settings_checked<AdamaxOptions>();
  expect_settings_checked<AsgdOptions>();
  expect_settings_checked<LambOptions>();
  expect_settings_checked<LionOptions>();
  expect_settings_checked<MuonOptions>();
  expect_settings_checked<NAdamOptions>();
  expect_settings_checked<RAdamOptions>();
  expect_settings_checked<RmsPropOptions>();
  expect_settings_checked<RpropOptions>();
  expect_settings_checked<SgdOptions>();
}

TEST(OptionRanges, OfSingleRulesArePyTorchs) {
  EXPECT_THAT(said(AdafactorOptions{.d = 0.5}), HasSubstr("[Adafactor] d is 0.5 (at "));
  EXPECT_THAT(said(AdafactorOptions{.d = 0.5}), HasSubstr("it must be at least 1"));
  EXPECT_THAT(said(AdafactorOptions{.beta2_decay = 0.1}),
              HasSubstr("[Adafactor] beta2_decay is 0.1 (at "));
  EXPECT_THAT(said(AdafactorOptions{.eps = {.first = -1}}), HasSubstr("[Adafactor] eps1 is -1"));
  EXPECT_THAT(said(AdadeltaOptions{.rho = 1.5}), HasSubstr("it must be at least 0 and at most 1"));
  EXPECT_EQ(said(AdadeltaOptions{.rho = 1}), "no error");
  EXPECT_THAT(said(RpropOptions{.etas = {.shrink = 0}}), HasSubstr("above 0 and below 1"));
  EXPECT_THAT(said(RpropOptions{.etas = {.grow = 1}}), HasSubstr("it must be above 1"));
  EXPECT_THAT(said(AdagradOptions{.initial_accumulator_value = -1}),
              HasSubstr("[Adagrad] initial_accumulator_value is -1"));
  EXPECT_THAT(said(MuonOptions{.ns_steps = 100}), HasSubstr("[Muon] ns_steps is 100"));
  EXPECT_THAT(said(MuonOptions{.ns_coefficients = {.a = nan}}), HasSubstr("they must be finite"));
}

TEST(OptionRanges, OfSchedulesAreChecked) {
  namespace s = schedules;
  auto expect = [](const auto& make, const char* text) {
    EXPECT_THAT(error_of([&] { make(); }), HasSubstr(text));
  };
  expect([] { return s::step({.step_size = 1, .gamma = nan}); }, "[step] gamma is nan");
  expect([] { return s::multi_step({.milestones = {1}, .gamma = -1}); },
         "[multi_step] gamma is -1");
  expect([] { return s::constant({.factor = nan}); }, "[constant] factor is nan");
  expect([] { return s::constant({.total_iters = -1}); }, "[constant] total_iters is -1");
  expect([] { return s::linear({.end_factor = nan}); }, "[linear] the factors are");
  expect([] { return s::exponential(nan); }, "[exponential] gamma is nan");
  expect([] { return s::polynomial({.power = nan}); }, "[polynomial] power is nan");
  expect([] { return s::cosine_annealing({.t_max = 4, .eta_min = -1}); }, "eta_min is -1");
  expect([] { return s::cosine_annealing_warm_restarts({.t_0 = 4, .eta_min = nan}); },
         "eta_min is nan");
  expect([] { return s::cyclic({.base_lr = {0.1, -1.0}, .max_lr = 1}); }, "[cyclic] base_lr is -1");
  expect([] { return s::one_cycle({.max_lr = nan, .total_steps = 4}); },
         "[one_cycle] max_lr is nan");
  expect([] { return s::one_cycle({.max_lr = 1, .total_steps = 4, .div_factor = 0}); },
         "[one_cycle] div_factor is 0");
  Tensor matrix = ramp({2, 3});
  Sgd optimizer({{"w", matrix}});
  expect([&] { ReduceLrOnPlateau(optimizer, {.threshold = nan}); }, "threshold is nan");
  expect([&] { ReduceLrOnPlateau(optimizer, {.patience = -1}); }, "[plateau] patience is -1");
  expect([&] { ReduceLrOnPlateau(optimizer, {.min_lr = -1}); }, "[plateau] min_lr is -1");
}

}  // namespace
}  // namespace tilewright::option_ranges_test
