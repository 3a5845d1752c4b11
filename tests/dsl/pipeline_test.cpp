#include "dsl/passes/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/ir/text/text.h"
#include "tests/dsl/pass_names.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::dsl::pipeline_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ir::Function program() {
  return ir::parse(
      "func @f(%y: ptr<f32>, %x: f32) {\n  %2 = constant 1 : f32\n  %3 = mul %x, %2 : f32\n"
      "  %4 = exp %3 : f32\n  store %y, %4\n}\n");
}

std::string error_of(const PipelineOptions& options) {
  ir::Function f = program();
  return tilewright::error_of([&] { run_passes(f, options); });
}

TEST(Pipeline, RunsEveryPassInTheOrderOfTheTable) {
  for (const char* target : {"avx2", "sm_80"}) {
    ir::Function f = program();
    std::vector<std::string_view> names, expected;
    for (const PassTime& time : run_passes(f, {.target = target_named(target)}))
      names.push_back(time.name);
    for (const Pass& pass : passes()) expected.push_back(pass.name);
    EXPECT_EQ(names, expected);
    EXPECT_THAT(ir::print(f), Not(HasSubstr("exp %")));
  }
}

TEST(Pipeline, ExpandsFunctionsOverTheInstructionsOfTheTarget) {
  auto program_for = [](const char* target) {
    ir::Function f = program();
    run_passes(f, {.target = target_named(target)});
    return ir::print(f);
  };
  EXPECT_THAT(program_for("sm_80"), HasSubstr("exp2 %"));
  EXPECT_THAT(program_for("avx512"), HasSubstr("ldexp %"));
  EXPECT_THAT(program_for("avx2"), AllOf(Not(HasSubstr("exp2 %")), Not(HasSubstr("ldexp %"))));
}

TEST(Pipeline, SkipsPassesByNameButNotRequiredOnes) {
  ir::Function f = program();
  auto times = run_passes(f, {.skip = {"simplify"}});
  EXPECT_THAT(names_of(times), Not(testing::Contains("simplify")));
  EXPECT_THAT(error_of({.skip = {"expand_math"}}),
              HasSubstr("the pass 'expand_math' cannot be skipped"));
}

TEST(Pipeline, StopsAfterAPass) {
  ir::Function f = program();
  EXPECT_EQ(names_of(run_passes(f, {.stop_after = "expand_math"})).back(), "expand_math");
}

TEST(Pipeline, TheEnvironmentSkipsAndStopsLikewise) {
  ir::Function f = program();
  Setting skip("TILEWRIGHT_SKIP_PASSES", "simplify,some_pass_over_graphs");
  Setting stop("TILEWRIGHT_STOP_AFTER", "hoist_invariants");
  auto names = names_of(run_passes(f));
  EXPECT_THAT(names, Not(testing::Contains("simplify")));
  EXPECT_EQ(names.back(), "hoist_invariants");
}

TEST(Pipeline, TheEnvironmentMayNamePassesOfAnotherRoom) {
  ir::Function f = program();
  Setting stop("TILEWRIGHT_STOP_AFTER", "graph.dead_code");
  Setting dump("TILEWRIGHT_DUMP", "graph.dead_code");
  testing::internal::CaptureStderr();
  EXPECT_EQ(names_of(run_passes(f)).back(), passes().back().name);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Pipeline, ANameInTheEnvironmentThatNoPassHasIsAnError) {
  {
    Setting stop("TILEWRIGHT_STOP_AFTER", "hoist");
    EXPECT_THAT(error_of({}), HasSubstr("[TILEWRIGHT_STOP_AFTER] there is no pass 'hoist'; there "
                                        "are expand_math, "));
  }
  Setting dump("TILEWRIGHT_DUMP", "simplify,dead");
  EXPECT_THAT(error_of({}),
              HasSubstr("[TILEWRIGHT_DUMP] there is no pass 'dead'; there are all, expand_math, "));
}

TEST(Pipeline, DumpsTheProgramAfterAPass) {
  ir::Function f = program();
  testing::internal::CaptureStderr();
  run_passes(f, {.dump = "simplify"});
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("// after simplify\nfunc @f("));
  EXPECT_THAT(text, Not(HasSubstr("// after dead_code")));
}

TEST(Pipeline, RunsNamedPassesInTheGivenOrder) {
  ir::Function f = program();
  std::vector<std::string> names{"dead_code", "simplify"};
  EXPECT_THAT(names_of(run_passes(f, names)), ElementsAre("dead_code", "simplify"));
}

TEST(Pipeline, AnUnknownNameListsTheNames) {
  EXPECT_THAT(error_of({.stop_after = "simplfy"}),
              testing::AllOf(HasSubstr("there is no pass 'simplfy'"), HasSubstr("simplify")));
  EXPECT_THAT(error_of({.skip = {"x"}}), HasSubstr("there is no pass 'x'"));
  EXPECT_THAT(error_of({.dump = "x"}), HasSubstr("there is no pass 'x'"));
}

}  // namespace
}  // namespace tilewright::dsl::pipeline_test
