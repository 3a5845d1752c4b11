// Passes keep what random tile programs compute.
#include <gtest/gtest.h>

#include <cmath>

#include "dsl/ir/text/text.h"
#include "dsl/ir/verify.h"
#include "dsl/passes/pipeline.h"
#include "tests/property/random_tile.h"
#include "tests/property/seeds.h"

namespace tilewright::tile_passes_test {
namespace {

constexpr std::uint64_t cases = 3000;

TEST(RandomTilePrograms, AreRepeatableAndSurviveTheirText) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomProgram program = random_tile_program(seed);
    std::string text = ir::print(program.function);
    EXPECT_EQ(text, ir::print(random_tile_program(seed).function)) << reproduction(seed);
    EXPECT_EQ(ir::print(ir::parse(text)), text) << reproduction(seed);
  }
}

TEST(RandomTilePrograms, UseEveryOperation) {
  std::vector<int> uses(ir::all_ops().size());
  for (std::uint64_t seed = 0; seed < cases; ++seed)
    ir::for_each_inst(random_tile_program(seed).function.body,
                      [&](const ir::Inst& inst) { ++uses[static_cast<std::size_t>(inst.op)]; });
  // Atomics have no order, messages and asserts leave nothing in memory that could be compared, and
  // clusters are for one GPU only: tests/dsl runs these by themselves, on every device that has
  // them. Layout conversions come from passes alone: see GpuStages. PTX is drawn by kernels of
  // words: see WordPrograms.
  for (ir::Op op : {ir::Op::atomic_, ir::Op::print_, ir::Op::assert_, ir::Op::cluster_reduce_,
                    ir::Op::convert_layout_, ir::Op::inline_asm_})
    ++uses[static_cast<std::size_t>(op)];
  for (std::size_t op = 0; op < uses.size(); ++op)
    EXPECT_GT(uses[op], 0) << ir::all_ops()[op].name << " is never made";
}

// A tolerance that accepts anything would make every comparison with it worthless.
TEST(RandomTilePrograms, HaveTolerancesThatAreMostlySmall) {
  std::int64_t all = 0, small = 0, exact = 0;
  for (std::uint64_t seed = 0; seed < cases / 10; ++seed) {
    RandomProgram program = random_tile_program(seed);
    ExpectedArguments expected = expected_arguments(program);
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      if (!program.written[i] || !is_floating(expected.values[i].dtype())) continue;
      for (std::size_t at = 0; at < expected.tolerance[i].size(); ++at, ++all) {
        double tolerance = expected.tolerance[i][at];
        exact += tolerance == 0;
        small += tolerance <= 0.05;
      }
    }
  }
  EXPECT_GT(static_cast<double>(small), 0.9 * static_cast<double>(all));
  EXPECT_LT(static_cast<double>(exact), 0.9 * static_cast<double>(all));
}

// Expanded functions and sums that are rounded to f32 before 16 bits may differ in the last places;
// their results are within the tolerance, as the test of the whole pipeline says.
bool may_round_anew(const dsl::Pass& pass) {
  return pass.name == "expand_math" || pass.name == "widen_reductions" ||
         pass.name == "split_products";
}

TEST(TilePasses, ThatDoNotRoundAnewChangeNoResult) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomProgram program = random_tile_program(seed);
    auto before = arguments_after(program, program.function, interpreted);
    for (const dsl::Pass& pass : dsl::passes()) {
      if (may_round_anew(pass)) continue;
      ir::Function function = program.function;
      pass.run(function, {});
      ASSERT_NO_THROW(ir::verify(function)) << pass.name << "\n" << reproduction(seed);
      auto after = arguments_after(program, function, interpreted);
      ExpectedArguments exactly{before, std::vector<std::vector<double>>(before.size())};
      ASSERT_EQ(difference(program, exactly, after), "") << pass.name << "\n" << reproduction(seed);
    }
  }
}

TEST(TilePasses, TheWholePipelineKeepsResultsWithinTheirTolerance) {
  double worst = 0;
  for (std::uint64_t seed : seeds_of_test(cases)) {
    RandomProgram program = random_tile_program(seed);
    ExpectedArguments expected = expected_arguments(program);
    for (const char* target : {"avx2", "avx512", "sm_80"}) {
      ir::Function function = program.function;
      dsl::run_passes(function, {.target = dsl::target_named(target)});
      auto after = arguments_after(program, function, interpreted);
      ASSERT_EQ(difference(program, expected, after, &worst), "") << reproduction(seed);
    }
  }
  RecordProperty("worst_ratio", std::to_string(worst));
}

TEST(TilePasses, ASecondRunChangesNothing) {
  for (std::uint64_t seed : seeds_of_test(cases / 4)) {
    const ir::Function program = random_tile_program(seed).function;
    for (const char* name : {"avx2", "avx512", "sm_80"}) {
      const dsl::Target target = dsl::target_named(name);
      ir::Function function = program;
      for (const dsl::Pass& pass : dsl::passes()) {
        pass.run(function, target);
        std::string once = ir::print(function);
        EXPECT_FALSE(pass.run(function, target)) << pass.name << "\n" << reproduction(seed);
        ASSERT_EQ(ir::print(function), once) << pass.name << "\n" << reproduction(seed);
      }
    }
  }
}

TEST(TilePasses, TheirOutputIsDeterministic) {
  for (std::uint64_t seed : seeds_of_test(cases / 10)) {
    ir::Function first = random_tile_program(seed).function, second = first;
    dsl::run_passes(first);
    dsl::run_passes(second);
    ASSERT_EQ(ir::print(first), ir::print(second)) << reproduction(seed);
  }
}

}  // namespace
}  // namespace tilewright::tile_passes_test
