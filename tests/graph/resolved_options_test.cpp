// This file tests the settings that modes, backends and promises resolve to; their effects are for
// the tests of compile, of tuning and of packed weights.
#include "graph/compile/options/resolved_options.h"

#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::graph::resolved_options_test {
namespace {

using tilewright::Mode;

ResolvedOptions resolved(Options options) {
  options.device = Device::cpu();
  return resolve(options);
}

TEST(ResolvedOptions, OfAModeAreWhetherLaunchesAreRecordedAndBlocksSearched) {
  struct {
    tilewright::Mode mode;
    bool records, searches;
  } const cases[] = {{tilewright::Mode::default_, false, false},
                     {tilewright::Mode::reduce_overhead, true, false},
                     {tilewright::Mode::max_autotune, true, true},
                     {tilewright::Mode::max_autotune_no_cudagraphs, false, true}};
  for (const auto& c : cases) {
    ResolvedOptions options = resolved({.mode = c.mode, .tune_seconds = 3});
    EXPECT_EQ(options.records_launches, c.records) << name_of(c.mode);
    ASSERT_EQ(options.plan.tune.has_value(), c.searches) << name_of(c.mode);
    if (!c.searches) continue;
    EXPECT_TRUE(options.plan.tune->searches);
    EXPECT_EQ(options.plan.tune->seconds, 3);
  }
}

// The first plan takes what is known, in every mode.
TEST(ResolvedOptions, OfSearchingInTheBackgroundSearchNothingBefore) {
  for (tilewright::Mode mode : {tilewright::Mode::default_, tilewright::Mode::max_autotune}) {
    ResolvedOptions options = resolved({.mode = mode, .tune_in_background = true});
    EXPECT_TRUE(options.searches_in_background);
    ASSERT_TRUE(options.plan.tune);
    EXPECT_FALSE(options.plan.tune->searches);
  }
}

TEST(ResolvedOptions, OfABackendAreWhetherItCapturesAndFuses) {
  EXPECT_FALSE(resolved({.backend = Backend::eager}).is_captured);
  EXPECT_TRUE(resolved({.backend = Backend::aot_eager}).is_captured);
  EXPECT_FALSE(resolved({.backend = Backend::aot_eager}).plan.fuse);
  EXPECT_TRUE(resolved({}).is_captured);
  EXPECT_TRUE(resolved({}).plan.fuse);
}

// It is about kernels written by hand, of which a program that compiles graphs may have none.
TEST(ResolvedOptions, AreNotMadeWhereTheSettingOfChecksIsUnknown) {
  Setting check("TILEWRIGHT_CHECK", "races");
  expect_contains(
      error_of([] { compile([](const Tensor& x) { return x * 2; }); }),
      "[TILEWRIGHT_CHECK] unknown check \"races\"; known are none, bounds, asserts and all");
}

TEST(ResolvedOptions, TakeOverWhatIsAFactAlready) {
  ResolvedOptions plain = resolved({});
  EXPECT_FALSE(plain.weights_are_frozen || plain.breaks_are_errors || plain.keeps_capture);
  ResolvedOptions set = resolved({.fullgraph = true,
                                  .verify_capture = 2,
                                  .matmul_precision = MatmulPrecision::high,
                                  .freezing = true,
                                  .locked_plan = "a plan",
                                  .index_checks = IndexChecks::all});
  EXPECT_TRUE(set.weights_are_frozen && set.breaks_are_errors && set.keeps_capture);
  EXPECT_EQ(set.plan.matmul_precision, MatmulPrecision::high);
  EXPECT_EQ(set.locked_plan, "a plan");
  EXPECT_EQ(set.index_checks, IndexChecks::all);
}

}  // namespace
}  // namespace tilewright::graph::resolved_options_test
